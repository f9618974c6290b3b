from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.agents.adapter import Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import replay


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("qwen").arguments
    head = ["--output-format", "stream-json", "--yolo"]
    assert arguments(job) == head
    resumed = replace(job, session_id="s-1", model="qwen3")
    assert arguments(resumed) == [*head, "--model", "qwen3", "--resume", "s-1"]


@pytest.mark.parametrize("name", ["qwen-done", "qwen-resumed"])
def test_a_recorded_turn_counts_only_its_own_tokens(job: Job, name: str) -> None:
    """The numbers of the resumed session's `result` are those of both turns."""
    verdict = replay(name, job, 0)
    assert (verdict.reason, verdict.tool_ran) == (None, True)
    assert verdict.text.startswith("FAKE-FINAL: wrote /run/work/agent_out_")
    assert verdict.session_id
    assert verdict.usage == Usage(1556, 666, 44)


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [("qwen-401", 1, Reason.AUTH), ("qwen-refused", -15, Reason.NO_TERMINAL_EVENT)],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text, verdict.usage) == (reason, "", Usage())
    assert verdict.session_id


def test_a_lost_session_is_rejected_only_where_one_was_asked_for(job: Job) -> None:
    words, read = "No saved session found with ID x", adapter_named("qwen").reader
    [event] = read(replace(job, session_id="x"), {}).line(words, Source.STDERR)
    assert event.resume_rejected
    assert list(read(job, {}).line(words, Source.STDERR)) == []
