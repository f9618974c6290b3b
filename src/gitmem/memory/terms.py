"""Text to terms: the words that the index finds, and the stems that it knows them by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gitmem.store.index_rows import parts, spaced

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\bhttps?://", re.IGNORECASE)


def words(text: str) -> list[str]:
    """The words of a text in lower case, then the parts of `camelCase` names and the letter pairs of
    scripts without spaces. An address is no talk of its protocol."""
    plain = _ADDRESS.sub(" ", text)
    return _WORD.findall(f"{spaced(plain)} {parts(plain)}".lower())


def stems(found: Iterable[str]) -> Mapping[str, str]:
    """word → stem, by SQLite's own tokenizer: a millisecond per thousand different words."""
    import sqlite3  # late: 6 ms, and only where something is recalled

    unknown = dict(enumerate(dict.fromkeys(found), 1))
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.execute(
            "CREATE VIRTUAL TABLE said USING fts5(word, tokenize='porter unicode61 remove_diacritics 2')"
        )
        database.execute("CREATE VIRTUAL TABLE said_as USING fts5vocab(said, instance)")
        database.execute("BEGIN")
        database.executemany("INSERT INTO said (rowid, word) VALUES (?, ?)", unknown.items())
        rows = database.execute("SELECT doc, term FROM said_as ORDER BY doc, offset DESC").fetchall()
    finally:
        database.close()
    known = {unknown[doc]: stem for doc, stem in rows}  # of several tokens the first, which comes last
    return {word: known.get(word, word) for word in unknown.values()}
