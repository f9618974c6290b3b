"""Reading as somebody: all of it for the person at the machine, what the gate lets through for `--as`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from gitmem.core.errors import GitmemError, NotPermittedError
from gitmem.core.record import Kind, Record

if TYPE_CHECKING:
    from gitmem.core.ids import Ref
    from gitmem.core.states import IssueStatus
    from gitmem.memory.access import Gate
    from gitmem.store.reader import Reader


class HasPath(Protocol):
    @property
    def path(self) -> str: ...


T = TypeVar("T", bound=HasPath)


class View:
    """A reader behind the one gate; `gate` is None for the person who owns the clone anyway."""

    def __init__(self, reader: Reader, gate: Gate | None) -> None:
        self.reader = reader
        self.gate = gate

    def keep(self, kind: Kind, items: Sequence[T], limit: int | None = None) -> list[T]:
        """Those of `items`, records of one kind, that may be read, the first `limit` of them."""
        if self.gate is not None:
            allowed = {record.path for record in self.gate.allowed(self.reader.records(kind))}
            items = [item for item in items if item.path in allowed]
        return list(items[:limit])

    def count_issues(self, statuses: Collection[IssueStatus]) -> int:
        """How many issues with one of the statuses may be read."""
        if self.gate is None:
            return self.reader.count_issues(statuses)
        return len(self.keep(Kind.ISSUE, self.reader.issues(statuses=statuses)))

    def within(self, limit: int | None) -> int | None:
        """The limit for a query that `keep` filters afterwards."""
        return limit if self.gate is None else None

    def record(self, text: str, kind: Kind | None = None) -> Record:
        """The record that `text` names. Raises NotPermittedError, NotFoundError, AmbiguousError."""
        reader = self.reader
        record = reader.resolve(text) if kind is None else reader.record(kind, text)
        if self.gate is not None:
            decision = self.gate.decision(record)
            if not decision.allowed:
                raise NotPermittedError(f"{self.gate.actor} may not read {text}: {decision.reason}")
        return record

    def may_read_about(self, refs: Iterable[Ref]) -> bool:
        """True where at least one of the records is there and may be read, and none may not."""
        if self.gate is None:
            return True
        decisions = []
        for ref in refs:
            try:
                record = self.reader.resolve(str(ref))
            except GitmemError:
                continue  # an ended task has no file; its issue stands beside it
            decisions.append(self.gate.allows(record))
        return bool(decisions) and all(decisions)
