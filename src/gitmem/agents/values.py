"""Fields of what programs print: anything may stand there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count(value: Any) -> int | None:
    """A whole number that is not negative, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def number(value: Any) -> float | None:
    """A number that is not negative, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return float(value) if is_number else None


def items(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
