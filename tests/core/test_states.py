from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import states
from gitmem.core.errors import IllegalMoveError
from gitmem.core.states import IssueStatus, Outcome

STATUSES = st.sampled_from(list(IssueStatus))


@given(STATUSES, STATUSES)
def test_only_moves_of_the_table_are_legal(old: IssueStatus, new: IssueStatus) -> None:
    if old == new or new in states.ISSUE_MOVES[old]:
        states.check_issue_move("7k3q9d2m", old, new)
    else:
        with pytest.raises(IllegalMoveError, match=f"is {old}; it cannot become {new}"):
            states.check_issue_move("7k3q9d2m", old, new)


def test_every_status_can_be_left_and_reached() -> None:
    assert all(states.ISSUE_MOVES[status] for status in IssueStatus)
    assert set().union(*states.ISSUE_MOVES.values()) == set(IssueStatus)


@pytest.mark.parametrize("closed", [IssueStatus.DONE, IssueStatus.CANCELLED])
def test_a_closed_issue_is_only_reopened(closed: IssueStatus) -> None:
    assert states.ISSUE_MOVES[closed] == {IssueStatus.TODO, IssueStatus.BACKLOG}
    with pytest.raises(IllegalMoveError) as caught:
        states.check_issue_move("7k3q9d2m", closed, IssueStatus.IN_PROGRESS)
    assert caught.value.hint == "gitmem issue reopen 7k3q9d2m"


@given(st.sampled_from(list(Outcome)), st.booleans(), st.booleans())
def test_the_end_of_a_run_is_a_legal_move_of_an_issue_in_progress(
    outcome: Outcome, has_code: bool, will_retry: bool
) -> None:
    after = states.issue_status_after(outcome, has_code=has_code, will_retry=will_retry)
    states.check_issue_move("7k3q9d2m", IssueStatus.IN_PROGRESS, after)


def test_code_is_not_done_before_it_is_merged() -> None:
    done = states.issue_status_after(Outcome.SUCCEEDED, has_code=False, will_retry=False)
    code = states.issue_status_after(Outcome.SUCCEEDED, has_code=True, will_retry=False)
    assert (done, code) == (IssueStatus.DONE, IssueStatus.IN_REVIEW)


def test_a_failure_that_nobody_retries_goes_back_to_todo() -> None:
    after = states.issue_status_after(Outcome.FAILED, has_code=True, will_retry=False)
    assert after is IssueStatus.TODO


@given(st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_a_backoff_stays_within_a_fifth_of_its_step(attempt: int, jitter: float) -> None:
    step = min(1800, 30 * 2**attempt)
    assert 0.9 * step - 1 <= states.backoff_s(attempt, jitter) <= 1.1 * step


def test_six_backoffs_reach_half_an_hour() -> None:
    assert [states.backoff_s(n, 0.5) for n in range(7)] == [30, 60, 120, 240, 480, 960, 1800]
