"""-L: how many records a list shows, and the word about those it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gitmem.cli.app import App

LIST_LIMIT = 30

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def limit_option(function: F) -> F:
    """Add -L N; 0 means all."""
    option = click.option(
        "-L",
        "--limit",
        type=click.IntRange(min=0),
        default=LIST_LIMIT,
        metavar="N",
        help=f"Show at most N, {LIST_LIMIT} by default; 0 shows all.",
    )
    return option(function)


def cut(app: App, items: Sequence[T], limit: int) -> Sequence[T]:
    """The first `limit` of items, of which at least one more was asked for."""
    if limit and len(items) > limit:
        app.console.say(f"only the first {limit} are shown; -L 0 shows all")
        return items[:limit]
    return items
