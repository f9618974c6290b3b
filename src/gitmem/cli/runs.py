"""`gitmem runs list` and `view`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import choice, command
from gitmem.cli.limits import cut, limit_option
from gitmem.core.ids import bare_id
from gitmem.core.model import Run
from gitmem.core.record import Kind
from gitmem.core.states import Outcome
from gitmem.store.introductions import added_by


@command(
    "list", "gitmem runs list", "gitmem runs list --issue 7k3q --json", "gitmem runs list --outcome failed"
)
@click.option("--issue", metavar="ISSUE", help="Only runs on this issue.")
@click.option("--task", metavar="TASK", help="Only runs of this task.")
@click.option("--agent", metavar="NAME", help="Only runs of this agent.")
@click.option("--outcome", type=choice(Outcome), help="Only runs that ended so.")
@limit_option
@pass_app
def list_(
    app: App, issue: str | None, task: str | None, agent: str | None, outcome: str | None, limit: int
) -> None:
    """List ended runs, the newest first."""
    wanted = limit + 1 if limit else None
    found: Sequence[Run] = app.reader.runs(
        issue=app.reader.issue(issue).id if issue else None,
        task=bare_id(task, "task") if task else None,
        agent=bare_id(agent, "agent") if agent else None,
        limit=None if outcome else app.view.within(wanted),
    )
    if outcome:
        found = [run for run in found if run.outcome == outcome]
    shown = cut(app, app.view.keep(Kind.RUN, found, wanted), limit)
    delivered = delivered_by(app, shown) if app.console.json else {}
    app.console.many(shown, views.RUNS, lambda run: views.run(run, delivered))


def delivered_by(app: App, runs: Sequence[Run]) -> Mapping[str, str]:
    """Path of a run's record → the commit that delivered it."""
    return added_by(app.workspace.git, [run.path for run in runs], app.reader.commit)


@command("view", "gitmem runs view 9d0k3v7p")
@click.argument("run")
@pass_app
def view(app: App, run: str) -> None:
    """Show a run: outcome, usage, final words."""
    show(app, app.view.record(run, Kind.RUN).path)


def show(app: App, path: str) -> None:
    """Print the run at `path`, which the caller may read."""
    run = app.reader.run(path)
    shape = views.run(run, delivered_by(app, [run]))
    if app.console.json:
        app.console.emit({**shape, "body": run.body})
    else:
        app.console.card(views.pairs(shape), run.body)
