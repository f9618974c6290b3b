"""What a runner is asked to do, and what it tells meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """`jobs` agents at once, 0 for the workspace's own limit; `agents` empty means all."""

    jobs: int = 0
    agents: frozenset[str] = frozenset()
    once: bool = False
    dry_run: bool = False
    max_time_s: float | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing that a runner tells: `type` is claimed, started, event, delivered, held, warning …"""

    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.type, **self.fields}


Tell = Callable[[Notice], None]


@dataclass
class Summary:
    """What a runner has done: run ids by how they ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    gave_up: bool = False

    @property
    def all_well(self) -> bool:
        """Every run that it ended succeeded or waits for a person, and it could start what it found."""
        return not self.gave_up and all(
            outcome in {"succeeded", "review", "blocked"} for outcome in self.outcomes.values()
        )
