"""Bringing the index up to date: with the tip of the branch, then with the work tree.

Everything here runs inside the caller's write transaction. The result depends on the tip and
the working files alone, never on the way the index got there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitmem.core.errors import GitError
from gitmem.core.record import Kind
from gitmem.store import index_rows
from gitmem.store.git import SUBMODULE, SYMLINK
from gitmem.store.index_rows import Parsed, Place
from gitmem.store.index_schema import in_bulk, meta, set_meta
from gitmem.store.index_state import basis, indexed_commit, key_of, shown_files
from gitmem.store.introductions import introductions
from gitmem.store.overlay import LINK, WorkingFile, record_kind

if TYPE_CHECKING:
    from gitmem.store.workspace import Workspace

# Told how many files of how many have been read.
Progress = Callable[[int, int], None]
_PROGRESS_EVERY = 200


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    kind: Kind
    blob: str
    is_link: bool = False


@dataclass(slots=True)
class _Plan:
    """What leaves and what enters the committed layer."""

    remove: list[str] = field(default_factory=list)
    add: list[_Entry] = field(default_factory=list)
    everything: bool = False


def update(
    db: sqlite3.Connection,
    workspace: Workspace,
    tip: str,
    working: Mapping[str, WorkingFile],
    progress: Progress | None,
) -> None:
    """Make the index show commit `tip` under the uncommitted files `working`."""
    if meta(db, "basis") != basis(workspace):
        _forget(db, workspace)
    before = indexed_commit(db)
    if before != tip:
        plan = _plan(db, workspace, before, tip)
        with in_bulk(db) if plan.everything else nullcontext():
            _committed_layer(db, workspace, plan, progress)
        _derive_ids(db, workspace, None if plan.everything else before, tip)
        set_meta(db, "commit", tip)
    _working_layer(db, workspace, working)


def _forget(db: sqlite3.Connection, workspace: Workspace) -> None:
    for table in ("doc", "overlay", "meta"):
        db.execute(f"DELETE FROM {table}")
    set_meta(db, "basis", basis(workspace))


# The committed layer


def _plan(db: sqlite3.Connection, workspace: Workspace, before: str | None, tip: str) -> _Plan:
    if before is not None:
        try:
            return _difference(workspace, before, tip)
        except GitError:  # the indexed commit was rewritten away and collected
            _forget(db, workspace)
    plan = _Plan(everything=True)
    for entry in workspace.git.ls_tree(tip):
        _enter(plan, entry.path, entry.oid, entry.mode)
    return plan


def _difference(workspace: Workspace, before: str, tip: str) -> _Plan:
    plan = _Plan()
    for change in workspace.git.diff_tree(before, tip):
        if record_kind(change.path) is None:
            continue
        plan.remove.append(change.path)
        if change.new is not None and change.mode is not None:
            _enter(plan, change.path, change.new, change.mode)
    return plan


def _enter(plan: _Plan, path: str, blob: str, mode: str) -> None:
    kind = record_kind(path)
    if kind is not None and mode != SUBMODULE:
        plan.add.append(_Entry(path, kind, blob, mode == SYMLINK))


def _committed_layer(
    db: sqlite3.Connection, workspace: Workspace, plan: _Plan, progress: Progress | None
) -> None:
    known = {} if plan.everything else {entry.path: _known(db, entry) for entry in plan.add}
    db.executemany(
        "DELETE FROM doc WHERE path = ? AND NOT working", ((key_of(path),) for path in plan.remove)
    )
    hidden = shown_files(db)
    for entry, blob, parsed in _parsed(workspace, plan.add, known, progress):
        key = key_of(entry.path)
        place = Place(key, entry.kind, blob, working=False, live=key not in hidden)
        own = index_rows.own_id(entry.kind, key, parsed)
        db.execute(index_rows.INSERT, index_rows.row(place, parsed, own or "", None if own else ""))


def _parsed(
    workspace: Workspace,
    entries: Iterable[_Entry],
    known: Mapping[str, Parsed | None],
    progress: Progress | None,
) -> Iterator[tuple[_Entry, str, Parsed]]:
    """Each file with its blob and what it says; git is asked only for bytes that were never read before."""
    limit = workspace.config.limit("file_bytes")
    unread = []
    for entry in entries:
        if key_of(entry.path) != entry.path:
            yield entry, f"misnamed:{entry.blob}", _misnamed(entry.path)
        elif entry.is_link:
            yield entry, f"{LINK}{entry.blob}", index_rows.link(entry.path)
        elif (before := known.get(entry.path)) is not None:
            yield entry, entry.blob, before
        else:
            unread.append(entry)
    blobs = workspace.git.blobs(entry.blob for entry in unread)
    for done, (entry, (blob, data)) in enumerate(zip(unread, blobs, strict=True), 1):
        yield entry, blob, index_rows.parse(entry.path, data, limit)
        if progress is not None and (done % _PROGRESS_EVERY == 0 or done == len(unread)):
            progress(done, len(unread))


def _known(db: sqlite3.Connection, entry: _Entry) -> Parsed | None:
    """What the same bytes said before, in either layer, at any path. Links have no plain blob id here."""
    found = db.execute(
        "SELECT fields, body, problems FROM doc WHERE blob = ? AND kind = ?", (entry.blob, entry.kind)
    ).fetchone()
    return index_rows.stored(entry.path, *found) if found else None


def _misnamed(path: str) -> Parsed:
    message = "the name of this file is not UTF-8"
    return index_rows.unreadable(key_of(path), "not-utf8-name", message, "rename the file")


# Derived ids


def _derive_ids(db: sqlite3.Connection, workspace: Workspace, since: str | None, tip: str) -> None:
    """Give an id to committed files without one; `since` is the commit that the rest is right for."""
    rows = db.execute(
        "SELECT path, introduced FROM doc WHERE introduced IS NOT NULL AND NOT working"
    ).fetchall()
    if not rows:
        return
    found = introductions(workspace.git, dict(rows), since, tip)
    db.executemany(
        "UPDATE doc SET id = ?, introduced = ? WHERE path = ? AND NOT working",
        ((index_rows.derive(workspace.config.id, path, told), told, path) for path, told in found.items()),
    )


# The working layer


def _working_layer(db: sqlite3.Connection, workspace: Workspace, working: Mapping[str, WorkingFile]) -> None:
    before = shown_files(db)
    now = {key_of(path): (path, file) for path, file in working.items()}
    for key in sorted({*before, *now}):
        _reconcile(db, workspace, key, now.get(key))
    db.execute("DELETE FROM overlay")
    db.executemany("INSERT INTO overlay VALUES (?, ?)", ((key, file.seen) for key, (_, file) in now.items()))


def _reconcile(
    db: sqlite3.Connection, workspace: Workspace, key: str, found: tuple[str, WorkingFile] | None
) -> None:
    """Let one path show its working file, or the committed one where the two are the same."""
    committed, shown = _layer(db, key, working=False), _layer(db, key, working=True)
    differs = found is not None and not (committed and committed.blob == found[1].seen)
    if committed is not None and committed.live == differs:
        db.execute("UPDATE doc SET live = ? WHERE path = ? AND NOT working", (int(not differs), key))
    origin = committed.introduced if committed and committed.introduced else index_rows.UNCOMMITTED
    if found is None or not differs or found[1].is_gone:
        db.execute("DELETE FROM doc WHERE path = ? AND working", (key,))
    elif shown is None or shown.blob != found[1].seen or shown.introduced not in {None, origin}:
        _show(db, workspace, *found, origin)


@dataclass(frozen=True, slots=True)
class _Layer:
    live: bool
    blob: str
    introduced: str | None


def _layer(db: sqlite3.Connection, key: str, *, working: bool) -> _Layer | None:
    asked = "SELECT live, blob, introduced FROM doc WHERE path = ? AND working = ?"
    found = db.execute(asked, (key, int(working))).fetchone()
    return _Layer(bool(found[0]), found[1], found[2]) if found else None


def _show(db: sqlite3.Connection, workspace: Workspace, path: str, file: WorkingFile, origin: str) -> None:
    """Put the working file's row in, in the place of an older one."""
    kind, key = record_kind(path), key_of(path)
    assert kind is not None
    parsed = _read_working(db, workspace, path, kind, file)
    db.execute("DELETE FROM doc WHERE path = ? AND working", (key,))
    own = index_rows.own_id(kind, key, parsed)
    id_ = own or index_rows.derive(workspace.config.id, key, origin)
    place = Place(key, kind, file.seen, working=True, live=True)
    db.execute(index_rows.INSERT, index_rows.row(place, parsed, id_, None if own else origin))


def _read_working(
    db: sqlite3.Connection, workspace: Workspace, path: str, kind: Kind, file: WorkingFile
) -> Parsed:
    if key_of(path) != path:
        return _misnamed(path)
    if file.is_link:
        return index_rows.link(path)
    if file.data is None:
        message = "the file cannot be read"
        return index_rows.unreadable(path, "unreadable", message, "make it readable for you")
    known = _known(db, _Entry(path, kind, file.seen))
    return known or index_rows.parse(path, file.data, workspace.config.limit("file_bytes"))
