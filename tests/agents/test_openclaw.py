from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Source, Usage
from gitmem.agents.registry import adapter_named
from gitmem.agents.tally import Tally
from gitmem.core.states import Reason
from tests.agents.replay import RECORDED, read, replay


def test_the_command_line(job: Job) -> None:
    arguments = adapter_named("openclaw").arguments
    head = ["agent", "exec", "--json", "--timeout", "120", "--cwd", str(job.work), "--message-file", "-"]
    assert arguments(job) == head
    assert arguments(replace(job, model="p/m")) == [*head, "--model", "p/m"]


def test_a_recorded_turn(job: Job) -> None:
    verdict = replay("openclaw-done", job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert verdict.session_id == "b6d0ad71-e2df-41b3-bbdf-a55838c87482"
    assert verdict.usage == Usage(input=1556, cached=666, output=44, reasoning=14)
    assert verdict.tool_ran


def test_a_recorded_failure(job: Job) -> None:
    verdict = replay("openclaw-401", job, 1)
    assert (verdict.reason, verdict.text, verdict.tool_ran) == (Reason.AUTH, "", False)
    assert "HTTP 401" in verdict.detail


def test_the_document_may_come_after_noise_and_on_one_line(job: Job) -> None:
    document = '{"ok": true, "status": "ok", "final": "Done."}'
    events = read("openclaw", ["starting", "{not json}", "{", document], job)
    tally = Tally()
    for event in events:
        tally.add(event)
    assert (tally.verdict(0).reason, tally.verdict(0).text) == (None, "Done.")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ('{"message": "Key is disabled after a provider auth/billing failure."}', Reason.AUTH),
        ('{"message": "something"}', Reason.AGENT_FAILED),
        ('{"type": "cli_error", "message": "does not recognize option"}', Reason.BAD_CONFIG),
        ("null", Reason.AGENT_FAILED),
    ],
)
def test_a_failure_has_its_reason(job: Job, error: str, reason: Reason) -> None:
    *_, result = read("openclaw", [f'{{"ok": false, "status": "error", "error": {error}}}'], job)
    assert (result.type, result.reason) == (EventType.RESULT, reason)


def test_its_log_is_its_only_sign_of_life(job: Job) -> None:
    reader = adapter_named("openclaw").reader(job, {})
    words = "[agent/embedded] tool-search: cataloged 38 tools"
    events = [event for _ in range(2) for event in reader.line(words, Source.STDERR)]
    assert [event.type for event in events] == [EventType.START, EventType.OTHER]


def test_asking_a_failing_model_again_is_no_sign_of_life(job: Job) -> None:
    reader = adapter_named("openclaw").reader(job, {})

    def log(words: str) -> list[Event]:
        return list(reader.line(words, Source.STDERR))

    failed = (
        "[agent/embedded] embedded run agent end: runId=1 isError=true model=m error=x. rawError=429 Slow"
    )
    [trouble] = log(failed)
    assert (trouble.type, trouble.reason) == (EventType.ERROR, Reason.RATE_LIMITED)
    assert log("[agent/embedded] transient same-model retry 1/8") == []
    assert log("[provider-transport-fetch] [model-fetch] response model=m status=200 elapsedMs=5") != []
    assert log("[agent/embedded] tool-search") != []


def test_recorded_documents_are_whole() -> None:
    for path in RECORDED.glob("openclaw-*.jsonl"):
        assert path.read_text().splitlines()[-1] == "}"
