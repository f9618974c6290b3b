"""A run that has ended: all that its delivery needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitmem.agents.adapter import Verdict
from gitmem.core.ids import Actor, ActorKind
from gitmem.core.judge import Facts, Said
from gitmem.core.model import Agent, Issue, Task
from gitmem.core.states import Outcome, Reason
from gitmem.runner.handback import Handback
from gitmem.store.claims import Claim


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task, from its claim on. Times are UTC stamps, commits are ids."""

    run: str
    task: Task
    issue: Issue
    agent: Agent
    claim: Claim
    runner: str
    started: str
    trace: str
    base: str
    snapshot: str | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)
    adapter_version: str | None = None

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.AGENT, self.agent.name)


@dataclass(frozen=True, slots=True)
class Ended:
    """`changed_meanwhile` are the refs of the snapshot whose files differ on the branch now."""

    attempt: Attempt
    verdict: Verdict
    handback: Handback
    changed: bool
    at: str
    changed_meanwhile: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The agent's final words: its result, else its last message."""
        result = self.handback.result
        if result and (result.body or result.summary):
            return result.body or result.summary
        return self.verdict.text.strip()

    @property
    def detail(self) -> str:
        """Why it did not succeed, in the program's or the agent's own words."""
        result = self.handback.result
        return self.verdict.detail or (result.reason if result else None) or ""

    def facts(self, *, must_wait: bool) -> Facts:
        result = self.handback.result
        kinds = {note.fields.get("kind") for note in self.handback.comments}
        return Facts(
            failure=self.verdict.reason,
            said=result.outcome if result else Said.NOTHING,
            handed_back=not self.handback.is_empty,
            refused=bool(self.handback.refused),
            changed=self.changed,
            asks=bool(kinds & {"blocker", "question"}),
            must_wait=must_wait,
        )


@dataclass(frozen=True, slots=True)
class Delivered:
    outcome: Outcome
    reason: Reason | None
    commit: str
    branch: str | None
    produced: tuple[str, ...]
    retry_at: str | None = None
    late: bool = False
    warnings: tuple[str, ...] = ()
