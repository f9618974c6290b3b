from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.core.judge import Facts, Judgement, Said, judge, will_retry
from gitmem.core.states import RETRYABLE, Outcome, Reason

NOTHING = Facts(
    None, Said.NOTHING, handed_back=False, refused=False, changed=False, asks=False, must_wait=False
)
DONE = replace(NOTHING, said=Said.DONE, handed_back=True)


def test_an_agent_that_wrote_nothing_and_changed_nothing_has_not_succeeded() -> None:
    assert judge(NOTHING) == Judgement(Outcome.FAILED, Reason.NO_RESULT, delivers=False)
    assert judge(replace(NOTHING, said=Said.DONE)).outcome is Outcome.FAILED


def test_an_outbox_of_which_nothing_can_be_delivered_is_invalid_output() -> None:
    assert judge(replace(NOTHING, refused=True)).reason is Reason.INVALID_OUTPUT


def test_a_changed_file_or_a_handback_is_a_result() -> None:
    assert judge(replace(NOTHING, changed=True)).outcome is Outcome.SUCCEEDED
    assert judge(DONE) == Judgement(Outcome.SUCCEEDED, None, delivers=True)


@pytest.mark.parametrize("reason", [Reason.AUTH, Reason.PROVIDER_ERROR, Reason.NO_TERMINAL_EVENT])
def test_a_failed_turn_delivers_nothing_whatever_lies_in_the_outbox(reason: Reason) -> None:
    assert judge(replace(DONE, failure=reason)) == Judgement(Outcome.FAILED, reason, delivers=False)


def test_a_failure_that_the_agents_own_result_explains_is_delivered_with_it() -> None:
    explained = replace(DONE, failure=Reason.AGENT_FAILED, said=Said.FAILED)
    assert judge(explained) == Judgement(Outcome.FAILED, Reason.AGENT_FAILED, delivers=True)
    assert not judge(replace(explained, said=Said.DONE)).delivers


def test_a_cancelled_turn_is_neither_failed_nor_delivered() -> None:
    found = judge(replace(DONE, failure=Reason.CANCELLED))
    assert (found.outcome, found.delivers) == (Outcome.CANCELLED, False)


def test_what_the_agent_says_against_itself_counts() -> None:
    assert judge(replace(DONE, said=Said.FAILED)) == Judgement(Outcome.FAILED, Reason.AGENT_FAILED, True)
    assert judge(replace(DONE, said=Said.BLOCKED)).outcome is Outcome.BLOCKED
    assert judge(replace(DONE, asks=True)).outcome is Outcome.BLOCKED


def test_what_needs_a_person_goes_to_review() -> None:
    assert judge(replace(DONE, must_wait=True)).outcome is Outcome.REVIEW


def test_only_infrastructure_failures_are_tried_again_and_not_for_ever() -> None:
    network = Judgement(Outcome.FAILED, Reason.NETWORK, delivers=False)
    assert will_retry(network, attempt=0, max_attempts=2)
    assert not will_retry(network, attempt=1, max_attempts=2)
    for reason in set(Reason) - RETRYABLE:
        assert not will_retry(Judgement(Outcome.FAILED, reason, delivers=False), 0, 9)
    assert not will_retry(Judgement(Outcome.SUCCEEDED, None, delivers=True), 0, 9)
