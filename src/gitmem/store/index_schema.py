"""The tables of the index, and opening the file that holds them.

One row of `doc` is one file in one of two layers: as committed (`working` 0) or as it lies
uncommitted in the work tree (`working` 1). `live` marks the rows that readers see: at each
path the working copy hides the committed one. Triggers keep the full text tables in step
with the live rows, so that no code can forget to.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Raise it with every change to the tables or to what goes into their columns.
VERSION = 2

# Another process holds the write lock longest while it builds the index of a large workspace.
BUSY_WAIT_S = 60.0

SEARCHED = "('issue', 'comment', 'run', 'skill', 'knowledge')"

# `tag` lets a search look only at rows of some kinds, however common its words are elsewhere.
_TEXTS = "name, asks, description, body, head_parts, body_parts, tag"
_GRAMS = "name, asks, description, body"

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE overlay (path TEXT PRIMARY KEY, seen TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE doc (
    n           INTEGER PRIMARY KEY,
    path        TEXT    NOT NULL,
    working     INTEGER NOT NULL,
    live        INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    introduced  TEXT,              -- time and commit that a derived id comes from; NULL: the file's own id
    blob        TEXT    NOT NULL,
    fields      TEXT    NOT NULL,  -- JSON
    problems    TEXT    NOT NULL,  -- JSON, '' where there are none
    seal        INTEGER NOT NULL,  -- checksum of what a record is made of
    name        TEXT    NOT NULL,
    asks        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    head_parts  TEXT    NOT NULL,  -- of name, asks and description
    body_parts  TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    rank        INTEGER NOT NULL,
    who         TEXT    NOT NULL,
    created     TEXT    NOT NULL,
    labels      TEXT    NOT NULL,
    issue       TEXT    NOT NULL,
    task        TEXT    NOT NULL,
    tag         TEXT    GENERATED ALWAYS AS ('kind' || kind) VIRTUAL,
    UNIQUE (path, working)
);

CREATE INDEX doc_order ON doc (kind, rank, created, id, status, who) WHERE live;
CREATE INDEX doc_id ON doc (id, kind) WHERE live;
CREATE INDEX doc_issue ON doc (issue, kind, created) WHERE live AND issue != '';
CREATE INDEX doc_blob ON doc (blob);
CREATE INDEX doc_broken ON doc (path) WHERE live AND problems != '';
CREATE INDEX doc_derived ON doc (path) WHERE introduced IS NOT NULL;
"""

_FULL_TEXT = f"""
CREATE VIRTUAL TABLE words USING fts5({_TEXTS}, content='doc', content_rowid='n',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE grams USING fts5({_GRAMS}, content='doc', content_rowid='n',
    tokenize='trigram', detail=none);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
"""


_TABLES_OF_TEXT = {"words": _TEXTS, "grams": _GRAMS}


def _trigger(name: str, event: str, when: str, row: str, *, add: bool) -> str:
    steps = []
    for table, columns in _TABLES_OF_TEXT.items():
        command, value = ("", "") if add else (f"{table}, ", "'delete', ")
        values = ", ".join(f"{row}.{column}" for column in columns.split(", "))
        steps.append(f"INSERT INTO {table} ({command}rowid, {columns}) VALUES ({value}{row}.n, {values});")
    condition = f"{when} AND {row}.kind IN {SEARCHED}"
    return f"CREATE TRIGGER {name} AFTER {event} ON doc WHEN {condition} BEGIN {' '.join(steps)} END"


_TRIGGERS = {
    "doc_added": _trigger("doc_added", "INSERT", "new.live", "new", add=True),
    "doc_removed": _trigger("doc_removed", "DELETE", "old.live", "old", add=False),
    "doc_shown": _trigger("doc_shown", "UPDATE OF live", "new.live AND NOT old.live", "new", add=True),
    "doc_hidden": _trigger("doc_hidden", "UPDATE OF live", "old.live AND NOT new.live", "old", add=False),
}


@contextmanager
def in_bulk(db: sqlite3.Connection) -> Iterator[None]:
    """While many rows enter the empty table `doc`: full text row by row takes four times as long."""
    for name in _TRIGGERS:
        db.execute(f"DROP TRIGGER IF EXISTS {name}")
    yield
    for table, columns in _TABLES_OF_TEXT.items():
        chosen = f"SELECT n, {columns} FROM doc WHERE live AND kind IN {SEARCHED}"
        db.execute(f"INSERT INTO {table} (rowid, {columns}) {chosen}")
    for statement in _TRIGGERS.values():
        db.execute(statement)


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the index at `path`, or one in memory where it is None.

    Raises sqlite3.DatabaseError where the file cannot be opened or is no database.
    """
    if path is None:
        return _with_functions(sqlite3.connect(":memory:", isolation_level=None))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise sqlite3.OperationalError(f"cannot make {path.parent}: {error.strerror}") from error
    db = sqlite3.connect(path, timeout=BUSY_WAIT_S, isolation_level=None)
    try:
        # A reader never waits for a writer. A commit that a power cut takes back is built again.
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return _with_functions(db)


def _with_functions(db: sqlite3.Connection) -> sqlite3.Connection:
    """SQLite's own `lower` knows ASCII only."""
    db.create_function("casefold", 1, str.casefold, deterministic=True)
    return db


def is_ours(db: sqlite3.Connection) -> bool:
    """True where the tables are of this version."""
    return bool(db.execute("PRAGMA user_version").fetchone()[0] == VERSION)


def create(db: sqlite3.Connection) -> None:
    """Make the tables anew, inside the caller's transaction; whatever another version left goes."""
    old = db.execute("SELECT type, name FROM sqlite_master WHERE sql LIKE 'CREATE %'").fetchall()
    for kind in ("trigger", "table"):
        for name in sorted((name for type_, name in old if type_ == kind), key=_virtual_first):
            db.execute(f'DROP {kind} IF EXISTS "{name}"')
    for script in (_TABLES, _FULL_TEXT):
        for statement in script.split(";\n"):
            if statement.strip():
                db.execute(statement)
    for trigger in _TRIGGERS.values():
        db.execute(trigger)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _virtual_first(name: str) -> tuple[int, str]:
    """Order for dropping: a virtual table takes its shadow tables along."""
    return ("_" in name, name)


def meta(db: sqlite3.Connection, key: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def set_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
