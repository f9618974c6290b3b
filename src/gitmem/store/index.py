"""The index: what SQLite knows of the record files, so that a command need not read 10,000 of them.

It is never a truth. It may be deleted, truncated or overwritten at any moment, also while it
is read, or be impossible to write: then it is made again, in memory if need be, and answers
the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from gitmem.core.errors import GitmemError
from gitmem.store import index_schema, overlay
from gitmem.store.index_state import DamagedIndexError, indexed_commit, is_current
from gitmem.store.overlay import WorkingFile

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.store.git_status import Look
    from gitmem.store.index_build import Progress
    from gitmem.store.workspace import Workspace

T = TypeVar("T")


class _Place(StrEnum):
    FILE = "file"
    NEW_FILE = "new file"  # the first one was damaged
    MEMORY = "memory"


# How an unusable file shows itself; the words of some of SQLite's errors are damaged too.
_FAILURES = (sqlite3.Error, UnicodeDecodeError, DamagedIndexError)

# What SQLite says of a file that is not, or not wholly, what was written into it. `SQLITE_ERROR`
# is a missing table: an empty file is a valid database.
_DAMAGED = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_IOERR,  # a short read, where the file was truncated
    }
)


class Index:
    """The index at one commit and one state of the work tree; later changes are not seen."""

    def __init__(
        self,
        workspace: Workspace,
        progress: Progress | None = None,
        uncommitted: frozenset[str] | None = None,
        look: Look | None = None,
    ) -> None:
        self._workspace = workspace
        self._progress = progress
        self._place = _Place.FILE
        self._db: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self.commit = ""
        self.uncommitted = self._seen(look) if uncommitted is None else uncommitted
        self._working = overlay.observe(workspace, self.uncommitted)
        try:
            self.read(lambda _: None)
        except BaseException:
            self.close()
            raise

    def _seen(self, look: Look | None) -> frozenset[str]:
        with closing(overlay.Watch(self._workspace, look)) as watch:
            self._open()  # while git looks at the work tree
            return frozenset(watch.paths())

    def read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """The answer of `ask`, on a new index where the old one turns out to be damaged."""
        while True:
            db = self._db or self._open()
            try:
                if not self.commit:
                    self._bring_up_to_date(db)
                return ask(db)
            except _FAILURES as error:
                self._fall_back(error)

    def close(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def _open(self) -> sqlite3.Connection:
        while self._db is None:
            path = None if self._place is _Place.MEMORY else self._workspace.index_path
            try:
                self._db = index_schema.connect(path)
                self._inode = _inode(path) if path else None
            except (*_FAILURES, OSError) as error:
                self._fall_back(error)
        return self._db

    def _bring_up_to_date(self, db: sqlite3.Connection) -> None:
        workspace, working = self._workspace, self._working
        if not (index_schema.is_ours(db) and is_current(db, workspace, workspace.tip(), working)):
            self._update(db, working)
        # From here on this connection sees one state, whatever other processes write.
        db.execute("BEGIN")
        self.commit = indexed_commit(db) or ""

    def _update(self, db: sqlite3.Connection, working: Mapping[str, WorkingFile]) -> None:
        from gitmem.store import index_build  # late: 20 ms, and most starts find nothing new

        db.execute("BEGIN IMMEDIATE")
        try:
            if not index_schema.is_ours(db):
                index_schema.create(db)
            # Asked again under the lock: another process must not be taken back to an older tip.
            index_build.update(db, self._workspace, self._workspace.tip(), working, self._progress)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _fall_back(self, error: Exception) -> None:
        """From the file to a new file if it is damaged, else to memory; what fails there is a bug of ours."""
        self.commit = ""
        if self._place is _Place.MEMORY or isinstance(error, sqlite3.ProgrammingError):
            self.close()
            raise error
        damaged = self._place is _Place.FILE and _is_damage(error)
        self._place = _Place.NEW_FILE if damaged and self._remove() else _Place.MEMORY
        self.close()

    def _remove(self) -> bool:
        """Remove the damaged file unless another process has already; False where that is not possible."""
        from gitmem.store.lock import exclusive  # late: only on this rare path

        path = self._workspace.index_path
        try:
            with exclusive(path.with_suffix(".lock")):
                # Our connection is still open, so that no new file can have the damaged one's inode.
                damaged = self._inode == _inode(path) if self._db else not _opens(path)
                self.close()
                if damaged:
                    for end in ("-wal", "-shm", ""):
                        path.with_name(path.name + end).unlink(missing_ok=True)
        except (OSError, GitmemError):
            return False
        return True


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _opens(path: Path) -> bool:
    try:
        index_schema.connect(path).close()
    except _FAILURES:
        return False
    return True


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)  # a row that is no UTF-8 has no code
    return code & 0xFF in _DAMAGED
