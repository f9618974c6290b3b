"""The one gate in front of every read that is made for an actor.

Snapshots, recall and every face pass records through here and filter nothing for themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitmem.core.access import Decision, Item, decide, item_of
from gitmem.core.errors import GitmemError, InvalidDocumentError
from gitmem.core.ids import Actor, ActorKind, bare_id
from gitmem.core.layout import POLICY_FILE
from gitmem.core.policy import LEVEL_RANK, Level, Policy, Right, highest, policy_of
from gitmem.core.record import Kind, Problem, Record, Severity, text
from gitmem.store.reader import Reader

# What is said about an issue is as sensitive as the issue.
_OF_AN_ISSUE = frozenset({Kind.COMMENT, Kind.RUN, Kind.TASK})


class Gate:
    """What one actor may read. `working_on` is the project of the issue that an agent has in hand.

    Raises InvalidDocumentError for an agent where policy.yaml cannot be read: what it forbids is
    then unknown.
    """

    def __init__(self, reader: Reader, actor: Actor, *, working_on: str | None = None) -> None:
        self.reader = reader
        self.actor = actor
        self.working_on = working_on
        self._broken = {problem.path for problem in _unreadable(reader)}
        self.policy = read_policy(reader, strict=actor.kind is ActorKind.AGENT)
        self._issues: dict[str, Item | None] = {}

    def decision(self, record: Record, right: Right = Right.READ) -> Decision:
        """May the actor do `right` to the record, and why."""
        if record.path in self._broken and self.actor.kind is ActorKind.AGENT:
            return Decision(False, "its front matter cannot be read, so nobody knows who may")
        return decide(self.policy, self.actor, self.item(record), right, working_on=self.working_on)

    def allows(self, record: Record) -> bool:
        return self.decision(record).allowed

    def allowed(self, records: Iterable[Record]) -> list[Record]:
        """The records that the actor may read, in their order."""
        return [record for record in records if self.allows(record)]

    def item(self, record: Record) -> Item:
        """The record's attributes, with those of the issue that it belongs to."""
        own = item_of(record)
        if record.kind not in _OF_AN_ISSUE:
            return own
        issue = self._issue(bare_id(text(record.fields.get("issue")) or ""))
        if issue is None:
            return replace(own, level=Level.SECRET)  # unknown, so as for the highest
        return replace(
            own,
            level=highest((own.level, issue.level)),
            project=issue.project,
            allowed=own.allowed or issue.allowed,
            quarantined=own.quarantined or issue.quarantined,
        )

    def _issue(self, issue_id: str) -> Item | None:
        if issue_id not in self._issues:
            try:
                record = self.reader.record(Kind.ISSUE, issue_id)
            except GitmemError:
                record = None
            known = record is not None and record.path not in self._broken
            self._issues[issue_id] = item_of(record) if record and known else None
        return self._issues[issue_id]

    def sandbox_needed(self) -> str | None:
        """Why the policy asks for a sandbox: an item of its level that the actor may not read, or None."""
        level = self.policy.require_sandbox
        if level is None:
            return None
        for kind in (Kind.ISSUE, Kind.KNOWLEDGE, Kind.SKILL):
            for record in self.reader.records(kind):
                if LEVEL_RANK[self.item(record).level] >= LEVEL_RANK[level] and not self.allows(record):
                    return f"{kind}:{record.id} is {self.item(record).level} and {self.actor} may not read it"
        return None


def read_policy(reader: Reader, *, strict: bool = False) -> Policy:
    """The workspace's policy, with the roles that members and agents declare in their own files.

    Raises InvalidDocumentError where it is `strict` and policy.yaml cannot be read.
    """
    broken = [problem for problem in _unreadable(reader) if problem.path == POLICY_FILE]
    if broken and strict:
        first = broken[0]
        raise InvalidDocumentError(
            f"{POLICY_FILE}:{first.line}: {first.message}", f"gitmem check {POLICY_FILE}", problems=broken
        )
    declared = {
        f"{kind}:{record.id}": role
        for kind in (Kind.MEMBER, Kind.AGENT)
        for record in reader.records(kind)
        if (role := text(record.fields.get("role")))
    }
    fields = next((record.fields for record in reader.records(Kind.POLICY)), {})
    return policy_of(fields, declared)


def _unreadable(reader: Reader) -> list[Problem]:
    """The errors of files whose fields are unknown; a double id is another matter."""
    return [p for p in reader.problems() if p.severity is Severity.ERROR and p.code != "double-id"]
