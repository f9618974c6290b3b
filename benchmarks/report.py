"""A Markdown table of medians, their ratios, and the limits that are stated for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One measured value and, where `base` is given, its ratio to that line's value.

    `at_most` and `at_least` bound the ratio, or the value itself where there is no base. `short`
    is the name by which other lines refer to this one.
    """

    what: str
    value: float
    unit: str
    base: Line | None = None
    at_most: float | None = None
    at_least: float | None = None
    short: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.base.value if self.base and self.base.value else None

    @property
    def holds(self) -> bool:
        bounded = self.value if self.base is None else self.ratio
        if bounded is None:
            return True
        return not (self.at_most and bounded > self.at_most) and not (
            self.at_least and bounded < self.at_least
        )

    def cells(self) -> tuple[str, str, str, str]:
        ratio = (
            f"{_number(self.ratio)} × {self.base.short or self.base.what}"
            if self.ratio is not None and self.base
            else ""
        )
        return self.what, f"{_number(self.value)} {self.unit}", ratio, self._limit()

    def _limit(self) -> str:
        unit = "×" if self.base else self.unit
        words = [
            f"{sign} {bound:g} {unit}" for sign, bound in (("≤", self.at_most), ("≥", self.at_least)) if bound
        ]
        return ", ".join(words) + ("" if self.holds else " **exceeded**")


def table(lines: Iterable[Line]) -> str:
    rows = [("what", "median", "ratio", "limit"), ("---", "---:", "---", "---")]
    rows += [line.cells() for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def exceeded(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not line.holds]


def _number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"
