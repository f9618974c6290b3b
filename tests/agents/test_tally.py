"""What events add up to, without any process."""

from __future__ import annotations

import pytest

from gitmem.agents.adapter import Event, EventType, Usage, Verdict
from gitmem.agents.tally import Tally
from gitmem.core.states import Reason

START = Event(EventType.START, session_id="s-1")
TOOL = (Event(EventType.TOOL_START, tool="sh", call="1"), Event(EventType.TOOL_END, call="1"))
DONE = Event(EventType.RESULT)


def said(text: str) -> Event:
    return Event(EventType.MESSAGE, text)


def verdict_of(*events: Event, exit_code: int = 0, stopped: Reason | None = None) -> Verdict:
    tally = Tally()
    for event in events:
        tally.add(event)
    return tally.verdict(exit_code, stopped)


def test_the_answer_is_the_last_message_after_the_last_tool() -> None:
    assert verdict_of(said("I will look."), *TOOL, said("First."), said("Last."), DONE).text == "Last."


def test_narration_before_a_tool_is_never_the_answer() -> None:
    assert verdict_of(said("I will now fix it."), *TOOL, DONE).text == ""


def test_what_the_terminal_event_gives_as_answer_goes_first() -> None:
    assert verdict_of(said("Half."), Event(EventType.RESULT, "Whole.")).text == "Whole."


def test_thinking_is_never_the_answer() -> None:
    assert verdict_of(Event(EventType.THINKING, "Hm."), DONE).text == ""


def test_a_tool_end_alone_tells_that_a_tool_ran() -> None:
    verdict = verdict_of(said("Now."), TOOL[1], DONE)
    assert verdict.tool_ran
    assert verdict.text == ""


def test_usage_is_the_terminal_events_and_else_the_sum_of_the_parts() -> None:
    parts = [Event(EventType.MESSAGE, usage=Usage(input=10, cached=5)) for _ in range(3)]
    assert verdict_of(*parts, DONE).usage == Usage(input=30, cached=15)
    assert verdict_of(*parts, Event(EventType.RESULT, usage=Usage(input=7))).usage == Usage(input=7)
    assert verdict_of(DONE).usage == Usage()


@pytest.mark.parametrize(
    ("first", "second", "total"), [(None, None, None), (None, 3, 3), (0, None, 0), (2, 3, 5)]
)
def test_unknown_usage_stays_unknown(first: int | None, second: int | None, total: int | None) -> None:
    assert (Usage(input=first) + Usage(input=second)).input == total


def test_trouble_that_was_got_over_is_forgotten() -> None:
    trouble = Event(EventType.ERROR, "no network", reason=Reason.NETWORK)
    assert verdict_of(START, trouble, stopped=Reason.TIMEOUT_IDLE).reason is Reason.NETWORK
    assert verdict_of(START, trouble, said("back"), stopped=Reason.TIMEOUT_IDLE).reason is Reason.TIMEOUT_IDLE


def test_a_cancelled_run_in_trouble_is_cancelled() -> None:
    trouble = Event(EventType.ERROR, "no network", reason=Reason.NETWORK)
    assert verdict_of(START, trouble, stopped=Reason.CANCELLED).reason is Reason.CANCELLED


def test_a_vague_end_is_explained_by_the_trouble_before_it() -> None:
    trouble = Event(EventType.ERROR, "overloaded", reason=Reason.PROVIDER_ERROR)
    verdict = verdict_of(trouble, Event(EventType.RESULT, reason=Reason.AGENT_FAILED))
    assert (verdict.reason, verdict.detail) == (Reason.PROVIDER_ERROR, "overloaded")


def test_a_later_result_replaces_an_earlier_one() -> None:
    failed = Event(EventType.RESULT, "No.", reason=Reason.AGENT_FAILED)
    assert verdict_of(failed, *TOOL, Event(EventType.RESULT, "Yes.")).text == "Yes."
    assert verdict_of(Event(EventType.RESULT, "Yes."), failed).reason is Reason.AGENT_FAILED


def test_when_to_come_back_is_kept_for_a_failure_only() -> None:
    trouble = Event(EventType.ERROR, reason=Reason.QUOTA, retry_at="2026-12-01T06:00:00Z")
    failed = Event(EventType.RESULT, reason=Reason.QUOTA)
    assert verdict_of(trouble, failed).retry_at == "2026-12-01T06:00:00Z"
    assert verdict_of(trouble, said("ok"), DONE).retry_at is None


def test_a_tool_whose_end_is_never_told_does_not_outlive_the_result() -> None:
    tally = Tally()
    for event in (TOOL[0], DONE):
        tally.add(event)
    assert tally.tools_running == set()


def test_details_and_complaints_are_bounded() -> None:
    tally = Tally()
    for _ in range(1000):
        tally.stderr(["x" * 100_000])
    assert len(tally.verdict(1).detail) <= 2000
