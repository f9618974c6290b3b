"""Cursor's CLI cannot be installed for a test: its stream has the shape of recorded ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import RECORDED, read, replay


def recorded(job: Job, prefix: str = "") -> list[Event]:
    lines = (RECORDED / "cursor-done.jsonl").read_text().splitlines()
    return read("cursor", [prefix + line for line in lines], job)


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("cursor").arguments
    head = ["-p", "--output-format", "stream-json", "--yolo"]
    assert arguments(job) == head
    assert arguments(replace(job, session_id="s-1", model="m")) == [*head, "--model", "m", "--resume", "s-1"]


def test_a_turn_of_the_recorded_shape(job: Job) -> None:
    verdict = replay("cursor-done", job, 0)
    assert (verdict.reason, verdict.text) == (None, "The file is written.")
    assert verdict.session_id == "c6b62c6f-7ead-4fd6-9922-e952131177ff"
    assert verdict.usage == Usage(input=2222, cached=666, output=44)
    assert verdict.tool_ran


def test_a_call_is_known_by_the_first_line_of_its_id(job: Job) -> None:
    tools = [event for event in recorded(job) if event.tool]
    assert [(event.type, event.tool, event.call) for event in tools] == [
        (EventType.TOOL_START, "shell", "toolu_01"),
        (EventType.TOOL_END, "shell", "toolu_01"),
    ]


@pytest.mark.parametrize("prefix", ["stdout:", "stderr:"])
def test_a_line_may_carry_the_name_of_its_stream(job: Job, prefix: str) -> None:
    assert recorded(job, prefix) == recorded(job)


@pytest.mark.parametrize(
    ("words", "reason"),
    [("Authentication required", Reason.AUTH), ("Something else", Reason.AGENT_FAILED)],
)
def test_a_failed_result_has_its_reason(job: Job, words: str, reason: Reason) -> None:
    [event] = read("cursor", [json.dumps({"type": "result", "is_error": True, "result": words})], job)
    assert (event.type, event.reason) == (EventType.RESULT, reason)
