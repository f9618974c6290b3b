"""`gitmem issue create`."""

from __future__ import annotations

from typing import Any

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.body import body_options, read_body
from gitmem.cli.group import choice, command
from gitmem.cli.written import written
from gitmem.core.policy import Level
from gitmem.core.states import IssueStatus, Priority
from gitmem.ops import issues


@command(
    "create",
    "gitmem issue create 'Fix the flaky login test'",
    "gitmem issue create 'Fix the flaky login test' -F body.md -l auth --priority high",
    "gitmem issue create 'Fix the flaky login test' --check 'pytest -q' --assign claude --queue",
)
@click.argument("title")
@body_options
@click.option("-l", "--label", "labels", multiple=True, help="Add a label (repeatable).")
@click.option("-s", "--status", type=choice(IssueStatus), default="todo", help="Start with this status.")
@click.option("--priority", type=choice(Priority), default="none", help="Set the priority.")
@click.option("--assign", "assignee", metavar="ACTOR", help="Give it to an agent or member; `me` is you.")
@click.option("--parent", metavar="ISSUE", help="Make it part of another issue.")
@click.option(
    "--blocker", "blocked_by", metavar="ISSUE", multiple=True, help="It waits for ISSUE (repeatable)."
)
@click.option("--ref", "context_refs", metavar="REF", multiple=True, help="Add context (repeatable).")
@click.option(
    "--criterion", "criteria", metavar="TEXT", multiple=True, help="Add an acceptance criterion (repeatable)."
)
@click.option(
    "--check", "checks", metavar="COMMAND", multiple=True, help="Add a criterion that is run (repeatable)."
)
@click.option(
    "--repo", "repos", metavar="NAME", multiple=True, help="Work in this code repository (repeatable)."
)
@click.option("--sensitivity", type=choice(Level), default="internal", help="Say who may read it.")
@click.option("--queue", is_flag=True, help="Ask its agent to work on it, in the same commit.")
@pass_app
def create(
    app: App, /, body: str | None, body_file: str | None, status: str, priority: str, **given: Any
) -> None:
    """Write a new issue."""
    new = issues.NewIssue(
        body=read_body(app, body, body_file) or "",
        status=IssueStatus(status),
        priority=Priority(priority),
        **given,
    )
    done = issues.create(app.desk(), new)
    shape = views.issue_whole(done.value.issue, [])
    if done.value.task:
        shape["task"] = views.task(done.value.task)
    written(app, done.value.issue.id, done.committed, shape, f"created {done.value.issue.path}")
