"""`gitmem issue edit`, `comment`, `assign`, `close`, `reopen`, `block`."""

from __future__ import annotations

from typing import Any

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.body import body_options, can_ask, read_body
from gitmem.cli.body import edit as open_editor
from gitmem.cli.group import choice, command
from gitmem.cli.written import written
from gitmem.core.errors import UsageError
from gitmem.core.policy import Level
from gitmem.core.record import Kind
from gitmem.core.states import IssueStatus, Priority
from gitmem.ops import comments, issues
from gitmem.ops.comments import CommentKind
from gitmem.ops.desk import Done
from gitmem.ops.issues import IssueEdit, Touched


@command(
    "edit",
    "gitmem issue edit 7k3q9d2m --status in_progress",
    "gitmem issue edit 7k3q --add-label auth --remove-label ui --priority high",
    "gitmem issue edit 7k3q --parent none -F body.md",
)
@click.argument("issue")
@click.option("--title", metavar="TEXT", help="Set the title.")
@click.option("-s", "--status", type=choice(IssueStatus), help="Move to this status.")
@click.option("--priority", type=choice(Priority), help="Set the priority.")
@click.option("--assignee", metavar="ACTOR", help="Give it to an agent or member; `none` to nobody.")
@click.option("--parent", metavar="ISSUE", help="Make it part of another issue; `none` of none.")
@click.option("--add-label", "add_labels", metavar="LABEL", multiple=True, help="Add a label (repeatable).")
@click.option(
    "--remove-label", "remove_labels", metavar="LABEL", multiple=True, help="Remove a label (repeatable)."
)
@click.option("--add-ref", "add_refs", metavar="REF", multiple=True, help="Add context (repeatable).")
@click.option(
    "--remove-ref", "remove_refs", metavar="REF", multiple=True, help="Remove context (repeatable)."
)
@click.option(
    "--add-blocker", "add_blockers", metavar="ISSUE", multiple=True, help="It waits for ISSUE (repeatable)."
)
@click.option(
    "--remove-blocker",
    "remove_blockers",
    metavar="ISSUE",
    multiple=True,
    help="It no longer does (repeatable).",
)
@click.option("--sensitivity", type=choice(Level), help="Say who may read it.")
@click.option(
    "--repo", "repos", metavar="NAME", multiple=True, help="Work in this code repository; `none` in none."
)
@body_options
@pass_app
def edit(app: App, /, issue: str, body: str | None, body_file: str | None, **given: Any) -> None:
    """Change fields or the body of an issue.

    Only the bytes of what is changed differ afterwards. Without options the body is opened in
    the editor, on a terminal.
    """
    asked = any(value not in (None, ()) for value in given.values())
    text = read_body(app, body, body_file, ask=False)
    if text is None and not asked:
        text = _edited_body(app, issue)
    given["status"] = IssueStatus(given["status"]) if given["status"] else None
    given["priority"] = Priority(given["priority"]) if given["priority"] else None
    _told(app, issues.edit(app.desk(), _target(app, issue), IssueEdit(body=text, **given)), "changed")


def _target(app: App, issue: str) -> str:
    """The path of the issue that is named, if whoever acts may read it."""
    return app.view.record(issue, Kind.ISSUE).path


def _edited_body(app: App, issue: str) -> str | None:
    if not can_ask(app):
        raise UsageError("nothing is to be changed", "gitmem issue edit --help lists what can be")
    return open_editor(app.reader.issue(_target(app, issue)).body)


def _told(app: App, done: Done[Touched], words: str) -> None:
    touched = done.value
    shape: dict[str, Any] = views.issue_whole(
        touched.issue, app.view.keep(Kind.COMMENT, app.reader.comments(touched.issue.id))
    )
    if touched.comment:
        shape["comments"].append(views.comment(touched.comment))
    if touched.task:
        shape["task"] = views.task(touched.task)
        app.console.say(f"queued as task {touched.task.id}")
    written(app, touched.issue.id, done.committed, shape, f"{words} {touched.issue.path}")


@command(
    "comment",
    "gitmem issue comment 7k3q -b 'The cookie is set too late'",
    "gitmem issue comment 7k3q --kind question -F question.md",
    "gitmem issue comment 7k3q -b 'Yes, on staging' --reply-to 9d0k3v7p",
)
@click.argument("issue")
@body_options
@click.option("--kind", type=choice(CommentKind), default="comment", help="Say what the comment is.")
@click.option("--reply-to", metavar="COMMENT", help="Answer a comment on the same issue.")
@pass_app
def comment(
    app: App, issue: str, body: str | None, body_file: str | None, kind: str, reply_to: str | None
) -> None:
    """Comment on an issue."""
    text = read_body(app, body, body_file) or ""
    done = comments.add(app.desk(), _target(app, issue), text, kind=CommentKind(kind), reply_to=reply_to)
    written(app, done.value.id, done.committed, views.comment(done.value), f"wrote {done.value.path}")


@command(
    "assign",
    "gitmem issue assign 7k3q claude --queue",
    "gitmem issue assign 7k3q member:ana",
    "gitmem issue assign 7k3q none",
)
@click.argument("issue")
@click.argument("actor")
@click.option("--queue", is_flag=True, help="Ask the agent to work on it, in the same commit.")
@pass_app
def assign(app: App, issue: str, actor: str, queue: bool) -> None:
    """Give an issue to an agent or a member.

    ACTOR is agent:<name>, member:<handle>, a bare name, `me` or `none`.
    """
    done = issues.edit(
        app.desk(), _target(app, issue), IssueEdit(assignee=actor), action="issue.assign", queued=queue
    )
    _told(app, done, f"assigned to {done.value.issue.assignee or 'nobody'}:")


@command("close", "gitmem issue close 7k3q", "gitmem issue close 7k3q --cancelled -b 'Not needed any more'")
@click.argument("issue")
@click.option("--cancelled", is_flag=True, help="Close it as cancelled instead of done.")
@body_options
@pass_app
def close(app: App, issue: str, cancelled: bool, body: str | None, body_file: str | None) -> None:
    """Close an issue as done, or as cancelled.

    A text becomes a comment, in the same commit.
    """
    status = IssueStatus.CANCELLED if cancelled else IssueStatus.DONE
    _move(app, issue, status, "issue.close", read_body(app, body, body_file, ask=False))


@command("reopen", "gitmem issue reopen 7k3q", "gitmem issue reopen 7k3q -b 'It fails again on main'")
@click.argument("issue")
@body_options
@pass_app
def reopen(app: App, issue: str, body: str | None, body_file: str | None) -> None:
    """Reopen an issue that is done or cancelled.

    A text becomes a comment, in the same commit.
    """
    _move(app, issue, IssueStatus.TODO, "issue.reopen", read_body(app, body, body_file, ask=False))


def _move(app: App, issue: str, status: IssueStatus, action: str, remark: str | None) -> None:
    done = issues.edit(
        app.desk(), _target(app, issue), IssueEdit(status=status), action=action, remark=remark
    )
    _told(app, done, f"{status}:")


@command(
    "block",
    "gitmem issue block 7k3q --by 9d0k",
    "gitmem issue block 7k3q -b 'Waits for the new certificate'",
)
@click.argument("issue")
@click.option("--by", "blockers", metavar="ISSUE", multiple=True, help="It waits for ISSUE (repeatable).")
@body_options
@pass_app
def block(app: App, issue: str, blockers: tuple[str, ...], body: str | None, body_file: str | None) -> None:
    """Mark an issue as blocked, by an issue or for a reason.

    A text becomes a comment of kind blocker, in the same commit.
    """
    remark = read_body(app, body, body_file, ask=False)
    if not blockers and not remark:
        raise UsageError("what it waits for is missing", "give an issue with --by or a reason with -b")
    wanted = IssueEdit(status=IssueStatus.BLOCKED, add_blockers=blockers)
    done = issues.edit(
        app.desk(),
        _target(app, issue),
        wanted,
        action="issue.block",
        remark=remark,
        remark_kind=CommentKind.BLOCKER,
    )
    _told(app, done, "blocked:")
