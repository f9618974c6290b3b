"""How well a document fits a query, and why.

The query's words are looked for in the document's name, questions, description and body. A word
weighs what it tells: its inverse document frequency, with a prior, so that the first skill of a
workspace is judged as the thousandth is. Two numbers come out: how much of what was asked is
found, and how much of what the document says of itself was asked; its score is their geometric mean.

A document *fits* if more than one telling word brings it: one rare word in common is a
coincidence, two are seldom one. Measured on 22 pairs of issues about one problem in different
words among 222 skills: all partners fit, and of 36,000 other pairs of texts 14 do, each with a
subject in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from gitmem.memory.terms import stems, words
from gitmem.memory.words import GENERIC, STOP, SYNONYMS

# A synonym or a common beginning (cert, certificate) is worth this part of the word itself.
KIN = 0.6
PREFIX_MIN = 4

# The corpus is taken to be this many documents larger: a generic word stands in a sixth of
# those, any other word in one.
PRIOR_DOCUMENTS = 400
_PRIOR_GENERIC = PRIOR_DOCUMENTS / 6

# Most words of a query that are looked at: of a longer one those that tell most.
QUERY_TERMS_MAX = 32

# Evidence is counted in the weight of one word that was never seen; it must come from several
# telling words and be a part of both texts: a long text meets any document in some words.
TELLING_MIN = 2
FIT_MIN = 0.2

# A short title may have one telling word only: enough where a name or a question says it.
ANSWERED_MIN = 0.9

# Parts of a document that are about itself; the rest is what it says beside that.
SUBJECT_WEIGHT = 0.8


class Part(NamedTuple):
    """A named part of a query or document and how much its words count, from 0 to 1."""

    name: str
    text: str
    weight: float


class Term(NamedTuple):
    """A stem, a word it stood for, where, and the weight of that place."""

    stem: str
    word: str
    part: str
    weight: float


Terms = Mapping[str, Term]


def terms_of(texts: Iterable[Sequence[Part]]) -> list[Terms]:
    """For each text, stem → its weightiest occurrence; stop words and stray digits left out."""
    found = [[(word, part) for part in parts for word in words(part.text) if _tells(word)] for parts in texts]
    stem_of = stems(word for text in found for word, _ in text)
    return [_weightiest(text, stem_of) for text in found]


def _weightiest(found: Iterable[tuple[str, Part]], stem_of: Mapping[str, str]) -> Terms:
    terms: dict[str, Term] = {}
    for word, part in found:
        stem = stem_of[word]
        if stem not in terms or terms[stem].weight < part.weight:
            terms[stem] = Term(stem, word, part.name, part.weight)
    return terms


def _tells(word: str) -> bool:
    return word not in STOP and len(word) > 1 and not (word.isdigit() and len(word) < 3)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of word frequencies: of `size` documents, `holding(stem)` have the stem."""

    size: int
    holding: Callable[[str], int]

    def weight(self, stem: str) -> float:
        """The stem's inverse document frequency, in natural logarithms."""
        prior = _PRIOR_GENERIC if is_generic(stem) else 1
        return max(0.0, math.log((self.size + PRIOR_DOCUMENTS) / (self.holding(stem) + prior)))

    @property
    def unseen(self) -> float:
        """The weight of a word that no document has."""
        return math.log(self.size + PRIOR_DOCUMENTS)


def is_generic(stem: str) -> bool:
    return stem in _known()[0]


def kin_of(stem: str) -> Mapping[str, str]:
    """Stems that issues use for this one, each with a word of it."""
    return _known()[1].get(stem, {})


@cache
def _known() -> tuple[frozenset[str], Mapping[str, Mapping[str, str]]]:
    """The word lists as stems: the generic ones, and to each stem its synonyms."""
    stem_of = stems({*GENERIC, *(word for group in SYNONYMS for word in group)})
    kin: dict[str, dict[str, str]] = {}
    for group in SYNONYMS:
        together = {stem_of[word]: word for word in group}
        for stem in together:
            others = {other: word for other, word in together.items() if other != stem}
            kin.setdefault(stem, {}).update(others)
    return frozenset(stem_of[word] for word in GENERIC), kin


class Match(NamedTuple):
    """A term of the document that a term of the query brings; `gain` is what it is worth."""

    asked: Term
    found: Term
    gain: float

    @property
    def is_generic(self) -> bool:
        return is_generic(self.asked.stem) or is_generic(self.found.stem)


@dataclass(frozen=True, slots=True)
class Fit:
    """`score` is from 0 to 1; `evidence` is counted in words, `telling` are those that are not generic.

    `answered` is the part, from 0 to 1, of what was asked first (of an issue its title) that the
    document is about; `mentioned` counts what stands anywhere in it in full.
    """

    score: float
    evidence: float
    telling: int
    answered: float
    mentioned: float
    matches: tuple[Match, ...]

    @property
    def fits(self) -> bool:
        """True where it should be offered, and not only listed."""
        several = self.telling >= TELLING_MIN and self.evidence * self.score >= FIT_MIN
        return several or self.answered >= ANSWERED_MIN


def most_telling(terms: Terms, corpus: Corpus) -> Terms:
    """At most QUERY_TERMS_MAX of the terms, by place and rarity."""
    ranked = sorted(terms.values(), key=lambda term: (-term.weight * corpus.weight(term.stem), term.stem))
    return {term.stem: term for term in ranked[:QUERY_TERMS_MAX]}


def fit(query: Terms, document: Terms, corpus: Corpus) -> Fit:
    """How well the document fits the query; the query's weightiest part is what was asked first."""
    matches = _matches(query, document, corpus)
    evidence = sum(match.gain for match in matches)
    top = max((term.weight for term in query.values()), default=0.0)
    asked = sum(top * corpus.weight(stem) for stem, term in query.items() if term.weight == top) or 1.0
    first = [match for match in matches if match.asked.weight == top]
    tells = any(not match.is_generic for match in first)
    about = [term for term in document.values() if term.weight >= SUBJECT_WEIGHT]
    subject = sum(term.weight * corpus.weight(term.stem) for term in about)
    met = sum(match.gain for match in matches if match.found.weight >= SUBJECT_WEIGHT)
    return Fit(
        score=math.sqrt(min(1.0, evidence / asked) * min(1.0, met / (subject or 1.0))),
        evidence=evidence / corpus.unseen,
        telling=sum(not match.is_generic for match in matches),
        answered=sum(match.gain for match in first) / asked if tells else 0.0,
        mentioned=sum(match.gain / match.found.weight for match in first) / asked if first else 0.0,
        matches=tuple(matches),
    )


def _matches(query: Terms, document: Terms, corpus: Corpus) -> list[Match]:
    """Each term of the document that the query brings, once, by the query's best term for it."""
    best: dict[str, Match] = {}
    heads: dict[str, list[str]] = {}
    for stem in document:
        heads.setdefault(stem[:PREFIX_MIN], []).append(stem)
    for asked in query.values():
        for found, nearness in _near(asked, document, heads):
            weight = min(corpus.weight(asked.stem), corpus.weight(found.stem))
            gain = asked.weight * found.weight * nearness * weight
            if gain > 0 and (found.stem not in best or best[found.stem].gain < gain):
                best[found.stem] = Match(asked, found, gain)
    return _one_each(best.values())


def _near(asked: Term, document: Terms, heads: Mapping[str, Sequence[str]]) -> Iterable[tuple[Term, float]]:
    """The terms of the document for one of the query; `heads` are its stems by how they begin."""
    if asked.stem in document:
        return [(document[asked.stem], 1.0)]  # the word itself is there: its kin would count twice
    begun = [stem for stem in heads.get(asked.stem[:PREFIX_MIN], ()) if _begins(stem, asked.stem)]
    related = [stem for stem in kin_of(asked.stem) if stem in document and stem not in begun]
    return [(document[stem], KIN) for stem in (*begun, *related)]


def _begins(one: str, other: str) -> bool:
    """True for `cert` and `certif`: abbreviations and compounds that no stemmer joins."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return len(short) >= PREFIX_MIN and long.startswith(short) and not is_generic(short)


def _one_each(matches: Iterable[Match]) -> list[Match]:
    """For each term of the query its best match only, the most telling first."""
    taken: dict[str, Match] = {}
    for match in sorted(matches, key=lambda match: (-match.gain, match.found.stem)):
        taken.setdefault(match.asked.stem, match)
    return list(taken.values())
