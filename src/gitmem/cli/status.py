"""`gitmem status`."""

from __future__ import annotations

from typing import Any

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.console import Style
from gitmem.cli.group import command
from gitmem.cli.runs import delivered_by
from gitmem.cli.times import parse_since
from gitmem.core.clock import stamp
from gitmem.core.states import TaskState
from gitmem.ops import status as ops
from gitmem.ops.status import Meanwhile, RunnerSeen, Status


@command("status", "gitmem status", "gitmem status --since 12h", "gitmem status --json")
@click.option("--since", metavar="TIME", help="What happened since then: 12h, 3d, or an ISO-8601 time.")
@pass_app
def status(app: App, since: str | None) -> None:
    """Show what is queued, waits for people, or is broken."""
    now = ops.status(app.workspace, app.view)
    start = parse_since(since, app.now()) if since else None
    past = ops.meanwhile(app.workspace, app.view, start) if start else None
    if app.console.json:
        shape = _shape(now)
        if past and start:
            shape["since"] = {"time": stamp(start), **_past_shape(app, past)}
        app.console.emit(shape)
        return
    if past and start:
        _print_past(app, past, stamp(start))
    _print(app, now)


def _shape(now: Status) -> dict[str, Any]:
    return {
        "name": now.name,
        "branch": now.branch,
        "paused": now.paused,
        "queued": now.count(TaskState.QUEUED),
        "running": now.count(TaskState.RUNNING),
        "waiting": now.count(TaskState.WAITING),
        "tasks": [views.task(task) for task in now.tasks],
        "runners": [
            {"name": r.name, "host": r.host, "alive": r.alive, "tasks": list(r.tasks)} for r in now.runners
        ],
        "waiting_for_people": [views.issue(issue) for issue in now.waiting],
        "open_issues": now.open_issues,
        "files_with_errors": now.errors,
        "warnings": list(now.warnings),
    }


def _past_shape(app: App, past: Meanwhile) -> dict[str, Any]:
    delivered = delivered_by(app, past.runs)
    return {
        "runs": [views.run(run, delivered) for run in past.runs],
        "outcomes": dict(past.outcomes),
        "spent": past.spent,
        "commits": past.commits,
        "commits_by_hand": past.by_hand,
        "new_skills": list(past.new_skills),
    }


def _print(app: App, now: Status) -> None:
    console = app.console
    queue = ", ".join(f"{now.count(state)} {state}" for state in TaskState)
    lines: views.Pairs = [
        ("workspace", f"{now.name} on branch {now.branch}"),
        ("queue", f"{queue}; paused" if now.paused else queue),
        ("runners", [_runner(runner) for runner in now.runners] or "none at work"),
        ("issues", f"{now.open_issues} open, {len(now.waiting)} wait for people"),
        (
            "files",
            f"{now.errors} with errors; gitmem check" if now.errors else "no errors found while reading",
        ),
    ]
    console.card(lines)
    for task in now.tasks:
        if task.state is TaskState.WAITING:
            console.line(
                console.paint("waiting", Style.WARN), f"task {task.id}", f"issue {task.issue}", task.agent
            )
    for issue in now.waiting:
        console.line(console.paint(str(issue.status), views.style_of(issue.status)), issue.id, issue.title)
    for warning in now.warnings:
        console.warn(warning)


def _runner(runner: RunnerSeen) -> str:
    state = {True: "at work on", False: "died with", None: "elsewhere with"}[runner.alive]
    return f"{runner.name} on {runner.host} {state} {' '.join(runner.tasks)}"


def _print_past(app: App, past: Meanwhile, since: str) -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(past.outcomes.items()))
    spent = ", ".join(f"{key} {value:g}" for key, value in sorted(past.spent.items()))
    app.console.card(
        [
            ("since", since),
            ("runs ended", outcomes or "none"),
            ("spent", spent or "nothing reported"),
            ("commits", f"{past.commits}, {past.by_hand} of them by hand"),
            ("new skills", list(past.new_skills) or "none"),
        ]
    )
    app.console.text("")
