from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import read, replay


def events(job: Job, *records: dict[str, Any]) -> list[Event]:
    return read("pi", [json.dumps(record) for record in records], job)


def ended(**fields: Any) -> dict[str, Any]:
    return {"type": "message_end", "message": {"role": "assistant", **fields}}


SETTLED = {"type": "agent_settled", "aborted": False}


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("pi").arguments
    head = ["--mode", "json", "--print", "--approve"]
    assert arguments(job) == head
    resumed = replace(job, session_id="s-1", model="anthropic/opus")
    assert arguments(resumed) == [*head, "--model", "anthropic/opus", "--session", "s-1"]


@pytest.mark.parametrize("name", ["pi-done", "pi-resumed"])
def test_a_recorded_turn(job: Job, name: str) -> None:
    verdict = replay(name, job, 0)
    assert (verdict.reason, verdict.tool_ran) == (None, True)
    assert verdict.text.startswith("FAKE-FINAL: wrote /run/work/agent_out_")
    assert verdict.session_id
    assert replace(verdict.usage, cost_usd=None) == Usage(1556, 666, 44, 14)
    assert verdict.usage.cost_usd == pytest.approx(0.001644)


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("pi-401", 0, Reason.AUTH),
        ("pi-429", 0, Reason.RATE_LIMITED),
        ("pi-500", 0, Reason.PROVIDER_ERROR),
        ("pi-refused", 0, Reason.NETWORK),
        ("pi-interrupted", -2, Reason.NO_TERMINAL_EVENT),
        ("pi-terminated", 143, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures_exit_0_and_are_failures(
    job: Job, name: str, exit_code: int, reason: Reason
) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text, verdict.usage) == (reason, "", Usage())
    assert verdict.session_id


def test_the_end_of_one_attempt_is_not_the_end(job: Job) -> None:
    got = events(job, {"type": "agent_end", "willRetry": True}, {"type": "agent_end", "willRetry": False})
    assert {event.type for event in got} == {EventType.OTHER}


@pytest.mark.parametrize("stop", ["length", "aborted", "toolUse", None])
def test_any_other_stop_than_stop_is_a_failure(job: Job, stop: str | None) -> None:
    content = [{"type": "text", "text": "Half an ans"}]
    *_, event = events(job, ended(stopReason=stop, content=content), SETTLED)
    assert (event.type, event.reason) == (EventType.RESULT, Reason.AGENT_FAILED)


def test_an_end_without_an_answer_is_a_failure(job: Job) -> None:
    [event] = events(job, SETTLED)
    assert (event.reason, event.text) == (Reason.AGENT_FAILED, "it stopped: no answer")


def test_a_turn_that_was_aborted_has_not_ended_well(job: Job) -> None:
    *_, event = events(job, ended(stopReason="stop", content=[]), {**SETTLED, "aborted": True})
    assert event.reason is Reason.AGENT_FAILED


def test_a_lost_session_is_rejected_only_where_one_was_asked_for(job: Job) -> None:
    words, reader = "No session found matching 'x'", adapter_named("pi").reader
    [event] = reader(replace(job, session_id="x"), {}).line(words, Source.STDERR)
    assert event.resume_rejected
    assert list(reader(job, {}).line(words, Source.STDERR)) == []
