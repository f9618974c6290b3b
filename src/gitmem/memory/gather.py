"""Everything that a run on an issue could be told, in the order in which it matters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from gitmem.core.errors import GitmemError, NotPermittedError
from gitmem.core.ids import parse_ref
from gitmem.core.model import Agent, Issue, issue_of, knowledge_of, skill_of
from gitmem.core.record import Kind, Record, text, texts
from gitmem.memory.access import Gate
from gitmem.memory.budget import Piece, Section
from gitmem.memory.recall import Query, Recalled, query_of_beginning, query_of_issue, recall
from gitmem.store.reader import Reader

RECALLED_MAX = 5
EARLIER_RUNS_MAX = 3
SIMILAR_ISSUES_MAX = 3

# Of a long discussion more than this can be no part of any budget.
COMMENTS_MAX = 300

# What the line above a comment and its fences cost.
COMMENT_OVERHEAD = 30

DIRECTORY = ".gitmem"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not told. `tokens` is what it would have cost, 0 where that was not asked."""

    ref: str
    path: str
    tokens: int
    reason: str
    how: str


class Gatherer:
    """Collects pieces; each record comes once, for the first reason that brings it."""

    def __init__(self, reader: Reader, gate: Gate, issue: Issue, agent: Agent | None, now: datetime) -> None:
        self.reader = reader
        self.gate = gate
        self.issue = issue
        self.agent = agent
        self.now = now
        self.pieces: list[Piece] = []
        self.left_out: list[LeftOut] = []
        self.older_comments = 0
        self._seen: set[str] = set()

    def all(self) -> None:
        """Gather every section. Raises NotPermittedError where the actor may not read the issue itself."""
        record = self.reader.record(Kind.ISSUE, self.issue.path)
        decision = self.gate.decision(record)
        if not decision.allowed:
            raise NotPermittedError(
                f"{self.gate.actor} may not read issue {self.issue.id}: {decision.reason}",
                "give it to another agent, or change who may read it",
            )
        for context in self.gate.allowed(self.reader.records(Kind.CONTEXT)):
            self._file(
                Section.CONTEXT, context, "told to every agent", f"{DIRECTORY}/CONTEXT.md", ref="context"
            )
        self._file(Section.ISSUE, record, "the issue", f"{DIRECTORY}/ISSUE.md")
        self._refs(record)
        self._family()
        self._comments()
        if self.agent:
            self._of_agent(self.agent)
        self._recalled(query_of_issue(self.issue))

    # -- what the issue points at

    def _refs(self, record: Record) -> None:
        first = [self._named(ref, Section.REFS, "context ref of the issue") for ref in _refs_of(record)]
        for one in filter(None, first):
            for ref in _refs_of(one):
                self._named(ref, Section.REFS, f"context ref of {one.kind}:{one.id}")

    def _family(self) -> None:
        if self.issue.parent:
            self._named(f"issue:{self.issue.parent}", Section.FAMILY, "parent")
        for blocker in self.issue.blocked_by:
            if self._named(f"issue:{blocker}", Section.FAMILY, "blocked by it"):
                self._runs(blocker, Section.FAMILY, "how what it was blocked by ended", 1)

    def _named(self, ref: str, section: Section, reason: str) -> Record | None:
        """The record that a reference names, told or left out with the reason."""
        try:
            record = self.reader.resolve(ref)
        except GitmemError as error:
            self.left_out.append(
                LeftOut(ref, "", 0, f"{reason}: {error.message}", error.hint or "correct the reference")
            )
            return None
        return record if self._told(record, section, reason) else None

    def _told(self, record: Record, section: Section, reason: str) -> bool:
        """True where the actor may read the record, which then is among the pieces."""
        decision = self.gate.decision(record)
        ref = f"{record.kind}:{record.id}"
        if not decision.allowed:
            self.left_out.append(LeftOut(ref, "", 0, f"{reason}: {decision.reason}", "ask who may read it"))
        elif ref not in self._seen:
            if record.kind is Kind.SKILL:
                self._skill(Section.ATTACHED, record, reason)
            else:
                self._file(section, record, reason, _place(record))
        return decision.allowed

    # -- what was said

    def _comments(self) -> None:
        """Newest first: they are what is cut last."""
        comments = self.reader.comments(self.issue.id)
        self.older_comments = max(0, len(comments) - COMMENTS_MAX)
        for comment in reversed(comments[-COMMENTS_MAX:]):
            record = self.reader.record(Kind.COMMENT, comment.path)
            if self.gate.allows(record):
                self._add(
                    Section.COMMENTS,
                    record,
                    comment.kind,
                    "COMMENTS.md",
                    comment.body,
                    overhead=COMMENT_OVERHEAD,
                )

    # -- what belongs to the agent

    def _of_agent(self, agent: Agent) -> None:
        record = self.reader.record(Kind.AGENT, agent.path)
        if agent.instructions.strip():
            self._add(
                Section.INSTRUCTIONS,
                record,
                "the agent's instructions",
                f"{DIRECTORY}/BRIEF.md",
                agent.instructions,
            )
        for note in self._own_memory(agent):
            name = note.id.partition("/")[2]
            self._file(Section.MEMORY, note, "the agent's own memory", f"{DIRECTORY}/memory/{name}.md")
        for name in agent.skills:
            self._named(
                name if parse_ref(name) else f"skill:{name}",
                Section.ATTACHED,
                f"attached to agent:{agent.name}",
            )

    def _own_memory(self, agent: Agent) -> list[Record]:
        """Its notes that hold, the newest first."""
        notes = [r for r in self.reader.records(Kind.KNOWLEDGE) if r.id.startswith(f"agent-{agent.name}/")]
        held = [
            note for note in self.gate.allowed(notes) if knowledge_of(note).status in {"active", "candidate"}
        ]
        return sorted(held, key=lambda note: text(note.fields.get("valid_from")) or "", reverse=True)

    # -- what may help

    def _recalled(self, query: Query) -> None:
        for one in self._recall(query, Kind.SKILL, RECALLED_MAX):
            self._skill(Section.RECALLED_SKILLS, one.record, _because(one))
        for one in self._recall(query, Kind.KNOWLEDGE, RECALLED_MAX):
            self._file(Section.RECALLED_KNOWLEDGE, one.record, _because(one), _place(one.record))
        self._runs(self.issue.id, Section.EXPERIENCE, "earlier run on this issue", EARLIER_RUNS_MAX)
        for one in self._recall(query_of_beginning(self.issue), Kind.ISSUE, SIMILAR_ISSUES_MAX, quick=True):
            self._runs(one.record.id, Section.EXPERIENCE, f"run on the similar {one.ref}", 1)

    def _recall(self, query: Query, kind: Kind, limit: int, *, quick: bool = False) -> list[Recalled]:
        without = {*self._seen, f"issue:{self.issue.id}"}
        return recall(
            self.reader,
            self.gate,
            query,
            kinds=[kind],
            limit=limit,
            now=self.now,
            without=without,
            quick=quick,
        )

    def _runs(self, issue: str, section: Section, reason: str, limit: int) -> None:
        for run in self.reader.runs(issue=issue, limit=limit):
            record = self.reader.record(Kind.RUN, run.path)
            if self.gate.allows(record):
                self._file(section, record, f"{reason}: {run.outcome}", _place(record))

    # -- pieces

    def _file(
        self, section: Section, record: Record, reason: str, place: str, ref: str | None = None
    ) -> None:
        data = self.reader.data(record.path).decode("utf-8", "replace")
        self._add(section, record, reason, place, data, ref=ref)

    def _skill(self, section: Section, record: Record, reason: str) -> None:
        skill = skill_of(record)
        told = f"{skill.name}: {' '.join(skill.description.split())}"
        self._add(section, record, f"{reason} ({skill.status})", f"skills/{skill.name}", told)

    def _add(
        self,
        section: Section,
        record: Record,
        reason: str,
        place: str,
        told: str,
        *,
        ref: str | None = None,
        overhead: int = 0,
    ) -> None:
        ref = ref or f"{record.kind}:{record.id}"
        if ref in self._seen:
            return
        self._seen.add(ref)
        item = self.gate.item(record)
        self.pieces.append(
            Piece(
                section,
                ref,
                record.path,
                record.blob,
                place,
                reason,
                told,
                title=text(record.fields.get("title")) or "",
                author=item.creator,
                created=text(record.fields.get("created")),
                level=item.level,
                overhead=overhead,
            )
        )


def _refs_of(record: Record) -> Iterable[str]:
    """What a record points at as its context: an issue's context_refs, what a note is about."""
    if record.kind is Kind.ISSUE:
        return issue_of(record).context_refs
    if record.kind is Kind.KNOWLEDGE:
        return [ref for ref in texts(record.fields.get("about")) if parse_ref(ref)]
    return ()


def _place(record: Record) -> str:
    if record.kind is Kind.KNOWLEDGE:
        return f"{DIRECTORY}/knowledge/{record.id}.md"
    return f"{DIRECTORY}/related/{record.kind}-{record.id}.md"


def _because(one: Recalled) -> str:
    return f"recalled, {one.score:.2f}: {'; '.join(one.why)}"


# What a run moves itself, what is filled in when a file is first seen, and what asks for no other work.
_BOOKKEEPING = frozenset({"id", "status", "priority", "assignee", "created", "created_by"})


def digest(record: Record) -> str:
    """A fingerprint of what an issue asks for: title, body, criteria, references; `null` is absent."""
    fields = {key: value for key, value in record.fields.items() if key not in _BOOKKEEPING and value}
    said = json.dumps([fields, record.body], sort_keys=True, default=str)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
