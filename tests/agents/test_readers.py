"""Programs change what they print without a word: no line may break a reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.agents.adapter import EventType, Job, Source
from gitmem.agents.registry import adapter_named, names
from gitmem.agents.tally import Tally
from tests.agents.replay import RECORDED

KEYS = (
    *("type", "subtype", "session_id", "message", "content", "id", "item", "text", "result", "usage"),
    *("is_error", "rate_limit_info", "status", "resetsAt", "error", "errors", "input_tokens", "tool"),
    *("model_usage_since_last_result", "exit", "call", "model", "parent_tool_use_id"),
)
WORDS = (
    *("system", "init", "api_retry", "assistant", "user", "result", "tool_use", "tool_result", "text"),
    *("rate_limit_event", "rejected", "thread.started", "item.started", "item.completed", "agent_message"),
    *("turn.completed", "turn.failed", "error", "start", "tool_start"),
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(WORDS)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
JOB = Job(Path("/work"), Path("/run"), "")


@pytest.mark.parametrize("name", names())
@given(records=st.lists(st.dictionaries(st.sampled_from(KEYS), values, max_size=8), max_size=6))
def test_any_json_is_read(name: str, records: list[dict[str, Any]]) -> None:
    reader, tally = adapter_named(name).reader(JOB, {}), Tally()
    for record in records:
        for event in reader.line(json.dumps(record), Source.STDOUT):
            tally.add(event)
    for event in reader.end(0):
        tally.add(event)
    tally.verdict(0)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("line", ["", "plain words", "{", "[1]", "null", "\x00", "[" * 100_000, '{"type": '])
def test_a_line_that_is_no_record_is_at_most_a_sign_of_life(name: str, line: str) -> None:
    reader = adapter_named(name).reader(JOB, {})
    assert {event.type for event in reader.line(line, Source.STDOUT)} <= {EventType.OTHER}


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_recorded_stream_that_breaks_off_anywhere_is_no_success(path: Path) -> None:
    name = path.name.partition("-")[0]
    lines = path.read_text().splitlines()
    for count in range(len(lines)):
        reader, tally = adapter_named(name).reader(JOB, {}), Tally()
        for line in lines[:count]:
            for event in reader.line(line, Source.STDOUT):
                tally.add(event)
        assert tally.verdict(0).reason is not None, lines[count]


def test_noise_between_records_is_told_in_its_place_and_not_line_by_line() -> None:
    reader = adapter_named("codex").reader(JOB, {})
    start = json.dumps({"type": "thread.started", "thread_id": "t1"})
    events = list(reader.lines(["a", "", "b", start, *["noise"] * 100_000, start], Source.STDOUT))
    assert [event.type for event in events] == [*[EventType.OTHER, EventType.START] * 2]
    assert events[0].text == "a\nb"
    assert len(events[2].text) <= 8 * 1024
