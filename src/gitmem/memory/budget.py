"""Cutting what could be told to a budget of tokens: pure, so that the same input gives the same snapshot.

Every section is sure of its share, so that a long issue cannot push out what was learned; what a
section does not use goes to the first sections that want more. Within a section the order is kept:
nothing is skipped in favour of what comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gitmem.core.policy import Level
from gitmem.core.tokens import estimate, head


class Section(StrEnum):
    """In the order of the snapshot."""

    CONTEXT = "context"
    ISSUE = "issue"
    REFS = "refs"
    FAMILY = "family"
    COMMENTS = "comments"
    INSTRUCTIONS = "instructions"
    MEMORY = "memory"
    ATTACHED = "attached"
    RECALLED_SKILLS = "recalled_skills"
    RECALLED_KNOWLEDGE = "recalled_knowledge"
    EXPERIENCE = "experience"


# Parts of a hundred.
SHARES = {
    Section.CONTEXT: 12,
    Section.ISSUE: 22,
    Section.REFS: 10,
    Section.FAMILY: 6,
    Section.COMMENTS: 12,
    Section.INSTRUCTIONS: 16,
    Section.MEMORY: 4,
    Section.ATTACHED: 4,
    Section.RECALLED_SKILLS: 7,
    Section.RECALLED_KNOWLEDGE: 4,
    Section.EXPERIENCE: 3,
}

# The brief holds these, and a brief that does not change is read from the provider's cache: they
# never grow with what other sections leave over.
FIXED = frozenset({Section.INSTRUCTIONS})

# The longest that one piece may be, in parts of a hundred; the rest of it lies on disk. A pasted
# log must not push out everything else that was said.
PIECE_MAX = {Section.CONTEXT: 50, Section.ISSUE: 100, Section.COMMENTS: 5}
PIECE_MAX_ELSE = 25

# Less than this of a text is not worth its place.
HEAD_MIN = 40


class Form(StrEnum):
    WHOLE = "whole"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that an agent could be told.

    `path` and `blob` are where it lies in the workspace, `place` where in the working directory
    (a folder for a skill), `text` is what is told of it (of a skill its name and description),
    `overhead` the tokens that go with it whatever its length.
    """

    section: Section
    ref: str
    path: str
    blob: str
    place: str
    reason: str
    text: str
    title: str = ""
    author: str | None = None
    created: str | None = None
    level: Level = Level.INTERNAL
    overhead: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """A piece that is told, and how much of it."""

    piece: Piece
    text: str
    tokens: int
    form: Form


class _Packing:
    """Items by their place in `order`; a piece that was cut can be taken again with more room."""

    def __init__(self, order: Sequence[Piece], budget: int) -> None:
        self.order = order
        self.budget = budget
        self.costs = [estimate(piece.text) + piece.overhead for piece in order]
        self.items: dict[int, Item] = {}
        self.spent = 0

    def fill(self, section: Section, limit: int) -> None:
        """Take pieces of the section in order, at most `limit` tokens of them in all."""
        end = self.spent + min(limit, self.budget - self.spent)
        for at, piece in enumerate(self.order):
            if piece.section is section and not self._take(at, piece, end):
                return

    def _take(self, at: int, piece: Piece, end: int) -> bool:
        """Take as much of the piece as it may have; True where it has got all of that."""
        old = self.items[at].tokens if at in self.items else 0
        longest = max(HEAD_MIN, self.budget * PIECE_MAX.get(piece.section, PIECE_MAX_ELSE) // 100)
        wanted, room = min(self.costs[at], longest), end - self.spent + old
        if old and old >= wanted:
            return True
        if self.costs[at] <= min(wanted, room):
            self._put(at, Item(piece, piece.text, self.costs[at], Form.WHOLE), old)
        elif min(wanted, room) >= max(HEAD_MIN, old):
            text = head(piece.text, max(0, min(wanted, room) - piece.overhead))
            self._put(at, Item(piece, text, min(wanted, room), Form.HEAD), old)
        return at in self.items and room >= wanted

    def _put(self, at: int, item: Item, old: int) -> None:
        self.items[at] = item
        self.spent += item.tokens - old


def pack(pieces: Sequence[Piece], budget: int) -> tuple[tuple[Item, ...], tuple[tuple[Piece, int], ...]]:
    """The items within `budget` tokens, in the order of the sections, and the pieces that found no
    room, each with what it would have cost."""
    packing = _Packing(sorted(pieces, key=lambda piece: _PLACE[piece.section]), budget)
    for section in Section:
        packing.fill(section, budget * SHARES[section] // 100)
    for section in Section:
        if section not in FIXED:
            packing.fill(section, budget)
    items, costs = packing.items, packing.costs
    left = tuple((piece, costs[at]) for at, piece in enumerate(packing.order) if at not in items)
    return tuple(items[at] for at in sorted(items)), left


_PLACE = {section: place for place, section in enumerate(Section)}
