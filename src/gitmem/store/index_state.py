"""What the index is at, and the records that it gives back: all that a warm start needs."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.core.record import Kind, Problem, Record, Severity
from gitmem.store.index_schema import meta

if TYPE_CHECKING:
    from gitmem.store.overlay import WorkingFile
    from gitmem.store.workspace import Workspace


class DamagedIndexError(Exception):
    """A row that is not what was written: the file was overwritten behind SQLite's back."""


def indexed_commit(db: sqlite3.Connection) -> str | None:
    return meta(db, "commit")


def basis(workspace: Workspace) -> str:
    """What else the rows depend on: derived ids on the workspace's, problems on the limit of size."""
    return f"{workspace.config.id} {workspace.config.limit('file_bytes')}"


def is_current(
    db: sqlite3.Connection, workspace: Workspace, tip: str, working: Mapping[str, WorkingFile]
) -> bool:
    """True where the index shows exactly this commit and these working files."""
    if indexed_commit(db) != tip or meta(db, "basis") != basis(workspace):
        return False
    return shown_files(db) == {key_of(path): file.seen for path, file in working.items()}


def shown_files(db: sqlite3.Connection) -> dict[str, str]:
    return dict(db.execute("SELECT path, seen FROM overlay"))


def key_of(path: str) -> str:
    """The path as SQLite can keep it: bytes that are not UTF-8 are spelt out."""
    return path if path.isascii() else path.encode("utf-8", "backslashreplace").decode()


def seal(*values: str) -> int:
    """SQLite keeps no checksums: this one tells a row that was overwritten from one that was written."""
    return zlib.crc32("\0".join(values).encode("utf-8", "surrogatepass"))


# The columns that make a record, in the order that `to_record` takes them.
RECORD = "kind, id, path, blob, fields, body, working, problems, seal"


def to_record(row: tuple[Any, ...]) -> Record:
    """The record of a row of `RECORD` columns; raises DamagedIndexError."""
    kind, id_, path, blob, fields, body, working, problems, sealed = row
    if seal(kind, path, blob, fields, body, problems) != sealed:
        raise DamagedIndexError(path)
    return Record(Kind(kind), id_, path, blob, json.loads(fields), body, bool(working))


def to_problems(path: str, said: str) -> list[Problem]:
    """The problems of a row."""
    return [
        Problem(path, line, column, Severity(severity), code, message, hint)
        for line, column, severity, code, message, hint in (json.loads(said) if said else ())
    ]
