"""Comments: one new file each, so that they never conflict."""

from __future__ import annotations

from enum import StrEnum

from gitmem.core.errors import UsageError
from gitmem.core.ids import Ref
from gitmem.core.layout import comment_path
from gitmem.core.model import Comment, Issue, comment_of
from gitmem.core.record import Kind, Record
from gitmem.ops.desk import Desk, Done
from gitmem.store import document
from gitmem.store.change import Change
from gitmem.store.git import blob_id
from gitmem.store.reader import Reader


class CommentKind(StrEnum):
    COMMENT = "comment"
    BLOCKER = "blocker"
    QUESTION = "question"
    DECISION = "decision"


def add(
    desk: Desk,
    issue: str,
    body: str,
    *,
    kind: CommentKind = CommentKind.COMMENT,
    reply_to: str | None = None,
) -> Done[Comment]:
    """Comment on an issue, as one commit.

    Raises UsageError for an empty text, NotFoundError and AmbiguousError for what is named.
    """
    with desk.reader() as reader:
        on = reader.issue(issue)
        parent = _parent(reader, on, reply_to)
    change = desk.change("comment.create")
    comment = put(change, desk, on, body, kind=kind, reply_to=parent)
    committed = change.commit(
        f"issue {on.id}: {kind} by {desk.actor}", refs=[Ref("issue", on.id), Ref("comment", comment.id)]
    )
    return Done(comment, committed)


def put(
    change: Change,
    desk: Desk,
    issue: Issue,
    body: str,
    *,
    kind: CommentKind = CommentKind.COMMENT,
    reply_to: str | None = None,
) -> Comment:
    """Add a comment to a change that does more."""
    if not body.strip():
        raise UsageError("the comment is empty", "give its text with -b TEXT or -F FILE")
    created, comment_id = desk.stamp(), desk.new_id()
    path = comment_path(issue.path, issue.id, created, str(desk.actor), comment_id)
    fields = {
        "id": comment_id,
        "issue": f"issue:{issue.id}",
        "author": str(desk.actor),
        "created": created,
        "reply_to": reply_to,
        "kind": str(kind),
    }
    text = body.strip("\n") + "\n"
    data = document.render(fields, text)
    change.create(path, data)
    return comment_of(Record(Kind.COMMENT, comment_id, path, blob_id(data), fields, text))


def _parent(reader: Reader, issue: Issue, text: str | None) -> str | None:
    if text is None:
        return None
    comment = comment_of(reader.record(Kind.COMMENT, text))
    if comment.issue != issue.id:
        raise UsageError(f"{comment.id} is a comment on issue {comment.issue}", "reply on that issue")
    return f"comment:{comment.id}"
