from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.agents.tally import Tally
from gitmem.core.states import Reason
from tests.agents.replay import read, replay


def events(job: Job, *records: dict[str, Any]) -> list[Event]:
    return read("gemini", [json.dumps(record) for record in records], job)


def stderr(job: Job, line: str) -> list[Event]:
    return list(adapter_named("gemini").reader(job, {}).line(line, Source.STDERR))


def said(words: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": words, "delta": True}


def failed(words: str) -> dict[str, Any]:
    return {"type": "result", "status": "error", "error": {"type": "unknown", "message": words}}


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("gemini").arguments
    head = ["--output-format", "stream-json", "--yolo"]
    assert arguments(job) == head
    resumed = replace(job, session_id="s-1", model="gemini-2.5-pro")
    assert arguments(resumed) == [*head, "--model", "gemini-2.5-pro", "--resume", "s-1"]


@pytest.mark.parametrize("name", ["gemini-done", "gemini-resumed"])
def test_a_recorded_turn(job: Job, name: str) -> None:
    verdict = replay(name, job, 0)
    assert (verdict.reason, verdict.tool_ran) == (None, True)
    assert verdict.text.startswith("FAKE-FINAL: wrote /run/work/agent_out_")
    assert verdict.session_id
    assert verdict.usage == Usage(1556, 666, 58, 14)


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("gemini-401", 145, Reason.AUTH),
        ("gemini-429", 173, Reason.RATE_LIMITED),
        ("gemini-500", 244, Reason.PROVIDER_ERROR),
        ("gemini-refused", 1, Reason.NETWORK),
        ("gemini-interrupted", 0, Reason.NO_TERMINAL_EVENT),
        ("gemini-terminated", 0, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text, verdict.usage) == (reason, "", Usage())


def test_pieces_make_one_message(job: Job) -> None:
    got = events(job, said("All "), said("done."), {"type": "result", "status": "success"})
    assert [(event.type, event.text) for event in got[2:]] == [
        (EventType.MESSAGE, "All done."),
        (EventType.RESULT, ""),
    ]


def test_the_exit_code_tells_the_status_that_the_words_do_not(job: Job) -> None:
    reader, tally = adapter_named("gemini").reader(job, {}), Tally()
    line = json.dumps(failed("[API Error: please wait]"))
    for event in [*reader.line(line, Source.STDOUT), *reader.end(173)]:
        tally.add(event)
    verdict = tally.verdict(173)
    assert (verdict.reason, verdict.detail) == (Reason.RATE_LIMITED, "[API Error: please wait]")


def test_a_retry_is_trouble_and_no_end(job: Job) -> None:
    [event] = stderr(job, "Attempt 1 failed with status 503. Retrying with backoff... _ApiError: x")
    assert (event.type, event.reason) == (EventType.ERROR, Reason.PROVIDER_ERROR)
    [event] = stderr(job, "Attempt 1 failed. Retrying with backoff... Error: fetch failed sending request")
    assert event.reason is Reason.NETWORK
    assert stderr(job, "Ripgrep is not available. Falling back to GrepTool.") == []


def test_a_quota_that_is_spent_is_told_by_its_name(job: Job) -> None:
    [event] = stderr(job, "Error when talking to Gemini API TerminalQuotaError: You have exhausted it.")
    assert event.reason is Reason.QUOTA


def test_a_lost_session_is_rejected_only_where_one_was_asked_for(job: Job) -> None:
    words = "Error resuming session: Invalid session identifier"
    [event] = stderr(replace(job, session_id="s"), words)
    assert event.resume_rejected
    assert stderr(job, words) == []
