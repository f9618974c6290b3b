from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitmem.agents.adapter import Job, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import read, replay

HEAD = ["exec", "--output-format", "stream-json", "--skip-permissions-unsafe"]


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("droid").arguments
    assert arguments(job) == HEAD
    resumed = replace(job, session_id="s-1", model="custom:m-0")
    assert arguments(resumed) == [*HEAD, "--model", "custom:m-0", "--session-id", "s-1"]


def test_a_recorded_turn(job: Job) -> None:
    verdict = replay("droid-done", job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert verdict.session_id == "818c5ce4-1b67-4881-a160-25ddec949eef"
    assert verdict.usage == Usage(input=1556, cached=666, output=44)
    assert verdict.tool_ran


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("droid-401", 1, Reason.AUTH),
        ("droid-500", -9, Reason.NO_TERMINAL_EVENT),
        ("droid-refused", 1, Reason.NETWORK),
        ("droid-terminated", 0, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text) == (reason, "")
    assert verdict.session_id


def completion(job: Job, home: Path) -> Usage | None:
    usage = {"input_tokens": 2222, "output_tokens": 44, "cache_read_input_tokens": 666}
    record: dict[str, Any] = {"type": "completion", "finalText": "Done.", "usage": usage}
    [event] = read("droid", [json.dumps(record)], replace(job, session_id="s-1"), {"HOME": str(home)})
    return event.usage


def test_a_resumed_turn_counts_only_what_the_session_had_not_used_before(job: Job, tmp_path: Path) -> None:
    folder = tmp_path / ".factory" / "sessions" / "-run-work"
    folder.mkdir(parents=True)
    used = {"inputTokens": 1111, "outputTokens": 22, "cacheReadTokens": 333, "cacheCreationTokens": 0}
    (folder / "s-1.settings.json").write_text(json.dumps({"tokenUsage": used}))
    assert completion(job, tmp_path) == Usage(input=1111, cached=333, output=22)


@pytest.mark.parametrize("words", [None, "{", "[]", '{"tokenUsage": {"inputTokens": "many"}}'])
def test_where_a_sessions_earlier_usage_cannot_be_known_this_turns_is_unknown(
    job: Job, tmp_path: Path, words: str | None
) -> None:
    if words:
        folder = tmp_path / ".factory" / "sessions" / "-run-work"
        folder.mkdir(parents=True)
        (folder / "s-1.settings.json").write_text(words)
    assert completion(job, tmp_path) == Usage()
