"""Full text search over the live records: words by their stems, near words, parts of words.

FTS5 ranks by BM25 with the weights below. A word that no record holds is replaced by the
nearest words of the vocabulary, or else looked for inside words. What a hit is worth is for
the caller to say: `coverage` tells how much of the query, by weight, the hit answers.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gitmem.core.record import Kind
from gitmem.store.search_terms import Term as Term
from gitmem.store.search_terms import terms_of as terms_of

# Columns name, asks, description, body (measured for this project on real skills), and parts of
# words in the first three and in the body, which weigh a little less than whole words there.
_WEIGHTS = "20.0, 20.0, 10.0, 1.0, 10.0, 0.7, 0.0"

# A near word or a part of a word says less than the word itself.
_NEAR_WORTH = 0.7
_INSIDE_MAX = 200
_LARGE = 1000
_SNIPPET_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers a query.

    `score` is positive, more is better, comparable within one search only. `terms` are the
    words of the query that it holds (itself, or a near word), `coverage` (0 to 1) their share
    in the weight of all the words asked for, where a rare word weighs more.
    """

    kind: Kind
    id: str
    path: str
    title: str
    score: float
    snippet: str
    terms: tuple[str, ...]
    coverage: float


def search(
    db: sqlite3.Connection,
    terms: Sequence[Term],
    kinds: Collection[Kind],
    limit: int,
    *,
    snippets: bool = True,
) -> list[Hit]:
    """The best `limit` hits among `kinds`, best first; none for a query without a word to look for.

    Without `snippets` a hit has the beginning of its text: finding the best passage takes longest.
    """
    count = db.execute("SELECT count(*) FROM words_docsize").fetchone()[0]
    scores = _by_words(db, _telling(terms, count), kinds, limit)
    matched = {n: set[str]() for n in scores}
    for term in terms:
        if term.tokens:
            for n in _holding(db, term, scores):
                matched[n].add(term.word)
        else:
            for n, score in _inside(db, term.word, kinds, count).items():
                scores[n] = scores.get(n, 0.0) + score
                matched.setdefault(n, set()).add(term.word)
    best = sorted(scores, key=lambda n: (-scores[n], _path(db, n)))[:limit]
    passages = _snippets(db, terms, best) if snippets else {}
    return _hits(db, terms, count, [(n, scores[n], matched[n]) for n in best], passages)


def _telling(terms: Sequence[Term], count: int) -> list[Term]:
    """The terms to rank by: in a large workspace without those that stand in a quarter of all records.

    BM25 gives them next to nothing, and going through all those records takes longer than the rest.
    """
    found = [term for term in terms if term.tokens]
    if count < _LARGE:
        return found
    return [term for term in found if term.frequency * 4 <= count] or found


def _path(db: sqlite3.Connection, n: int) -> str:
    return str(db.execute("SELECT path FROM doc WHERE n = ?", (n,)).fetchone()[0])


def _expression(terms: Iterable[Term]) -> str:
    """An FTS5 query; every token is quoted, so nothing in it is an operator."""
    return " OR ".join(f'"{token}"' for term in terms for token in term.tokens)


def _tags(kinds: Iterable[Kind]) -> str:
    return " OR ".join(f'"kind{kind}"' for kind in sorted(kinds))


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _by_words(
    db: sqlite3.Connection, terms: Sequence[Term], kinds: Collection[Kind], limit: int
) -> dict[int, float]:
    if not terms:
        return {}
    rows = db.execute(
        f"SELECT words.rowid, bm25(words, {_WEIGHTS}) AS score FROM words JOIN doc ON doc.n = words.rowid "
        "WHERE words MATCH ? ORDER BY score, doc.path LIMIT ?",
        (f"tag : ({_tags(kinds)}) AND ({_expression(terms)})", limit),
    )
    return {n: -score for n, score in rows}


def _holding(db: sqlite3.Connection, term: Term, among: Collection[int]) -> list[int]:
    """Which of the rows `among` hold the term."""
    rows = db.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? AND rowid IN ({_marks(among)})",
        (_expression([term]), *among),
    )
    return [n for (n,) in rows]


def _inside(db: sqlite3.Connection, word: str, kinds: Collection[Kind], count: int) -> dict[int, float]:
    """Rows that hold `word` as a part of longer words, with a score on the scale of BM25.

    Trigrams find them; one or two letters, where they are no ASCII, are looked for in every row.
    BM25 approaches inverse document frequency × 2.2 (k1 = 1.2) for a word that stands in a
    heavy column, and about half of that for one mention in a body.
    """
    if len(word) < 3 and word.isascii():
        return {}
    grams = " AND ".join(f'"{word[at : at + 3]}"' for at in range(len(word) - 2))
    having = "n IN (SELECT rowid FROM grams WHERE grams MATCH ?)" if grams else "instr(name || body, ?)"
    rows = db.execute(
        "SELECT n, lower(name || ' ' || asks || ' ' || description), body FROM doc "
        f"WHERE live AND {having} AND kind IN ({_marks(kinds)}) ORDER BY path LIMIT ?",
        (grams or word, *sorted(kinds), _INSIDE_MAX),
    )
    where = {n: word in head for n, head, body in rows if word in head or word in body.lower()}
    weight = _weight(len(where), count) * _NEAR_WORTH
    return {n: weight * (2.0 if in_head else 1.0) for n, in_head in where.items()}


def _weight(frequency: int, count: int) -> float:
    """Inverse document frequency, never negative."""
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def _hits(
    db: sqlite3.Connection,
    terms: Sequence[Term],
    count: int,
    best: Sequence[tuple[int, float, set[str]]],
    passages: Mapping[int, str],
) -> list[Hit]:
    weights = {term.word: _weight(term.frequency, count) for term in terms}
    worth = {term.word: weights[term.word] * (1.0 if term.exact else _NEAR_WORTH) for term in terms}
    total = sum(weights.values()) or 1.0
    hits = []
    for n, score, matched in best:
        kind, id_, path, name, description, body = db.execute(
            "SELECT kind, id, path, name, description, substr(body, 1, 400) FROM doc WHERE n = ?", (n,)
        ).fetchone()
        start = _one_line(body) or _one_line(description)
        untitled = Kind(kind) in {Kind.COMMENT, Kind.RUN}
        title = (start[:80] or id_) if untitled else name
        covered = sum(worth[word] for word in matched) / total
        words = tuple(term.word for term in terms if term.word in matched)
        snippet = passages.get(n) or start[:200]
        hits.append(Hit(Kind(kind), id_, path, title, score, snippet, words, min(1.0, covered)))
    return hits


def _snippets(db: sqlite3.Connection, terms: Sequence[Term], among: Collection[int]) -> Mapping[int, str]:
    """The passage of each body that holds most of the words."""
    expression = _expression(terms)
    if not expression:
        return {}
    rows = db.execute(
        f"SELECT rowid, snippet(words, 3, '', '', '…', {_SNIPPET_TOKENS}) FROM words "
        f"WHERE words MATCH ? AND rowid IN ({_marks(among)})",
        (expression, *among),
    )
    return {n: _one_line(text) for n, text in rows}


def _one_line(text: str) -> str:
    return " ".join(text.split())
