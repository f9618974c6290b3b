"""What a run has come to, from what the program said, what it handed back and what it changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gitmem.core.states import RETRYABLE, Outcome, Reason


class Said(StrEnum):
    """What the agent itself says in `result.md`."""

    NOTHING = "nothing"
    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Facts:
    """`failure` None: the program gave its positive terminal event.

    `handed_back`: something deliverable was in the outbox. `refused`: something there was not
    deliverable. `changed`: a file in the working directory is other than before. `asks`: a
    blocker or question stands in the outbox. `must_wait`: a secret was found, the issue
    changed meanwhile, or policy wants a person for something in it.
    """

    failure: Reason | None
    said: Said
    handed_back: bool
    refused: bool
    changed: bool
    asks: bool
    must_wait: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    outcome: Outcome
    reason: Reason | None
    delivers: bool


def judge(facts: Facts) -> Judgement:
    """An agent that wrote nothing and changed nothing has not succeeded, whatever it says."""
    if facts.failure is Reason.CANCELLED:
        return Judgement(Outcome.CANCELLED, Reason.CANCELLED, delivers=False)
    if facts.failure is Reason.AGENT_FAILED and facts.said is Said.FAILED:
        # Its own result explains the failure, as a runbook's does with the output of the block.
        return Judgement(Outcome.FAILED, Reason.AGENT_FAILED, delivers=True)
    if facts.failure is not None:
        return Judgement(Outcome.FAILED, facts.failure, delivers=False)
    if not facts.handed_back and not facts.changed:
        reason = Reason.INVALID_OUTPUT if facts.refused else Reason.NO_RESULT
        return Judgement(Outcome.FAILED, reason, delivers=False)
    if facts.said is Said.FAILED:
        return Judgement(Outcome.FAILED, Reason.AGENT_FAILED, delivers=True)
    if facts.said is Said.BLOCKED or facts.asks:
        return Judgement(Outcome.BLOCKED, None, delivers=True)
    if facts.must_wait:
        return Judgement(Outcome.REVIEW, None, delivers=True)
    return Judgement(Outcome.SUCCEEDED, None, delivers=True)


def will_retry(judgement: Judgement, attempt: int, max_attempts: int) -> bool:
    """Only infrastructure failures are tried again; `attempt` counts from 0."""
    return judgement.reason in RETRYABLE and attempt + 1 < max_attempts
