"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`issues` in the workspaces that are measured, `rounds` of each measurement."""

    issues: int = 10_000
    rounds: int = 31
    tasks: int = 100
