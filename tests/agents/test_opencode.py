from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Reader, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.agents.tally import Tally
from gitmem.core.states import Reason
from tests.agents.replay import replay

LOG = "timestamp=2026-12-01T05:00:27.495Z level={} run=5edf96b2 message={}"
SESSION = "session.id=ses_dd0063ee6ffernBE4s5SXkGPEm"


@pytest.fixture
def reader(job: Job) -> Reader:
    return adapter_named("opencode").reader(job, {})


def log(reader: Reader, level: str, message: str) -> list[Event]:
    return list(reader.line(LOG.format(level, message), Source.STDERR))


def said(reader: Reader, *records: dict[str, Any]) -> list[Event]:
    return [event for record in records for event in reader.line(json.dumps(record), Source.STDOUT)]


def step_end(reason: str) -> dict[str, Any]:
    return {"type": "step_finish", "part": {"reason": reason, "tokens": {"input": 5, "output": 3}}}


TEXT = {"type": "text", "part": {"text": "The answer."}}
TOOL = {"type": "tool_use", "part": {"tool": "bash", "callID": "c1", "state": {"output": "hello"}}}


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("opencode").arguments
    head = ["run", "--format", "json", "--auto", "--print-logs", "--log-level", "INFO"]
    assert arguments(job) == head
    resumed = replace(job, session_id="ses_1", model="p/m")
    assert arguments(resumed) == [*head, "--model", "p/m", "--session", "ses_1"]


@pytest.mark.parametrize("name", ["opencode-done", "opencode-resumed"])
def test_a_recorded_turn(job: Job, name: str) -> None:
    verdict = replay(name, job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert (verdict.session_id or "").startswith("ses_")
    assert verdict.usage == Usage(input=1556, cached=666, output=44, reasoning=14)
    assert verdict.tool_ran


def test_a_recorded_failure(job: Job) -> None:
    verdict = replay("opencode-401", job, 1)
    assert (verdict.reason, verdict.text) == (Reason.AUTH, "")
    assert verdict.session_id


def test_the_session_is_in_the_log_before_the_model_has_said_anything(reader: Reader) -> None:
    [event] = log(reader, "INFO", f"loop {SESSION} step=0")
    assert (event.type, event.session_id) == (EventType.START, "ses_dd0063ee6ffernBE4s5SXkGPEm")
    assert log(reader, "INFO", f"stream providerID=scripted {SESSION} small=false") == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("AI_APICallError: scripted 500", Reason.PROVIDER_ERROR),
        ("AI_APICallError: Rate limit reached for requests", Reason.RATE_LIMITED),
        ("AI_APICallError: prompt is too long: 300000 tokens > 200000 maximum", Reason.CONTEXT_OVERFLOW),
        ("AI_APICallError: Cannot connect to API: Unable to connect.", Reason.NETWORK),
    ],
)
def test_a_failing_model_is_told_in_the_log(reader: Reader, words: str, reason: Reason) -> None:
    events = log(reader, "ERROR", f'"stream error" providerID=scripted {SESSION} error.error="{words}"')
    assert (events[-1].type, events[-1].reason) == (EventType.ERROR, reason)


def test_a_tool_that_runs_is_told_in_the_log_and_its_end_by_a_record(reader: Reader) -> None:
    [start] = log(reader, "INFO", 'evaluated permission=bash pattern="sleep 5" action.action=allow')
    again = log(reader, "INFO", 'evaluated permission=external_directory pattern="/x"')
    assert (start.type, start.tool, again) == (EventType.TOOL_START, "bash", [])
    [end] = said(reader, TOOL)
    assert (end.type, end.call) == (EventType.TOOL_END, start.call)


def test_a_tool_that_the_log_does_not_tell_of_has_a_start_and_an_end(reader: Reader) -> None:
    start, end = said(reader, TOOL)
    assert (start.type, end.type) == (EventType.TOOL_START, EventType.TOOL_END)
    assert start.call == end.call == "c1"


def test_a_line_of_the_log_that_comes_late_starts_no_tool(reader: Reader) -> None:
    log(reader, "INFO", "loop step=0")
    said(reader, TOOL, step_end("tool-calls"))
    assert log(reader, "INFO", "evaluated permission=bash pattern=x") == []


def test_a_reply_that_breaks_off_is_trouble_and_no_progress(reader: Reader) -> None:
    [trouble] = said(reader, TEXT, step_end("unknown"))
    assert (trouble.type, trouble.reason) == (EventType.ERROR, Reason.NETWORK)
    events = said(reader, {"type": "step_start", "part": {}}, TEXT, step_end("unknown"))
    assert {event.type for event in events} == {EventType.ERROR}
    message, *_ = said(reader, TEXT, step_end("stop"))
    [result] = reader.end(0)
    assert (message.text, result.type, result.reason) == ("The answer.", EventType.RESULT, None)


def test_words_beside_a_tool_call_are_no_answer(reader: Reader) -> None:
    tally = Tally()
    for event in said(reader, TEXT, TOOL, step_end("tool-calls"), step_end("stop")):
        tally.add(event)
    for event in reader.end(0):
        tally.add(event)
    assert tally.verdict(0).text == ""


def test_a_last_step_that_did_not_stop_by_itself_is_no_success(reader: Reader) -> None:
    said(reader, TEXT, step_end("length"))
    [result] = reader.end(0)
    assert (result.type, result.reason) == (EventType.RESULT, Reason.AGENT_FAILED)


EXITING = 'level=INFO run=1 message="exiting loop" session.id={}'


def test_the_log_tells_the_end_of_a_program_that_does_not_exit(reader: Reader) -> None:
    log(reader, "INFO", "loop session.id=ses_1 step=0")
    assert EventType.RESULT not in {event.type for event in said(reader, TEXT, step_end("stop"))}
    assert list(reader.line(EXITING.format("ses_2"), Source.STDERR)) == []  # a sub-agent's
    [result] = reader.line(EXITING.format("ses_1"), Source.STDERR)
    assert (result.type, result.reason) == (EventType.RESULT, None)
    assert list(reader.end(0)) == []


def test_the_log_may_tell_the_end_before_the_last_record_comes(reader: Reader) -> None:
    log(reader, "INFO", "loop session.id=ses_1 step=0")
    assert list(reader.line(EXITING.format("ses_1"), Source.STDERR)) == []
    *_, result = said(reader, TEXT, step_end("stop"))
    assert result.type is EventType.RESULT


def test_a_summary_on_the_way_is_not_the_end(reader: Reader) -> None:
    said(reader, TEXT, step_end("stop"), {"type": "step_start", "part": {}}, TOOL, step_end("tool-calls"))
    assert list(reader.end(0)) == []


def test_a_program_that_fails_after_its_last_step_has_no_result(reader: Reader) -> None:
    said(reader, TEXT, step_end("stop"))
    assert list(reader.end(1)) == []


def test_a_lost_session_is_told_on_stderr(reader: Reader) -> None:
    [event] = reader.line("\x1b[91m\x1b[1mError: \x1b[0mSession not found", Source.STDERR)
    assert event.resume_rejected
