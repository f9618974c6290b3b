"""The words of a query: which to look for, how rare each is, and what stands in for an unknown one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from gitmem.store.index_rows import parts, spaced

# A long query costs time and noise with each common word: the rarest ones carry its meaning. Of
# words that no record holds a few are enough: a pasted log is full of them.
TERMS_MAX = 32
UNKNOWN_MAX = 8
# A query is at most so long; the rest of it can hardly change what it asks for.
_QUERY_CHARS_MAX = 20_000
_WORD = re.compile(r"\w+")
# A shorter word is as near to too many others.
_NEAR_CHARS_MIN = 4
_NEAR_MAX = 4

_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being between both but by
    can could did do does doing don down during each few for from further had has have having he her here hers
    him his how i if in into is it its itself just like me more most my need needs no nor not now of off on
    once only or other our ours out over own please same she should so some such than that the their theirs
    them then there these they this those through to too under until up us use used using very want was we
    were what when where which while who whom why will with would you your yours
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the query.

    `tokens` are what to look for in its place: itself, or near words where no record holds it
    (`exact` is False), or nothing. `frequency` is the number of records that hold one.
    """

    word: str
    tokens: tuple[str, ...]
    frequency: int
    exact: bool = True


def terms_of(db: sqlite3.Connection, query: str, *, unknown_too: bool = True) -> list[Term]:
    """The words of `query` that tell most: the rarest known ones, and the first unknown ones.

    Without `unknown_too` no near word is looked for in the place of one that no record holds.
    """
    stems = _stems(db, _words(query))
    firsts = {stem: word for word, stem in reversed(stems.items())}
    frequency = {stem: _frequency(db, stem) for stem in firsts}
    unknown = [stem for stem in dict.fromkeys(stems.values()) if not frequency[stem]]
    unknown = unknown[:UNKNOWN_MAX] if unknown_too else []
    known = sorted((stem for stem in firsts if frequency[stem]), key=lambda stem: (frequency[stem], stem))
    return [
        *(Term(firsts[stem], (firsts[stem],), frequency[stem]) for stem in known[: TERMS_MAX - len(unknown)]),
        *(_near(db, firsts[stem], stem) for stem in unknown),
    ]


def _words(query: str) -> list[str]:
    """Every word, and part of a word, to look for; stop words only where there is nothing else."""
    query = query[:_QUERY_CHARS_MAX]
    plain = f"{spaced(query)} {parts(query)}".replace("_", " ").lower()
    words = dict.fromkeys(_WORD.findall(plain))
    telling = [word for word in words if word not in STOP_WORDS and not (len(word) == 1 and word.isascii())]
    return telling or list(words)


def _stems(db: sqlite3.Connection, words: Iterable[str]) -> dict[str, str]:
    """Word → the token that the index keeps for it, told by SQLite's own tokenizer, in order."""
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.said USING fts5(word, "
        "tokenize='porter unicode61 remove_diacritics 2')"
    )
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.said_as USING fts5vocab(temp, said, instance)")
    db.execute("DELETE FROM temp.said")
    numbered = dict(enumerate(words, 1))
    db.executemany("INSERT INTO temp.said (rowid, word) VALUES (?, ?)", numbered.items())
    stems: dict[str, str] = {}
    for stem, n in db.execute("SELECT term, doc FROM temp.said_as ORDER BY doc, offset"):
        stems.setdefault(numbered[n], stem)
    return stems


def _frequency(db: sqlite3.Connection, stem: str) -> int:
    found = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (stem,)).fetchone()
    return int(found[0]) if found else 0


def _near(db: sqlite3.Connection, word: str, stem: str) -> Term:
    """The nearest known words with the same first letter: one slip away, two in a long word."""
    if len(stem) < _NEAR_CHARS_MIN or word.isdigit():
        return Term(word, (), 0, exact=False)
    slips = 1 if len(stem) < 8 else 2
    rows = db.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
        (stem[0], stem[0] + "\U0010ffff", len(stem) - slips, len(stem) + slips),
    )
    near = [(found, term, frequency) for term, frequency in rows if (found := distance(stem, term, slips))]
    near.sort(key=lambda item: (item[0], -item[2], item[1]))
    kept = [item for item in near[:_NEAR_MAX] if item[0] == near[0][0]]
    # A stem is looked for by its stem: kept only where that is itself.
    again = _stems(db, [term for _, term, _ in kept])
    tokens = tuple(term for _, term, _ in kept if again.get(term) == term)
    return Term(word, tokens, max((f for _, t, f in kept if t in tokens), default=0), exact=False)


def distance(one: str, other: str, limit: int) -> int | None:
    """Letters added, dropped, changed or swapped with the next between two words; None above `limit`."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, there in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
        before, last = last, row
    return last[-1] if last[-1] <= limit else None
