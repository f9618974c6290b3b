"""States and the moves between them, in one table each.

    task   queued ──claim──▶ running ──deliver──▶ (its file leaves queue/)
              ▲                 ├── infrastructure failure ─▶ queued, not before the backoff
              │                 └── blocker or question ─▶ waiting ── a person comments ─▶ queued
    issue  backlog/todo ─▶ in_progress ─▶ done | in_review | blocked | todo

`running` is never written into a file: the claim tells it.
"""

from __future__ import annotations

from enum import StrEnum

from gitmem.core.errors import IllegalMoveError


class IssueStatus(StrEnum):
    BACKLOG = "backlog"
    TODO = "todo"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    BLOCKED = "blocked"
    DONE = "done"
    CANCELLED = "cancelled"


class Priority(StrEnum):
    URGENT = "urgent"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


class TaskState(StrEnum):
    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"


class Trigger(StrEnum):
    ASSIGNMENT = "assignment"
    MENTION = "mention"
    REPLY = "reply"
    FOLLOWUP = "followup"
    RETRY = "retry"
    SCHEDULE = "schedule"
    MANUAL = "manual"
    REVIEW = "review"
    CI = "ci"


class Outcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    REVIEW = "review"


class Reason(StrEnum):
    """Why a run did not succeed."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMITED = "rate_limited"
    PROVIDER_ERROR = "provider_error"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_CONFIG = "bad_config"
    NOT_INSTALLED = "not_installed"
    TIMEOUT_START = "timeout_start"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_WALL = "timeout_wall"
    CANCELLED = "cancelled"
    NO_TERMINAL_EVENT = "no_terminal_event"
    NO_RESULT = "no_result"
    INVALID_OUTPUT = "invalid_output"
    AGENT_FAILED = "agent_failed"
    NOT_TRUSTED = "not_trusted"
    RUNNER_LOST = "runner_lost"
    LATE = "late"
    INTERNAL = "internal"


# Infrastructure: the task did nothing wrong, trying again later can help.
RETRYABLE = frozenset(
    {
        Reason.QUOTA,
        Reason.RATE_LIMITED,
        Reason.PROVIDER_ERROR,
        Reason.NETWORK,
        Reason.NO_TERMINAL_EVENT,
        Reason.TIMEOUT_START,
        Reason.RUNNER_LOST,
    }
)

OPEN_STATUSES = frozenset(set(IssueStatus) - {IssueStatus.DONE, IssueStatus.CANCELLED})

PRIORITY_RANK = {priority: rank for rank, priority in enumerate(Priority)}

_S = IssueStatus
# A person may move an issue anywhere except from a status to one that skips reopening it.
ISSUE_MOVES: dict[IssueStatus, frozenset[IssueStatus]] = {
    _S.BACKLOG: frozenset({_S.TODO, _S.IN_PROGRESS, _S.BLOCKED, _S.DONE, _S.CANCELLED}),
    _S.TODO: frozenset({_S.BACKLOG, _S.IN_PROGRESS, _S.IN_REVIEW, _S.BLOCKED, _S.DONE, _S.CANCELLED}),
    _S.IN_PROGRESS: frozenset({_S.BACKLOG, _S.TODO, _S.IN_REVIEW, _S.BLOCKED, _S.DONE, _S.CANCELLED}),
    _S.IN_REVIEW: frozenset({_S.TODO, _S.IN_PROGRESS, _S.BLOCKED, _S.DONE, _S.CANCELLED}),
    _S.BLOCKED: frozenset({_S.BACKLOG, _S.TODO, _S.IN_PROGRESS, _S.IN_REVIEW, _S.DONE, _S.CANCELLED}),
    _S.DONE: frozenset({_S.TODO, _S.BACKLOG}),
    _S.CANCELLED: frozenset({_S.TODO, _S.BACKLOG}),
}


def check_issue_move(issue_id: str, old: IssueStatus, new: IssueStatus) -> None:
    """Raise IllegalMoveError where the table does not have the move; staying is always legal."""
    if old == new or new in ISSUE_MOVES[old]:
        return
    hint = f"gitmem issue reopen {issue_id}" if old in {_S.DONE, _S.CANCELLED} else None
    raise IllegalMoveError(f"issue {issue_id} is {old}; it cannot become {new}", hint)


def issue_status_after(outcome: Outcome, *, has_code: bool, will_retry: bool) -> IssueStatus:
    """The issue's status when a run on it has ended (RUNNER.md, "States")."""
    if will_retry:
        return _S.IN_PROGRESS
    if outcome is Outcome.SUCCEEDED:
        return _S.IN_REVIEW if has_code else _S.DONE
    return {Outcome.REVIEW: _S.IN_REVIEW, Outcome.BLOCKED: _S.BLOCKED}.get(outcome, _S.TODO)


# First wait and its ceiling: six doublings from half a minute reach half an hour, so that an
# outage of hours is survived by a few attempts an hour.
BACKOFF_FIRST_S = 30
BACKOFF_MAX_S = 1800


def backoff_s(attempt: int, jitter: float) -> int:
    """Seconds to wait before attempt number `attempt` + 1; `jitter` in [0, 1) spreads runners by a fifth."""
    base = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** max(0, attempt))
    return int(base * (0.9 + 0.2 * jitter))
