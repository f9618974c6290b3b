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


def shutdown(**usage: int) -> dict[str, object]:
    return {"type": "session.shutdown", "data": {"modelMetrics": {"m": {"usage": usage}}}}


BEFORE = shutdown(inputTokens=1444, outputTokens=22, cacheReadTokens=333, reasoningTokens=7)
AFTER = shutdown(inputTokens=2888, outputTokens=44, cacheReadTokens=666, reasoningTokens=14)


@pytest.fixture
def session_file(job: Job, tmp_path: Path) -> Path:
    session = adapter_named("copilot").arguments(job)[-1].removeprefix("--session-id=")
    path = tmp_path / "session-state" / session / "events.jsonl"
    path.parent.mkdir(parents=True)
    return path


def write(path: Path, *records: object) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_tokens_stand_in_the_sessions_own_file(job: Job, tmp_path: Path, session_file: Path) -> None:
    reader = adapter_named("copilot").reader(job, {"COPILOT_HOME": str(tmp_path)})
    write(session_file, AFTER)
    [event] = reader.end(0)
    assert event.usage == Usage(input=2222, cached=666, output=44, reasoning=14)


def test_a_resumed_run_counts_only_what_the_session_had_not_used_before(
    job: Job, tmp_path: Path, session_file: Path
) -> None:
    job = replace(job, session_id=session_file.parent.name)
    write(session_file, BEFORE, {"type": "session.resume"})
    reader = adapter_named("copilot").reader(job, {"COPILOT_HOME": str(tmp_path)})
    write(session_file, BEFORE, {"type": "session.resume"}, AFTER)
    [event] = reader.end(0)
    assert event.usage == Usage(input=1111, cached=333, output=22, reasoning=7)


@pytest.mark.parametrize("records", [(), (BEFORE, {"type": "assistant.turn_end"})])
def test_without_a_record_of_the_runs_own_end_its_tokens_are_unknown(
    job: Job, tmp_path: Path, session_file: Path, records: tuple[object, ...]
) -> None:
    reader = adapter_named("copilot").reader(job, {"COPILOT_HOME": str(tmp_path)})
    assert [event.usage for event in reader.end(0)] == [Usage()]
    write(session_file, *records)
    assert [event.usage for event in reader.end(0)] == [Usage()]


def test_a_lost_session_is_told_on_stderr(job: Job) -> None:
    reader = adapter_named("copilot").reader(replace(job, session_id="s-1"), {})
    [event] = reader.line("Error: No session, task, or name matched 's-1'.", Source.STDERR)
    assert event.resume_rejected
