"""The body of an issue, a comment, a skill: from -b, from a file or stdin, or from the user's editor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gitmem.cli.app import App
from gitmem.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def body_options(function: F) -> F:
    """Add -b TEXT and -F FILE."""
    function = click.option("-b", "--body", metavar="TEXT", help="The text.")(function)
    return click.option("-F", "--body-file", metavar="FILE", help="Read the text from FILE; - is stdin.")(
        function
    )


def read_body(
    app: App, body: str | None, file: str | None, *, start: str = "", ask: bool = True
) -> str | None:
    """The text that was given, or None.

    On a terminal a missing text is asked for in the editor, which opens with `start`. Raises
    UsageError where both are given or the file is not UTF-8 text.
    """
    if body is not None and file is not None:
        raise UsageError("-b and -F both give the text", "use one of them")
    if body is not None:
        return body
    if file is not None:
        return _read_file(app, file)
    return edit(start) if ask and can_ask(app) else None


def can_ask(app: App) -> bool:
    """True where a person sits at the terminal and may be asked."""
    return not app.no_input and not app.console.json and sys.stdin.isatty() and app.console.terminal


def edit(start: str) -> str | None:
    """`start` as the user leaves it in $VISUAL or $EDITOR; None where it was not saved."""
    return click.edit(start, extension=".md")


def _read_file(app: App, name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(app.path(name)).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
