"""Pairs of issues on one problem in different words, as two people would write them (issue_pairs.md)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Text(NamedTuple):
    title: str
    body: str


class Pair(NamedTuple):
    first: Text
    second: Text


def _pairs(source: str) -> list[Pair]:
    blocks = [block.strip().split("\n# ") for block in source.split("\n====\n")]
    return [Pair(*(Text(*part.removeprefix("# ").split("\n", 1)) for part in block)) for block in blocks]


PAIRS = _pairs(Path(__file__).with_suffix(".md").read_text(encoding="utf-8"))
