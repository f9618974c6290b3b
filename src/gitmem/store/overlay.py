"""The record files of the work tree that are not as committed: edited, new or deleted.

`git status` names them and their content is hashed each time: they are few, and a stored
time stamp cannot tell two quick writes of the same length apart.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.layout import kind_of
from gitmem.core.places import WATCHED
from gitmem.core.record import Kind
from gitmem.store.git import Git, blob_id

if TYPE_CHECKING:
    from gitmem.store.git_status import Look
    from gitmem.store.workspace import Workspace

GONE = "gone"
UNREADABLE = "unreadable"
LINK = "link:"  # before the blob id of a symbolic link's target

# What editors leave beside a file while they write it (dot files are no records anyway).
_TEMPORARY = ("~", ".tmp", ".swp", ".bak")


def record_kind(path: str) -> Kind | None:
    """The kind of record at `path`; None also for what an editor leaves there while it writes."""
    name = path.rpartition("/")[2]
    if name.startswith("#") or name.endswith(_TEMPORARY):
        return None
    return kind_of(path)


class WorkingFile(NamedTuple):
    """One uncommitted file; `data` is None where there is no plain file to read."""

    seen: str  # blob id, GONE, UNREADABLE, or `link:` and the blob id of its target
    data: bytes | None = None

    @property
    def is_gone(self) -> bool:
        return self.seen == GONE

    @property
    def is_link(self) -> bool:
        return self.seen.startswith(LINK)


class Watch:
    """A look at the work tree in two steps, so that git works while the index is opened.

    `look` is one that was begun even before; it is used if it is the one that is needed.
    """

    def __init__(self, workspace: Workspace, look: Look | None = None) -> None:
        self._look: Look | None = None
        places = workspace.checkout
        if places is None:
            _close(look)
            return
        self._git = workspace.git if places == workspace.git.places else Git(places)
        if look is not None and (look.root, look.prefixes) == (str(places.worktree), WATCHED):
            self._look = look
        else:
            _close(look)
            self._look = self._git.look(*WATCHED)

    def paths(self) -> list[str]:
        """Every uncommitted path below the record folders, a skill's own files included."""
        look, self._look = self._look, None
        return self._git.uncommitted(*WATCHED, look=look) if look is not None else []

    def close(self) -> None:
        """End a look that nobody needs any more."""
        _close(self._look)


def _close(look: Look | None) -> None:
    if look is not None:
        look.close()


def observe(workspace: Workspace, paths: Iterable[str]) -> dict[str, WorkingFile]:
    """The record files among `paths` as they lie in the work tree now."""
    root = workspace.root
    if root is None:
        return {}
    found = {path: working_file(root, path) for path in paths if record_kind(path)}
    for path, seen in _in_flight(workspace) if found else ():
        if path in found and found[path].seen == seen:
            del found[path]
    return found


def _in_flight(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """(path, content) of working files that a branch move has not brought to the branch's side yet.

    They are nobody's edits: without this a reader would see the old file as an uncommitted
    revert, for a moment in each of our commits and, after a crash, until somebody writes.
    """
    from gitmem.store import journal  # late: only where something is uncommitted

    exists = journal.journal_path(workspace.git).exists()
    move = journal.read_journal(workspace.git) if exists else None
    if move is None:
        return
    landed = journal.has_landed(workspace.git, move)
    for step in move.steps:
        if step.writes_file:
            yield step.path, (step.file_before if landed else step.file_after) or GONE


def working_file(root: Path, path: str) -> WorkingFile:
    """The file at `path` below `root`; no symbolic link on the way is followed."""
    place = root / path
    try:
        if _behind_link(root, path):
            return WorkingFile(GONE)
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            return WorkingFile(LINK + blob_id(os.fsencode(place.readlink())))
        if not stat.S_ISREG(mode):
            return WorkingFile(GONE)
        data = _read(place)
    except (FileNotFoundError, NotADirectoryError):
        return WorkingFile(GONE)
    except OSError:
        return WorkingFile(UNREADABLE)
    return WorkingFile(blob_id(data), data)


def _behind_link(root: Path, path: str) -> bool:
    place = root
    for part in path.split("/")[:-1]:
        place = place / part
        if place.is_symlink():
            return True
    return False


def _read(place: Path) -> bytes:
    """The bytes of a plain file, and never of what a link was put in its place meanwhile."""
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
        return file.read()
