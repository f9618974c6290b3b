"""Text that means nothing but is distributed as text is: full-text search costs what words are common."""

from __future__ import annotations

import itertools
import random

# The most frequent words of English, which a search leaves out.
_STOP_TEXT = (
    "the of and to in a is that for it as was with be by on not this are or from at which but have an "
    "had they were their one all we can her has there been if more when will would who so no"
)
_TERMS_TEXT = (
    "login test clock retry token refresh queue worker lock cache entry deploy release branch schema "
    "index migration timeout payment service metrics latency proxy restart upload report page session "
    "user disk"
)
_SYLLABLES_TEXT = "ba co de fin gra hal ki lor men no pra qui ser tu vin"
_STOP = _STOP_TEXT.split()
_NAMES = ["".join(parts) for parts in itertools.product(_SYLLABLES_TEXT.split(), repeat=3)]
random.Random(0).shuffle(_NAMES)

WORDS = [*_STOP, *_TERMS_TEXT.split(), *_NAMES]
# Zipf: the n-th word is as frequent as 1/n (the shift flattens the head as in real corpora).
_WEIGHTS = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(WORDS))))
_TITLE_FROM = len(_STOP)
_TITLE_WEIGHTS = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(WORDS) - _TITLE_FROM)))


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, cum_weights=_WEIGHTS, k=words)).capitalize()


def title(chance: random.Random) -> str:
    """Six words, none of them a stop word."""
    return " ".join(chance.choices(WORDS[_TITLE_FROM:], cum_weights=_TITLE_WEIGHTS, k=6)).capitalize()
