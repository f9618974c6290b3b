"""`gitmem queue list` and `view`: read only, and quick to start."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import choice, command
from gitmem.cli.limits import cut, limit_option
from gitmem.core.record import Kind
from gitmem.core.states import TaskState
from gitmem.ops.tasks import with_claims


@command("list", "gitmem queue list", "gitmem queue list -s waiting --json")
@click.option("-s", "--state", type=choice(TaskState), help="Only tasks in this state.")
@click.option("--agent", metavar="NAME", help="Only tasks for this agent.")
@limit_option
@pass_app
def list_(app: App, state: str | None, agent: str | None, limit: int) -> None:
    """List tasks that have not ended.

    They stand in the order in which runners take them.
    """
    tasks = with_claims(app.view.keep(Kind.TASK, app.reader.tasks()), app.workspace.git)
    shown = [t for t in tasks if (not state or t.state == state) and (not agent or t.agent == agent)]
    app.console.many(cut(app, shown, limit), views.TASKS, views.task)
    if app.workspace.config.paused:
        app.console.say("the queue is paused; gitmem queue resume lets runners start tasks")


@command("view", "gitmem queue view 4h2m8xq0")
@click.argument("task")
@pass_app
def view(app: App, task: str) -> None:
    """Show a task."""
    show(app, app.view.record(task, Kind.TASK).path)


def show(app: App, path: str) -> None:
    """Print the task at `path`, which the caller may read."""
    task = with_claims([app.reader.task(path)], app.workspace.git)[0]
    shape = views.task(task)
    if app.console.json:
        app.console.emit(shape)
    else:
        app.console.card(views.pairs(shape))
