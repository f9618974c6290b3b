"""Times as they stand in files: UTC, ISO-8601, whole seconds, ending in `Z`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

# Gives the current time with a time zone: `utc_now` in the program, a fixed one in tests.
Clock = Callable[[], datetime]


def stamp(when: datetime) -> str:
    """`2026-11-30T22:19:00Z`."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_stamp(text: str | None) -> datetime | None:
    """The time in `text` (a missing zone is read as UTC), or None where it is no ISO-8601 time."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
