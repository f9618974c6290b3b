"""`gitmem context`: what an agent would be given, what it costs, what was left out and why."""

from __future__ import annotations

from typing import NamedTuple

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.console import Column, Style
from gitmem.cli.group import command
from gitmem.memory.snapshot import Snapshot
from gitmem.ops.context import context as assembled

LEFT_OUT = "left out"


@command(
    "context",
    "gitmem context 7k3q",
    "gitmem context 7k3q --agent codex --budget 8000",
    "gitmem context 7k3q --json | jq .tokens",
)
@click.argument("issue")
@click.option("--agent", metavar="NAME", help="The agent; else the issue's, else the default.")
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="TOKENS", help="Tokens to cut to; else the workspace's."
)
@pass_app
def context(app: App, issue: str, agent: str | None, budget: int | None) -> None:
    """Print exactly what an agent would be given for an issue.

    Each item with its cost in tokens and the reason it is there, then what was left out and how
    to get it. Nothing is written and no agent is started.
    """
    snapshot = assembled(
        app.reader,
        app.workspace.config,
        issue,
        agent=agent,
        budget=budget,
        viewer=app.viewer,
        now=app.now(),
    )
    if app.console.json:
        app.console.emit(snapshot.manifest())
        return
    app.console.many(_rows(snapshot), _COLUMNS, Row._asdict)
    whose = f" for agent:{snapshot.agent.name}" if snapshot.agent else ""
    app.console.say(f"{snapshot.tokens} of {snapshot.budget} tokens{whose}; sensitivity {snapshot.level}")
    if snapshot.left_out:
        app.console.say("what was left out is shown by `gitmem show REF`")


class Row(NamedTuple):
    tokens: int
    section: str
    form: str
    ref: str
    path: str
    why: str


def _rows(snapshot: Snapshot) -> list[Row]:
    told = [
        Row(item.tokens, item.piece.section, item.form, item.piece.ref, item.piece.path, item.piece.reason)
        for item in snapshot.items
    ]
    left = [Row(one.tokens, "", LEFT_OUT, one.ref, one.path, one.reason) for one in snapshot.left_out]
    return told + left


def _style(row: Row) -> Style:
    return Style.FAINT if row.form == LEFT_OUT else Style.PLAIN


_COLUMNS = (
    Column("TOKENS", lambda row: row.tokens, _style),
    Column("SECTION", lambda row: row.section, _style),
    Column("FORM", lambda row: row.form, _style),
    Column("REF", lambda row: row.ref, _style),
    Column("PATH", lambda row: row.path, _style),
    Column("WHY", lambda row: row.why, _style, wide=True),
)
