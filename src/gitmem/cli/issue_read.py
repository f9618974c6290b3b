"""`gitmem issue list` and `view`: read only, and quick to start."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import choice, command
from gitmem.cli.limits import cut, limit_option
from gitmem.core.model import Issue
from gitmem.core.record import Kind, Severity
from gitmem.core.states import OPEN_STATUSES, IssueStatus


@command(
    "list",
    "gitmem issue list",
    "gitmem issue list -s in_review -l auth",
    "gitmem issue list --assignee agent:claude --json",
    "gitmem issue list -s all --search 'login test' -L 0",
)
@click.option(
    "-s",
    "--status",
    type=choice(IssueStatus, "open", "all"),
    default="open",
    help="Only issues with this status; `open` (the default) is all but done and cancelled.",
)
@click.option("-l", "--label", "labels", multiple=True, help="Only issues with this label (repeatable).")
@click.option("--assignee", metavar="ACTOR", help="Only issues given to this agent or member; `me` is you.")
@click.option("--search", metavar="WORDS", help="Only issues that hold all these words.")
@limit_option
@pass_app
def list_(
    app: App, status: str, labels: tuple[str, ...], assignee: str | None, search: str | None, limit: int
) -> None:
    """List issues, the most urgent first."""
    statuses = {"open": OPEN_STATUSES, "all": None}.get(status, {status})
    wanted = limit + 1 if limit else None
    assignee = app.actor_text(assignee) if assignee else None
    found = app.reader.issues(
        statuses={IssueStatus(s) for s in statuses} if statuses else None,
        assignee=assignee,
        labels=labels,
        text=search,
        limit=app.view.within(wanted),
    )
    shown = cut(app, app.view.keep(Kind.ISSUE, found, wanted), limit)
    if assignee and not found:
        from gitmem.ops.refs import actor_named  # late: only where the name may be misspelt

        actor_named(app.reader, assignee)
    app.console.many(shown, views.ISSUES, views.issue)
    broken = sum(_is_broken(issue) for issue in shown)
    if broken and not app.console.json:
        app.console.warn(f"{broken} of them cannot be read as written; `gitmem check` tells what is wrong")


def _is_broken(issue: Issue) -> bool:
    return any(problem.severity is Severity.ERROR for problem in issue.problems)


@command("view", "gitmem issue view 7k3q9d2m", "gitmem issue view 7k3q --json")
@click.argument("issue")
@pass_app
def view(app: App, issue: str) -> None:
    """Show an issue with its comments.

    ISSUE is an id, a unique prefix of one, issue:<id> or a path.
    """
    record = app.view.record(issue, Kind.ISSUE)
    found = app.reader.issue(record.path)
    show(app, found.path)


def show(app: App, path: str) -> None:
    """Print the issue at `path`, which the caller may read."""
    issue = app.reader.issue(path)
    comments = app.view.keep(Kind.COMMENT, app.reader.comments(issue.id))
    if app.console.json:
        app.console.emit(views.issue_whole(issue, comments))
        return
    shape = views.issue_whole(issue, comments)
    app.console.card(views.pairs(shape, without=("body", "comments", "uncommitted", "problems")), issue.body)
    for comment in comments:
        app.console.text(f"\n-- {comment.author}, {comment.created}, {comment.kind} {comment.id}")
        app.console.text(comment.body.strip("\n"))
    for problem in issue.problems:
        app.console.warn(f"{problem.message}; `gitmem check {path}`")
