"""Recall: the skills, notes, issues, comments and runs that fit a question or an issue, and why.

The index gives candidates, the gate takes away what the actor may not read, `fit` judges the rest
by rare words in common. What does not fit is not offered at all: an agent that is given
something for every task stops reading it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gitmem.core.clock import parse_stamp
from gitmem.core.model import Issue, first_heading, knowledge_of, skill_of
from gitmem.core.record import Kind, Record, text, texts
from gitmem.memory.access import Gate
from gitmem.memory.fit import (
    Corpus,
    Fit,
    Part,
    Term,
    Terms,
    fit,
    kin_of,
    most_telling,
    terms_of,
)
from gitmem.memory.terms import stems
from gitmem.store.reader import Reader
from gitmem.store.search import Hit

RECALLABLE = (Kind.SKILL, Kind.KNOWLEDGE, Kind.ISSUE, Kind.COMMENT, Kind.RUN)

CANDIDATES_MAX = 40
QUICK_CANDIDATES_MAX = 12
_BEGINNING_CHARS = 160

# A proven skill goes before one that is on trial; neither is hidden, the difference is said.
STATUS_WORTH = {"active": 1.0, "trial": 0.95, "candidate": 0.9}

BODY_WEIGHT = 0.3

# The part of a typed query that a record must hold, wherever it does.
MENTIONED_MIN = 0.75

# Code spans, file names, paths, versions, error codes: what two reports of one problem share.
_NAMES = re.compile(r"`[^`\n]+`|\b\w+(?:[._/:]\w+)+\b|\b[A-Z][A-Z0-9_]{3,}\b")


@dataclass(frozen=True, slots=True)
class Query:
    """What to recall for. `typed` by a person: a word that is only mentioned counts too."""

    parts: tuple[Part, ...]
    typed: bool = False


def query_of_text(words: str) -> Query:
    return Query((Part("query", words, 1.0),), typed=True)


def query_of_beginning(issue: Issue) -> Query:
    """The title and how the text begins: enough to find issues alike among thousands, and quick."""
    prose, _ = _split_code(issue.body)
    return Query((Part("title", issue.title, 1.0), Part("body", prose[:_BEGINNING_CHARS], 0.5)))


def query_of_issue(issue: Issue) -> Query:
    """The title asks; names of files and the like, labels, prose and code say what it is about."""
    prose, code = _split_code(issue.body)
    criteria = "\n".join(
        criterion.text for criterion in issue.acceptance_criteria if not criterion.is_command
    )
    return Query(
        (
            Part("title", issue.title, 1.0),
            Part("names", " ".join(_NAMES.findall(prose)), 0.7),
            Part("labels", " ".join(issue.labels), 0.6),
            Part("body", f"{prose}\n{criteria}", 0.5),
            Part("code", code, 0.25),
        )
    )


def _split_code(body: str) -> tuple[str, str]:
    """Prose and fenced code of a Markdown text."""
    sides: tuple[list[str], list[str]] = ([], [])
    fenced = False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        else:
            sides[fenced].append(line)
    return "\n".join(sides[0]), "\n".join(sides[1])


@dataclass(frozen=True, slots=True)
class Recalled:
    """A record that fits. `score` is from 0 to 1, more is better; `why` is for people."""

    record: Record
    title: str
    score: float
    why: tuple[str, ...]
    snippet: str

    @property
    def ref(self) -> str:
        return f"{self.record.kind}:{self.record.id}"


def recall(
    reader: Reader,
    gate: Gate,
    query: Query,
    *,
    kinds: Collection[Kind] = RECALLABLE,
    limit: int,
    now: datetime,
    without: Collection[str] = (),
    quick: bool = False,
) -> list[Recalled]:
    """At most `limit` records that fit the query, best first; `without` are refs to leave out.

    `quick` looks at fewer candidates and only for the words themselves: for what is nice to have
    among thousands of records.
    """
    terms = terms_of([query.parts])[0]
    found = _found(
        lambda number: _candidates(reader, terms, kinds, number, snippets=query.typed, kin_too=not quick),
        lambda record: (
            f"{record.kind}:{record.id}" not in without and _in_force(record, now) and gate.allows(record)
        ),
        reader,
        QUICK_CANDIDATES_MAX if quick else CANDIDATES_MAX,
    )
    documents = _documents(found)
    corpus = Corpus(len(documents), Counter(stem for document in documents for stem in document).__getitem__)
    asked = most_telling(terms, corpus)
    judged = []
    for (hit, record), document in zip(found, documents, strict=True):
        result = fit(asked, document, corpus)
        if result.fits or (query.typed and result.mentioned >= MENTIONED_MIN):
            judged.append(_recalled(hit, record, result))
    judged.sort(key=lambda one: (-one.score, one.record.path))
    return judged[:limit]


def _found(
    candidates: Callable[[int], list[Hit]],
    may_be_told: Callable[[Record], bool],
    reader: Reader,
    enough: int,
) -> list[tuple[Hit, Record]]:
    """Enough candidates that may be told: a heap of superseded notes must not hide the one that holds."""
    found: list[tuple[Hit, Record]] = []
    for number in (enough, 5 * enough, 25 * enough):
        hits = candidates(number)
        records = [(hit, reader.record(hit.kind, hit.path)) for hit in hits]
        found = [(hit, record) for hit, record in records if may_be_told(record)]
        if len(found) >= enough // 2 or len(hits) < number:
            break
    return found


def _candidates(
    reader: Reader, terms: Terms, kinds: Collection[Kind], number: int, *, snippets: bool, kin_too: bool
) -> list[Hit]:
    """Hits for the words themselves, then for the kin of what was asked first, each path once.

    Passages are for people who typed a query; a snapshot shows none.
    """
    telling = most_telling(terms, Corpus(0, lambda _: 0)).values()
    top = max((term.weight for term in telling), default=0.0)
    kin = [word for term in telling if term.weight == top for word in kin_of(term.stem).values()]

    def _search(words: list[str]) -> list[Hit]:
        return reader.search(" ".join(words), kinds, number, snippets=snippets, unknown_too=kin_too)

    hits: dict[str, Hit] = {}
    for words in ([term.word for term in telling], kin if kin_too else []):
        found = _search(words) if words else []
        for hit in found:
            known = hits.get(hit.path)
            hits[hit.path] = replace(known, terms=known.terms + hit.terms) if known else hit
    return list(hits.values())


def _in_force(record: Record, now: datetime) -> bool:
    """False for what is kept for history, is in doubt, or does not hold now."""
    if record.kind is Kind.SKILL:
        return skill_of(record).status in STATUS_WORTH
    if record.kind is not Kind.KNOWLEDGE:
        return True
    start = parse_stamp(text(record.fields.get("valid_from")))
    end = parse_stamp(text(record.fields.get("valid_to")))
    holds = (start is None or start <= now) and (end is None or now < end)
    return holds and knowledge_of(record).status in STATUS_WORTH


def _documents(found: Sequence[tuple[Hit, Record]]) -> list[Terms]:
    """What each candidate is about, and which words of the query it mentions beside that."""
    about = terms_of(_parts(record) for _, record in found)
    mentioned = stems(word for hit, _ in found for word in hit.terms)
    return [
        {
            **{mentioned[word]: Term(mentioned[word], word, "body", BODY_WEIGHT) for word in hit.terms},
            **subject,
        }
        for (hit, _), subject in zip(found, about, strict=True)
    ]


def _parts(record: Record) -> list[Part]:
    fields, body = record.fields, record.body
    match record.kind:
        case Kind.SKILL:
            asks = skill_of(record).metadata.get("gitmem-asks", "")
            about = text(fields.get("description")) or ""
            return [Part("name", record.id, 1.0), Part("asks", asks, 1.0), Part("description", about, 0.8)]
        case Kind.KNOWLEDGE:
            name = f"{record.id.partition('/')[2]} {text(fields.get('title')) or first_heading(body) or ''}"
            asks = " ".join((*texts(fields.get("asks")), *texts(fields.get("about"))))
            return [Part("name", name, 1.0), Part("asks", asks, 1.0), Part("text", _beginning(body), 0.8)]
        case Kind.ISSUE:
            title = text(fields.get("title")) or first_heading(body) or ""
            return [Part("title", title, 1.0), Part("labels", " ".join(texts(fields.get("labels"))), 0.6)]
        case _:
            return [Part("text", _beginning(body), 0.8)]


def _beginning(body: str) -> str:
    """The first paragraph that is no heading: what a text is about is said early."""
    paragraphs = [part for part in body.split("\n\n") if part.strip() and not part.lstrip().startswith("#")]
    return paragraphs[0][:600] if paragraphs else ""


def _recalled(hit: Hit, record: Record, result: Fit) -> Recalled:
    status = _status(record)
    score = result.score * STATUS_WORTH.get(status, 1.0)
    return Recalled(record, hit.title, round(score, 3), tuple(_why(result, status)), hit.snippet)


def _status(record: Record) -> str:
    if record.kind is Kind.SKILL:
        return skill_of(record).status
    return knowledge_of(record).status if record.kind is Kind.KNOWLEDGE else "active"


def _why(result: Fit, status: str) -> Iterable[str]:
    """Which words brought it, by where they stand, the most telling first; then what its status says."""
    places: dict[str, list[str]] = {}
    for match in result.matches:
        same = match.asked.stem == match.found.stem
        word = match.found.word if same else f"{match.found.word} (for {match.asked.word})"
        places.setdefault(match.found.part, []).append(word)
    for part, words in places.items():
        yield f"{part}: {', '.join(words[:8])}"
    if status != "active":
        yield f"{status}: not yet proven, weighs {STATUS_WORTH[status]}"
