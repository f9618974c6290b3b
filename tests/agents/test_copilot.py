from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.agents.adapter import EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import replay

HEAD = ["--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update"]


def test_the_command_line(job: Job) -> None:
    resumed = replace(job, session_id="s-1", model="m")
    assert adapter_named("copilot").arguments(resumed) == [*HEAD, "--model", "m", "--resume=s-1"]


def test_a_new_session_gets_an_id_that_is_its_runs_own(job: Job, tmp_path: Path) -> None:
    arguments = adapter_named("copilot").arguments
    *head, session = arguments(job)
    assert head == HEAD
    assert uuid.UUID(session.removeprefix("--session-id="))
    assert arguments(job)[-1] == session
    assert arguments(replace(job, run_dir=tmp_path / "other"))[-1] != session


def test_a_recorded_turn(job: Job) -> None:
    verdict = replay("copilot-done", job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert verdict.session_id == "43b7559d-5a03-4cd7-b990-3928b59f23e4"
    assert verdict.usage == Usage()
    assert verdict.tool_ran


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("copilot-401", 1, Reason.AUTH),
        ("copilot-429", -9, Reason.RATE_LIMITED),
        ("copilot-500", 1, Reason.PROVIDER_ERROR),
        ("copilot-refused", 1, Reason.NETWORK),
        ("copilot-terminated", -15, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text) == (reason, "")
    assert verdict.session_id


def test_asking_again_is_no_sign_of_life(job: Job) -> None:
    reader = adapter_named("copilot").reader(job, {})
    kinds = ("model.call_start", "assistant.turn_retry", "session.info", "model.call_finished")
    events = [e for kind in kinds for e in reader.line(json.dumps({"type": kind}), Source.STDOUT)]
    assert [event.type for event in events] == [EventType.START]


def test_tokens_are_those_of_the_run_in_the_sessions_own_file(job: Job, tmp_path: Path) -> None:
    job = replace(job, session_id="s-1")
    folder = tmp_path / "session-state" / "s-1"
    folder.mkdir(parents=True)
    reader = adapter_named("copilot").reader(job, {"COPILOT_HOME": str(tmp_path)})
    usage = {"inputTokens": 2888, "outputTokens": 44, "cacheReadTokens": 666, "reasoningTokens": 14}
    records = [
        {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": {"inputTokens": 1}}}}},
        {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": usage}}}},
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    [event] = reader.end(0)
    assert event.usage == Usage(input=2222, cached=666, output=44, reasoning=14)


def test_without_the_record_of_the_runs_end_its_tokens_are_unknown(job: Job, tmp_path: Path) -> None:
    job = replace(job, session_id="s-1")
    reader = adapter_named("copilot").reader(job, {"COPILOT_HOME": str(tmp_path)})
    assert [event.usage for event in reader.end(0)] == [Usage()]
    folder = tmp_path / "session-state" / "s-1"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text('{"type": "assistant.turn_end"}\n')
    assert [event.usage for event in reader.end(0)] == [Usage()]


def test_a_lost_session_is_told_on_stderr(job: Job) -> None:
    reader = adapter_named("copilot").reader(replace(job, session_id="s-1"), {})
    [event] = reader.line("Error: No session, task, or name matched 's-1'.", Source.STDERR)
    assert event.resume_rejected
