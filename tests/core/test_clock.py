from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.clock import parse_stamp, stamp

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(min_value=datetime(1900, 1, 2), max_value=datetime(9999, 12, 30), timezones=ZONES))
def test_a_stamp_is_utc_in_whole_seconds_and_reads_back(when: datetime) -> None:
    text = stamp(when)
    assert text.endswith("Z")
    assert parse_stamp(text) == when.astimezone(UTC).replace(microsecond=0)


@given(st.lists(st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC)), max_size=5))
def test_stamps_sort_as_their_times(whens: list[datetime]) -> None:
    assert [stamp(when) for when in sorted(whens)] == sorted(stamp(when) for when in whens)


def test_a_time_without_a_zone_is_read_as_utc() -> None:
    assert parse_stamp("2026-11-30T22:19:00") == datetime(2026, 11, 30, 22, 19, tzinfo=UTC)


def test_an_offset_is_honoured() -> None:
    assert parse_stamp("2026-11-30T23:19:00+01:00") == datetime(2026, 11, 30, 22, 19, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, "", "yesterday", "2026-13-01", "12:30"])
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert parse_stamp(text) is None
