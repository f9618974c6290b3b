"""Printing problems in files, for `check` and `skill lint`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitmem.cli import views
from gitmem.cli.app import App
from gitmem.core.errors import InvalidDocumentError
from gitmem.core.record import Problem, Severity


def report(app: App, problems: Sequence[Problem]) -> None:
    """Print them all; the process ends with code 12 where there is an error among them."""
    console = app.console
    if console.json or not console.terminal:
        console.many(problems, views.PROBLEMS, views.problem)
    else:
        for problem in problems:
            _tell(app, problem)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    warnings = len(problems) - errors
    console.say(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}" if problems else "no problems")
    if errors:
        click.get_current_context().exit(InvalidDocumentError.exit_code)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _tell(app: App, problem: Problem) -> None:
    """On a terminal a problem takes a line, and its hint another: tables would cut both."""
    console = app.console
    place = f"{problem.path}:{problem.line}:{problem.column}" if problem.line else problem.path
    severity = console.paint(str(problem.severity), views.style_of(problem.severity))
    console.line(place, severity, f"{problem.message} ({problem.code})")
    if problem.hint:
        console.line("", problem.hint)
