"""What an index shows, in a form that two indexes can be compared by; and a program that reads one."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

from gitmem.core.record import Kind
from gitmem.store.index import Index
from gitmem.store.index_rows import COLUMNS
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace, find


def files_of(ws: Workspace) -> list[Path]:
    return [path for end in ("", "-wal", "-shm") if (path := Path(f"{ws.index_path}{end}")).exists()]


def remove(ws: Workspace) -> None:
    for path in files_of(ws):
        path.unlink()


def rows(ws: Workspace) -> dict[str, Any]:
    """Everything that readers can see: the rows, and every word at every place."""
    index = Index(ws)
    try:
        return index.read(_dump)
    finally:
        index.close()


def _dump(db: sqlite3.Connection) -> dict[str, Any]:
    paths = dict(db.execute("SELECT n, path FROM doc"))
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)")
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.grams_of USING fts5vocab(main, grams, row)")
    words = db.execute("SELECT term, doc, col, offset FROM temp.places").fetchall()
    grams = db.execute("SELECT term, doc, cnt FROM temp.grams_of ORDER BY term").fetchall()
    columns = ", ".join(column for column in COLUMNS if column != "live")
    return {
        "rows": db.execute(f"SELECT {columns} FROM doc WHERE live ORDER BY path").fetchall(),
        "words": sorted((term, paths[n], column, offset) for term, n, column, offset in words),
        "grams": grams,
    }


def answers(ws: Workspace) -> list[Any]:
    """What a user of the reader is told."""
    with Reader(ws) as reader:
        return [
            reader.commit,
            *(reader.records(kind) for kind in Kind),
            reader.issues(),
            reader.problems(),
            reader.search("login test", [Kind.ISSUE], 5),
        ]


def read() -> None:
    """A process that brings the index of the workspace named in its arguments up to date."""
    with find(Path(sys.argv[1])) as ws, Reader(ws) as reader:
        sys.stdout.write(f"{reader.commit} {len(reader.issues())}\n")
