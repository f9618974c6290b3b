"""Mending what needs no judgement: missing quotes, and what an issue written by hand leaves out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from gitmem.core.clock import stamp
from gitmem.core.ids import Actor, Ref
from gitmem.core.record import Kind, Record, Severity
from gitmem.ops.check_files import is_below
from gitmem.ops.identity import member_for
from gitmem.store import document, schema
from gitmem.store.change import Change, Committed
from gitmem.store.git import CommitInfo
from gitmem.store.introductions import introductions
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

# What every issue carries, so that two people who fill in keys touch different lines.
COMMON: Mapping[str, Any] = {
    "status": "todo",
    "priority": "none",
    "assignee": None,
    "labels": [],
    "parent": None,
    "blocked_by": [],
    "context_refs": [],
    "acceptance_criteria": [],
    "repo": None,
    "touches": [],
    "project": None,
    "sensitivity": "internal",
    "allowed": [],
}
# An issue without one of these was written by hand.
OWED = ("id", "created", "created_by")

NO_TRACE = "0" * 32  # of what no command asked for

_UNQUOTED = frozenset({"unquoted-colon", "yaml-syntax"})
_MENDABLE = _UNQUOTED | {"double-id"}  # which leaves the file itself readable
_ACTOR = re.compile(r"^Gitmem-Actor: (\S+)$", re.MULTILINE)
_COMMITS_AT_ONCE = 500  # so many ids fit on a command line


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was mended, and the commit."""

    paths: tuple[str, ...]
    committed: Committed


def fix(
    workspace: Workspace,
    paths: Sequence[str] = (),
    *,
    actor: Actor,
    now: datetime,
    trace: str = NO_TRACE,
    reader: Reader | None = None,
) -> Fixed | None:
    """Mend what can be mended safely, as one commit; None where there is nothing of that kind.

    A value that is no YAML without quotes gets them. An issue that was written by hand gets the
    id by which it is known already, when and by whom it came in, and the common keys. What the
    person wrote stays as it is. With `paths`, only files there.
    """
    if reader is None:
        with Reader(workspace) as own:
            return fix(workspace, paths, actor=actor, now=now, trace=trace, reader=own)
    chosen = [record for record in _candidates(reader) if is_below(record.path, paths)]
    origins = _origins(workspace, reader, [r.path for r in chosen if r.kind is Kind.ISSUE], actor, now)
    mended = []
    change = Change(workspace, actor=actor, action="check.fix", now=now, trace=trace)
    for record in chosen:
        mend = _mend(record, origins.get(record.path, {}))
        if _helps(workspace, reader, record, mend):
            change.edit(record.path, mend)
            mended.append(record)
    if not mended:
        return None
    refs = [Ref(Kind.ISSUE, record.id) for record in mended if record.kind is Kind.ISSUE]
    what = mended[0].path if len(mended) == 1 else f"{len(mended)} files"
    committed = change.commit(f"check: mend {what}", refs=refs)
    return Fixed(committed.paths, committed) if committed.paths else None


def _candidates(reader: Reader) -> Iterator[Record]:
    errors = [problem for problem in reader.problems() if problem.severity is Severity.ERROR]
    unquoted = {problem.path for problem in errors if problem.code in _UNQUOTED}
    hopeless = {problem.path for problem in errors if problem.code not in _MENDABLE}
    for kind in Kind:
        for record in reader.records(kind):
            if record.path not in hopeless and (record.path in unquoted or _owes(kind, record.fields)):
                yield record


def _owes(kind: Kind, fields: Mapping[str, Any]) -> bool:
    return kind is Kind.ISSUE and any(fields.get(key) is None for key in OWED)


def _mend(record: Record, origin: Mapping[str, str]) -> Callable[[bytes], bytes]:
    """The pure change of one file's bytes."""
    path = record.path

    def mend(data: bytes) -> bytes:
        data = document.repaired(data, path) or data
        parsed = document.parse(data, path)
        if parsed.is_broken or not _owes(record.kind, parsed.fields):
            return data
        owed = {"id": record.id, **origin}
        missing = {key: value for key, value in owed.items() if parsed.fields.get(key) is None}
        common = {key: value for key, value in COMMON.items() if key not in parsed.fields}
        return document.edit(data, path, {**missing, **common})

    return mend


def _helps(workspace: Workspace, reader: Reader, record: Record, mend: Callable[[bytes], bytes]) -> bool:
    """True where the bytes that the commit will start from change, and bring no error to the branch."""
    entry = workspace.git.entry(reader.commit, record.path)
    before = workspace.git.blob(entry.oid) if entry else reader.data(record.path)
    after = mend(before)
    return after != before and _errors(record, after) <= (_errors(record, before) if entry else set())


def _errors(record: Record, data: bytes) -> set[tuple[str, str]]:
    parsed = document.parse(data, record.path)
    found = [*parsed.problems, *schema.problems(record.kind, parsed, record.path)]
    return {(problem.code, problem.message) for problem in found if problem.severity is Severity.ERROR}


def _origins(
    workspace: Workspace, reader: Reader, paths: Collection[str], actor: Actor, now: datetime
) -> dict[str, dict[str, str]]:
    """`created` and `created_by` of each path: of the commit that brought it, else of this moment."""
    brought = introductions(workspace.git, dict.fromkeys(paths, ""), None, reader.commit) if paths else {}
    commits = {path: told.rpartition(" ")[2] for path, told in brought.items() if told}
    members = reader.members()
    known = {commit.oid: commit for commit in _commits(workspace, sorted(set(commits.values())))}
    found = {}
    for path in paths:
        commit = known.get(commits.get(path, ""))
        created = commit.authored if commit else stamp(now)
        said = _ACTOR.search(commit.message) if commit else None
        author = said[1] if said else str(member_for(commit.author, members) if commit else actor)
        found[path] = {"created": created, "created_by": author}
    return found


def _commits(workspace: Workspace, oids: Sequence[str]) -> Iterator[CommitInfo]:
    rest = iter(oids)
    while some := list(islice(rest, _COMMITS_AT_ONCE)):
        yield from workspace.git.log("--no-walk=unsorted", *some)
