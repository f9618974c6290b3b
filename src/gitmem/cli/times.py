"""Times as people type them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from gitmem.core.clock import parse_stamp
from gitmem.core.errors import UsageError

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_duration_s(text: str) -> float:
    """`45m`, `8h`, `3d` in seconds. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,5})([mhdw])", text.strip())
    if not found:
        raise UsageError(f"{text!r} is no time", "write 45m, 8h or 3d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])}).total_seconds()


def parse_since(text: str, now: datetime) -> datetime:
    """`12h`, `30m`, `3d`, `2w` before `now`, or an ISO-8601 time. Raises UsageError."""
    found = re.fullmatch(r"(\d{1,5})([mhdw])", text.strip())
    if found:
        return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
    when = parse_stamp(text.strip())
    if when is None:
        raise UsageError(f"{text!r} is no time", "write 30m, 12h, 3d, 2w or 2026-11-30T22:19:00Z")
    return when
