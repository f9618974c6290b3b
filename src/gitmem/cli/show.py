"""`gitmem show`: any record."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from gitmem.cli import agent, issue_read, member, queue_read, runs, skill, views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.core.model import comment_of
from gitmem.core.record import Kind, Record

_SHOW: Mapping[Kind, Callable[[App, str], None]] = {
    Kind.ISSUE: issue_read.show,
    Kind.TASK: queue_read.show,
    Kind.RUN: runs.show,
    Kind.SKILL: skill.show,
    Kind.AGENT: agent.show,
    Kind.MEMBER: member.show,
}


@command(
    "show",
    "gitmem show 7k3q",
    "gitmem show skill:retry-login",
    "gitmem show knowledge:workspace/auth-decisions --json",
    "gitmem show issues/2026-11/7k3q9d2m-fix-the-flaky-login-test.md",
)
@click.argument("ref")
@pass_app
def show(app: App, ref: str) -> None:
    """Show any record.

    REF is an id, a unique prefix of one, a typed reference or a path.
    """
    record = app.view.record(ref)
    if record.kind in _SHOW:
        _SHOW[record.kind](app, record.path)
    else:
        _other(app, record)


def _other(app: App, record: Record) -> None:
    shape = views.record(record)
    if record.kind is Kind.COMMENT:
        shape = views.comment(comment_of(record))
    if app.console.json:
        app.console.emit(shape)
    else:
        app.console.card(views.pairs(shape, without=("body",)), record.body)
