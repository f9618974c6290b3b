"""`gitmem queue add`, `retry`, `cancel`, `pause`, `resume`."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.cli.written import written, written_many
from gitmem.core.errors import UsageError
from gitmem.core.record import Kind
from gitmem.ops import queue


@command(
    "add",
    "gitmem queue add 7k3q",
    "gitmem queue add 7k3q --agent claude --json",
    "gitmem queue add 7k3q --agent claude --agent codex",
)
@click.argument("issue")
@click.option(
    "--agent",
    "agents",
    metavar="NAME",
    multiple=True,
    help="Ask this agent instead of the assignee; several are compared, each on a branch.",
)
@pass_app
def add(app: App, issue: str, agents: tuple[str, ...]) -> None:
    """Ask for an agent to work on an issue.

    What is already queued is not queued twice: the task that is there is printed.
    """
    done = queue.add(app.desk(), app.view.record(issue, Kind.ISSUE).path, agents)
    tasks = done.value
    words = f"queued for {', '.join(task.agent or '' for task in tasks)}"
    if len(tasks) == 1:
        written(app, tasks[0].id, done.committed, views.task(tasks[0]), words)
    else:
        written_many(
            app, [task.id for task in tasks], done.committed, [views.task(task) for task in tasks], words
        )


@command("retry", "gitmem queue retry 4h2m8xq0", "gitmem queue retry run:9d0k3v7p --agent codex")
@click.argument("ref")
@click.option("--agent", metavar="NAME", help="Give it to this agent.")
@pass_app
def retry(app: App, ref: str, agent: str | None) -> None:
    """Ask again, after a failure or for another agent.

    REF is a task that waits, an ended run, or an issue.
    """
    done = queue.retry(app.desk(), ref, agent)
    words = f"queued again for {done.value.agent}"
    written(app, done.value.id, done.committed, views.task(done.value), words)


@command("cancel", "gitmem queue cancel 4h2m8xq0", "gitmem queue cancel --all")
@click.argument("tasks", nargs=-1, metavar="TASK...")
@click.option("--all", "everything", is_flag=True, help="Cancel every task.")
@pass_app
def cancel(app: App, tasks: tuple[str, ...], everything: bool) -> None:
    """Take tasks off the queue; a runner stops what runs."""
    if not tasks and not everything:
        raise UsageError("no task is named", "gitmem queue list")
    done = queue.cancel(app.desk(), tasks, everything=everything)
    words = f"cancelled {len(done.value)}"
    written_many(
        app,
        [task.id for task in done.value],
        done.committed,
        [views.task(task) for task in done.value],
        words,
    )


@command("pause", "gitmem queue pause")
@pass_app
def pause(app: App) -> None:
    """Stop every runner from starting tasks.

    It is a commit that every runner obeys, on every machine; what runs goes on.
    """
    _set_paused(app, True)


@command("resume", "gitmem queue resume")
@pass_app
def resume(app: App) -> None:
    """Let runners start tasks again."""
    _set_paused(app, False)


def _set_paused(app: App, paused: bool) -> None:
    done = queue.set_paused(app.desk(), paused)
    word = "paused" if paused else "running"
    written(app, word, done.committed, {"paused": paused}, f"the queue is {word}")
