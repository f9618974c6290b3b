from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import read, replay


def events(job: Job, *records: dict[str, Any]) -> list[Event]:
    return read("codex", [json.dumps(record) for record in records], job)


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("codex").arguments
    head = ["exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write"]
    assert arguments(job) == [*head, "-C", str(job.work), "-"]
    resumed = replace(job, session_id="t-1", model="gpt-5")
    assert arguments(resumed) == [*head, "--model", "gpt-5", "-C", str(job.work), "resume", "t-1", "-"]


@pytest.mark.parametrize(
    "flags",
    [("--sandbox", "read-only"), ("--sandbox=read-only",), ("--dangerously-bypass-approvals-and-sandbox",)],
)
def test_a_sandbox_chosen_by_the_agents_command_stands(job: Job, flags: tuple[str, ...]) -> None:
    assert "--sandbox" not in adapter_named("codex").arguments(replace(job, command=("codex", *flags)))


def test_a_recorded_turn(job: Job) -> None:
    verdict = replay("codex-done", job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert verdict.session_id == "01a22ecb-8c83-7182-964b-7ed3b39fa606"
    assert verdict.usage == Usage(input=2222 - 666, cached=666, output=44, reasoning=14)
    assert verdict.tool_ran


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("codex-401", 1, Reason.AUTH),
        ("codex-429", 1, Reason.RATE_LIMITED),
        ("codex-500", 1, Reason.PROVIDER_ERROR),
        ("codex-refused", -9, Reason.NETWORK),
        ("codex-interrupted", 1, Reason.NO_TERMINAL_EVENT),
        ("codex-terminated", -15, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text) == (reason, "")
    assert verdict.session_id


def rollout(home: Path, session: str, *totals: dict[str, int]) -> None:
    """A thread's own file, as the program keeps it: one token count after each turn."""
    folder = home / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True)
    lines = [{"type": "session_meta", "payload": {"id": session}}]
    lines += [
        {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": total}}}
        for total in totals
    ]
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / f"rollout-2026-11-30T22-19-00-{session}.jsonl").write_text(text + "\n")


def test_a_recorded_resumed_turn_counts_only_what_the_thread_had_not_used_before(
    job: Job, tmp_path: Path
) -> None:
    before = {
        "input_tokens": 2222,
        "cached_input_tokens": 666,
        "output_tokens": 44,
        "reasoning_output_tokens": 14,
    }
    rollout(tmp_path, "t-1", {"input_tokens": 1}, before)
    job = replace(job, session_id="t-1")
    usage = replay("codex-resumed", job, 0, {"CODEX_HOME": str(tmp_path)}).usage
    assert usage == Usage(input=2222 - 666, cached=666, output=44, reasoning=14)


def test_where_the_earlier_usage_of_a_thread_cannot_be_known_this_turns_is_unknown(
    job: Job, tmp_path: Path
) -> None:
    job = replace(job, session_id="t-1")
    assert replay("codex-resumed", job, 0, {"HOME": str(tmp_path)}).usage == Usage()


def test_a_warning_item_is_no_failure(job: Job) -> None:
    [event] = events(job, {"type": "item.completed", "item": {"type": "error", "message": "Model metadata"}})
    assert (event.type, event.reason) == (EventType.OTHER, None)


def test_a_plan_after_the_answer_is_no_tool(job: Job) -> None:
    said, plan = events(
        job,
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "item.completed", "item": {"type": "todo_list", "items": []}},
    )
    assert (said.type, plan.type) == (EventType.MESSAGE, EventType.OTHER)


@pytest.mark.parametrize("kind", ["command_execution", "file_change", "mcp_tool_call", "something_new"])
def test_every_other_item_is_a_tool(job: Job, kind: str) -> None:
    item = {"id": "item_1", "type": kind}
    start, end = events(job, {"type": "item.started", "item": item}, {"type": "item.completed", "item": item})
    assert (start.type, end.type) == (EventType.TOOL_START, EventType.TOOL_END)
    assert (start.tool, start.call) == (kind, "item_1")


def test_a_lost_thread_is_told_on_stderr(job: Job) -> None:
    reader = adapter_named("codex").reader(replace(job, session_id="t-1"), {})
    words = "Error: thread/resume: thread/resume failed: no rollout found for thread id t-1 (code -32600)"
    [event] = reader.line(words, Source.STDERR)
    assert event.resume_rejected
    assert list(reader.line("warning: something else", Source.STDERR)) == []
