"""`gitmem log`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.cli.times import parse_since
from gitmem.ops import events
from gitmem.store.history import Event

LOG_LIMIT = 30
FOLLOW_EVERY_S = 1.0


@command(
    "log",
    "gitmem log",
    "gitmem log 7k3q9d2m -n 0",
    "gitmem log --actor agent:claude --since 12h --json",
    "gitmem log --trace 4bf92f3577b34da6a3ce929d0e0e4736",
)
@click.argument("target", required=False, metavar="[REF | PATH]")
@click.option("--actor", metavar="ACTOR", help="Only what this actor did; `me` is you.")
@click.option("--action", metavar="ACTION", help="Only this action, such as issue.edit.")
@click.option("--since", metavar="TIME", help="Only since then: 12h, 3d, or an ISO-8601 time.")
@click.option("--trace", metavar="ID", help="Only what was done under this trace id.")
@click.option(
    "-n",
    "--number",
    "limit",
    type=click.IntRange(min=0),
    default=LOG_LIMIT,
    metavar="N",
    help=f"Show at most N, {LOG_LIMIT} by default; 0 shows all.",
)
@click.option("--follow", is_flag=True, help="Go on and print what happens, until interrupted.")
@pass_app
def log(
    app: App,
    target: str | None,
    actor: str | None,
    action: str | None,
    since: str | None,
    trace: str | None,
    limit: int,
    follow: bool,
) -> None:
    """Show the audit log.

    Every change is a commit with trailers that say who did what; commits made by hand count as
    the action `edit`. The newest stand first, except with --follow.
    """
    start = parse_since(since, app.now()) if since else None
    actor = app.actor_text(actor) if actor else None

    def ask(number: int | None) -> list[Event]:
        found = events.log(
            app.workspace,
            app.view,
            target,
            actor=actor,
            action=action,
            trace=trace,
            since=start,
            limit=number,
        )
        return list(found)

    if not follow:
        app.console.many(ask(limit or None), views.EVENTS, views.event)
        return
    _follow(app, ask, limit or None)


def _follow(app: App, ask: Callable[[int | None], list[Event]], first: int | None) -> NoReturn:
    """Print the last `first` events, then each new one as the branch moves."""
    tip, seen = "", set[str]()
    while True:
        now = app.workspace.tip()
        if now != tip:
            fresh = [event for event in ask(None) if event.commit not in seen]
            for event in reversed(fresh if tip else fresh[:first]):
                _print(app, event)
            app.console.flush()
            seen.update(event.commit for event in fresh)
            tip = now
        time.sleep(FOLLOW_EVERY_S)


def _print(app: App, event: Event) -> None:
    if app.console.json:
        app.console.emit({"type": "event", **views.event(event)})
    else:
        app.console.line(*(column.value(event) for column in views.EVENTS))
