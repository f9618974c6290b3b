"""The exact set of files that a run sees: ranked, cut to a budget, and said in a manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gitmem.core.clock import stamp
from gitmem.core.errors import GitmemError
from gitmem.core.ids import parse_ref
from gitmem.core.layout import path_problem
from gitmem.core.model import Agent, Issue
from gitmem.core.policy import Level, highest
from gitmem.core.record import Kind, Record, mapping, text
from gitmem.memory.access import Gate
from gitmem.memory.budget import Item, Piece, Section, pack
from gitmem.memory.gather import Gatherer, LeftOut, digest
from gitmem.store.git import EXECUTABLE, FILE, blob_id
from gitmem.store.reader import Reader

# A skill is text with a few scripts; a data set in its folder is not copied into every run.
SKILL_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a run is told. `files` are the whole files by workspace path, also of what is told in part.

    `older_comments` is how many comments found no room, `uncommitted` are the paths whose bytes
    the repository does not hold yet, `digest` is that of the issue, see `changed_since`.
    """

    issue: Issue
    agent: Agent | None
    commit: str
    created: str
    budget: int
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...]
    digest: str
    files: Mapping[str, bytes] = field(repr=False)
    uncommitted: frozenset[str] = frozenset()
    older_comments: int = 0

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.items)

    @property
    def level(self) -> Level:
        """The sensitivity that whatever is made from the snapshot inherits."""
        return highest(item.piece.level for item in self.items)

    def of(self, *sections: Section) -> list[Item]:
        return [item for item in self.items if item.piece.section in sections]

    def manifest(self) -> dict[str, Any]:
        """What was told and why, what was left out and how to get it."""
        return {
            "issue": f"issue:{self.issue.id}",
            "agent": f"agent:{self.agent.name}" if self.agent else None,
            "commit": self.commit,
            "created": self.created,
            "budget": self.budget,
            "tokens": self.tokens,
            "sensitivity": str(self.level),
            "items": [self._entry(item) for item in self.items],
            "left_out": [
                {"ref": one.ref, "path": one.path, "tokens": one.tokens, "reason": one.reason, "how": one.how}
                for one in self.left_out
            ],
        }

    def _entry(self, item: Item) -> dict[str, Any]:
        piece = item.piece
        entry: dict[str, Any] = {
            "ref": piece.ref,
            "section": str(piece.section),
            "path": piece.path,
            "blob": piece.blob,
            "place": piece.place,
            "form": str(item.form),
            "tokens": item.tokens,
            "reason": piece.reason,
        }
        if piece.section is Section.ISSUE:
            entry["digest"] = self.digest
        return entry

    def tree_entries(self, store: Callable[[bytes], str] | None = None) -> list[tuple[str, str, str]]:
        """(path, mode, blob id) of every file, for a tree that pins the snapshot.

        Uncommitted files are no objects yet: `store` writes their bytes and returns the id; without
        it they are left out.
        """
        entries = []
        for path, data in sorted(self.files.items()):
            mode = EXECUTABLE if data.startswith(b"#!") else FILE
            if path not in self.uncommitted:
                entries.append((path, mode, blob_id(data)))
            elif store:
                entries.append((path, mode, store(data)))
        return entries


def assemble(
    reader: Reader, gate: Gate, issue: Issue, agent: Agent | None, budget: int, now: datetime
) -> Snapshot:
    """What `agent` is told for a run on `issue`, within `budget` tokens.

    Raises NotPermittedError where the gate's actor may not read the issue.
    """
    gathered = Gatherer(reader, gate, issue, agent, now)
    gathered.all()
    items, left = pack(gathered.pieces, budget)
    files, refused = _files(reader, items)
    comments = [cost for piece, cost in left if piece.section is Section.COMMENTS]
    older = gathered.older_comments + len(comments)
    return Snapshot(
        issue=issue,
        agent=agent,
        commit=reader.commit,
        created=stamp(now),
        budget=budget,
        items=items,
        left_out=(*gathered.left_out, *_no_room(left), *_of_comments(issue, older, sum(comments)), *refused),
        digest=digest(reader.record(Kind.ISSUE, issue.path)),
        files=files,
        uncommitted=frozenset(path for path in files if path in reader.uncommitted),
        older_comments=older,
    )


def _no_room(left: Iterable[tuple[Piece, int]]) -> Iterator[LeftOut]:
    for piece, cost in left:
        if piece.section is not Section.COMMENTS:
            yield LeftOut(piece.ref, piece.path, cost, f"no room: {piece.reason}", f"gitmem show {piece.ref}")


def _of_comments(issue: Issue, older: int, tokens: int) -> Iterator[LeftOut]:
    """One entry for all of them: a manifest does not grow with the discussion."""
    if older:
        yield LeftOut(
            f"issue:{issue.id}",
            "",
            tokens,
            f"no room: {older} older comments",
            f"gitmem issue view {issue.id}",
        )


def _files(reader: Reader, items: tuple[Item, ...]) -> tuple[dict[str, bytes], list[LeftOut]]:
    """The bytes of all that is told, of a skill its whole folder; and the files that cannot be given."""
    files: dict[str, bytes] = {}
    refused: list[LeftOut] = []
    for item in items:
        piece = item.piece
        if not piece.ref.startswith("skill:"):
            files[piece.path] = reader.data(piece.path)
            continue
        room = SKILL_BYTES_MAX
        for path in reader.files(piece.path.rsplit("/", 1)[0]):
            data = reader.data(path)
            room -= len(data)
            reason = path_problem(path) or (
                f"more than {SKILL_BYTES_MAX} bytes in one skill" if room < 0 else None
            )
            if reason:
                refused.append(LeftOut(piece.ref, path, 0, reason, f"gitmem show {piece.ref}"))
            else:
                files[path] = data
    return files, refused


def changed_since(reader: Reader, manifest: Mapping[str, Any]) -> list[str]:
    """The refs of a manifest's items that say something else now, or are gone.

    Of the issue itself only what it asks for counts: the run moves its status, and a file that
    people dropped gets its id meanwhile.
    """
    items = manifest.get("items")
    entries = [mapping(entry) for entry in items] if isinstance(items, list) else []
    refs = [text(entry.get("ref")) or "" for entry in entries if not _same(reader, entry)]
    return list(dict.fromkeys(refs))


def _same(reader: Reader, entry: Mapping[str, Any]) -> bool:
    record = _now(reader, text(entry.get("ref")) or "", text(entry.get("path")) or "")
    if record is None:
        return False
    said = entry.get("digest")
    return digest(record) == said if said else record.blob == entry.get("blob")


def _now(reader: Reader, ref: str, path: str) -> Record | None:
    """The record by its reference, which survives a move, else by its path."""
    for name in (ref if parse_ref(ref) else "", path):
        try:
            return reader.resolve(name)
        except GitmemError:
            continue
    return None
