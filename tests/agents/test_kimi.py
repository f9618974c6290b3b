from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitmem.agents.adapter import EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import read, replay

ID = "session_6f703269-69e8-4c1e-a8af-f3fd6a08598c"
FINISHED = {"providerFinishReason": "completed", "usage": {"inputOther": 1111, "output": 22}}


def recorded_session(home: Path, job: Job, *records: dict[str, Any], session: str = ID) -> dict[str, str]:
    """Write the program's own record of a session as 2.1.0 does; gives the environment that names it."""
    folder = home / "sessions" / "wd_work" / session
    wire = folder / "agents" / "main" / "wire.jsonl"
    wire.parent.mkdir(parents=True, exist_ok=True)
    with wire.open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    entry = {"sessionId": session, "sessionDir": str(folder), "workDir": str(job.work)}
    with (home / "session_index.jsonl").open("a") as file:
        file.write(json.dumps(entry) + "\n")
    return {"KIMI_CODE_HOME": str(home)}


def used(fresh: int) -> dict[str, Any]:
    usage = {"inputOther": fresh, "output": 22, "inputCacheRead": 333, "inputCacheCreation": 5}
    return {"type": "usage.record", "usage": usage}


def step(**fields: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": "step.end", **fields}}


def hint() -> str:
    return json.dumps({"role": "meta", "type": "session.resume_hint", "session_id": ID})


def test_the_command_line_cannot_take_the_prompt_for_a_flag(job: Job) -> None:
    arguments = adapter_named("kimi").arguments
    head = ["--output-format", "stream-json"]
    assert arguments(replace(job, prompt="--yolo")) == [*head, "--prompt=--yolo"]
    resumed = replace(job, session_id="s-1", model="k2")
    assert arguments(resumed) == [*head, "--model", "k2", "--session", "s-1", "--prompt=The prompt."]


@pytest.mark.parametrize("name", ["kimi-done", "kimi-resumed"])
def test_a_recorded_turn_without_its_record_has_no_usage(job: Job, name: str) -> None:
    verdict = replay(name, job, 0)
    assert (verdict.reason, verdict.tool_ran, verdict.usage) == (None, True, Usage())
    assert verdict.text.startswith("FAKE-FINAL: wrote /run/work/agent_out_")
    assert verdict.session_id


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("kimi-429", 1, Reason.RATE_LIMITED),
        ("kimi-refused", 1, Reason.NETWORK),
        ("kimi-interrupted", 130, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    assert replay(name, job, exit_code).reason is reason


def test_a_failure_on_stderr_has_its_reason(job: Job) -> None:
    words = "error: failed to run prompt: provider.auth_error: 401 fake 401: authentication_error"
    [event] = adapter_named("kimi").reader(job, {}).line(words, Source.STDERR)
    assert (event.type, event.reason) == (EventType.ERROR, Reason.AUTH)


def test_usage_is_what_the_session_recorded_of_this_turn(tmp_path: Path, job: Job) -> None:
    env = recorded_session(tmp_path / "kimi", job, used(7000), step(**FINISHED))
    reader = adapter_named("kimi").reader(replace(job, session_id=ID), env)
    recorded_session(tmp_path / "kimi", job, used(1111), used(2222), step(**FINISHED))
    [*_, event] = [*reader.line(hint(), Source.STDOUT), *reader.end(0)]
    assert (event.type, event.reason) == (EventType.RESULT, None)
    assert event.usage == Usage(1111 + 2222 + 10, 666, 44)


def test_an_answer_that_broke_off_is_no_end(tmp_path: Path, job: Job) -> None:
    reader = adapter_named("kimi").reader(job, {"KIMI_CODE_HOME": str(tmp_path / "kimi")})
    recorded_session(tmp_path / "kimi", job, step(finishReason="end_turn", usage={"inputOther": 0}))
    [*_, event] = [*reader.line(hint(), Source.STDOUT), *reader.end(0)]
    assert (event.type, event.reason) == (EventType.RESULT, Reason.NETWORK)


def test_a_turn_that_we_stopped_leaves_its_session_and_that_a_tool_ran(tmp_path: Path, job: Job) -> None:
    env = recorded_session(tmp_path / "kimi", job, used(7), session="session_of_an_earlier_run")
    reader = adapter_named("kimi").reader(job, env)
    call = {"type": "context.append_loop_event", "event": {"type": "tool.call"}}
    recorded_session(tmp_path / "kimi", job, used(9), call)
    told, tool = reader.stopped()
    assert (told.session_id, told.usage) == (ID, Usage(14, 333, 22))
    assert tool.type is EventType.TOOL_END


def test_a_broken_record_is_no_trouble(tmp_path: Path, job: Job) -> None:
    folder = tmp_path / "kimi"
    env = recorded_session(folder, job, used(1))
    (folder / "session_index.jsonl").write_text('{"sessionId": 1}\n[]\nnot json\n')
    assert read("kimi", [hint()], job, env)[0].type is EventType.RESULT
