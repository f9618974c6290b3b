"""Findings of `doctor` and `agent test`, printed."""

from __future__ import annotations

from typing import Any

from gitmem.cli import views
from gitmem.cli.console import Console
from gitmem.ops.doctor import Check


def print_finding(console: Console, check: Check) -> None:
    """One line, and one for the cure; not on a terminal, one line of fields."""
    if not console.terminal:
        console.line(check.status, check.name, check.message, check.cure)
        return
    word = console.paint(f"{check.status:<5}", views.style_of(check.status))
    console.line(word, f"{check.name:<14}", check.message)
    if check.cure:
        console.line("     ", " " * 14, f"cure: {check.cure}")


def shape(check: Check) -> dict[str, Any]:
    return {"name": check.name, "status": str(check.status), "message": check.message, "cure": check.cure}
