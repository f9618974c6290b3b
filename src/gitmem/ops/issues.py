"""Issues: write one, change one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.core.errors import UsageError
from gitmem.core.ids import Ref
from gitmem.core.layout import issue_path
from gitmem.core.model import Comment, Issue, Task, issue_of
from gitmem.core.record import Kind, Record, enum_or, texts
from gitmem.core.states import IssueStatus, Priority, Trigger, check_issue_move
from gitmem.ops import comments, queue, refs
from gitmem.ops.comments import CommentKind
from gitmem.ops.desk import Desk, Done
from gitmem.store import document
from gitmem.store.change import Change
from gitmem.store.git import blob_id
from gitmem.store.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class NewIssue:
    """An issue as its author gives it; references may be prefixes, `queue` asks for a task at once."""

    title: str
    body: str = ""
    status: IssueStatus = IssueStatus.TODO
    priority: Priority = Priority.NONE
    assignee: str | None = None
    labels: Sequence[str] = ()
    parent: str | None = None
    blocked_by: Sequence[str] = ()
    context_refs: Sequence[str] = ()
    criteria: Sequence[str] = ()
    checks: Sequence[str] = ()
    repos: Sequence[str] = ()
    sensitivity: str = "internal"
    queue: bool = False


@dataclass(frozen=True, slots=True)
class Touched:
    """An issue after an operation, and what else the same commit made."""

    issue: Issue
    comment: Comment | None = None
    task: Task | None = None


def create(desk: Desk, new: NewIssue) -> Done[Touched]:
    """Write a new issue, with every common key, and where asked its task, as one commit.

    Raises UsageError for an unfit title, NotFoundError and AmbiguousError for what is named.
    """
    issue_id, created = desk.new_id(), desk.stamp()
    change = desk.change("issue.create")
    with desk.reader() as reader:
        fields = _fields(desk, reader, new, issue_id, created)
        body = new.body.strip("\n") + "\n" if new.body.strip() else ""
        data = document.render(fields, body)
        path = issue_path(issue_id, fields["title"], created)
        change.create(path, data)
        issue = issue_of(Record(Kind.ISSUE, issue_id, path, blob_id(data), fields, body))
        task = _task(desk, reader, change, issue) if new.queue else None
    trailers = [Ref("issue", issue_id), *([Ref("task", task.id)] if task else [])]
    return Done(Touched(issue, task=task), change.commit(f"issue {issue_id}: {issue.title}", refs=trailers))


def _task(desk: Desk, reader: Reader, change: Change, issue: Issue) -> Task:
    return queue.put(change, desk, issue, queue.agent_for(desk, reader, issue), Trigger.ASSIGNMENT)


def _fields(desk: Desk, reader: Reader, new: NewIssue, issue_id: str, created: str) -> dict[str, Any]:
    repos = refs.repository_names(desk.ws.config, new.repos)
    return {
        "id": issue_id,
        "title": clean_title(new.title),
        "status": str(new.status),
        "priority": str(new.priority),
        "assignee": refs.assignee_ref(reader, new.assignee, desk.actor) if new.assignee else None,
        "labels": sorted(set(new.labels)),
        "parent": refs.issue_ref(reader, new.parent) if new.parent else None,
        "blocked_by": refs.issue_refs(reader, new.blocked_by),
        "context_refs": sorted({refs.context_ref(reader, item) for item in new.context_refs}),
        "acceptance_criteria": [*new.criteria, *({"check": command} for command in new.checks)],
        "repo": _one_or_many(repos),
        "touches": [],
        "project": None,
        "sensitivity": new.sensitivity,
        "allowed": [],
        "created": created,
        "created_by": str(desk.actor),
    }


def _one_or_many(names: list[str]) -> str | list[str] | None:
    return names[0] if len(names) == 1 else names or None


def clean_title(title: str) -> str:
    """One line of text; UsageError where nothing is left."""
    line = " ".join(title.split())
    if not line or not line.isprintable():
        raise UsageError(
            "the title is empty" if not line else "the title holds characters that cannot be printed",
            "give a title of one line",
        )
    return line


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueEdit:
    """What is to change; None and empty leave a field alone, the word `none` clears it."""

    title: str | None = None
    status: IssueStatus | None = None
    priority: Priority | None = None
    assignee: str | None = None
    parent: str | None = None
    sensitivity: str | None = None
    repos: Sequence[str] = ()
    add_labels: Sequence[str] = ()
    remove_labels: Sequence[str] = ()
    add_refs: Sequence[str] = ()
    remove_refs: Sequence[str] = ()
    add_blockers: Sequence[str] = ()
    remove_blockers: Sequence[str] = ()
    body: str | None = None


def edit(
    desk: Desk,
    text: str,
    wanted: IssueEdit,
    *,
    action: str = "issue.edit",
    remark: str | None = None,
    remark_kind: CommentKind = CommentKind.COMMENT,
    queued: bool = False,
) -> Done[Touched]:
    """Change an issue, comment on it and queue it, as one commit; other bytes of the file stay.

    Raises NotFoundError and AmbiguousError for what is named, IllegalMoveError for a status the
    table does not allow, InvalidDocumentError for a file that cannot be edited safely.
    """
    change = desk.change(action)
    with desk.reader() as reader:
        issue = reader.issue(text)
        edits = _edits(desk, reader, issue, wanted)
        change.edit(issue.path, _transform(issue, edits, wanted.body))
        comment = comments.put(change, desk, issue, remark, kind=remark_kind) if remark else None
        after = _after(reader, issue, edits, wanted.body)
        task = _task_once(desk, reader, change, after) if queued else None
        trailers = [Ref("issue", issue.id)]
        trailers += [Ref("comment", comment.id)] if comment else []
        trailers += [Ref("task", task.id)] if task else []
        committed = change.commit(_subject(issue, after, edits, wanted, comment), refs=trailers)
    with desk.reader() as reader:
        return Done(Touched(reader.issue(issue.id), comment, task), committed)


# One edit: from the fields as they stand to the new value of the key.
_Edits = Mapping[str, Callable[[Mapping[str, Any]], Any]]


def _edits(desk: Desk, reader: Reader, issue: Issue, wanted: IssueEdit) -> _Edits:
    """The keys to change, with everything that people named looked up once, before any byte is touched."""
    edits: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
    if wanted.title is not None:
        edits["title"] = _constant(clean_title(wanted.title))
    if wanted.status is not None:
        edits["status"] = _move(issue.id, wanted.status)
    if wanted.priority is not None:
        edits["priority"] = _constant(str(wanted.priority))
    if wanted.assignee is not None:
        edits["assignee"] = _constant(refs.assignee_ref(reader, wanted.assignee, desk.actor))
    if wanted.parent is not None:
        edits["parent"] = _constant(_parent(reader, issue, wanted.parent))
    if wanted.sensitivity is not None:
        edits["sensitivity"] = _constant(wanted.sensitivity)
    if wanted.repos:
        edits["repo"] = _constant(_one_or_many(refs.repository_names(desk.ws.config, wanted.repos)))
    if wanted.add_labels or wanted.remove_labels:
        edits["labels"] = _set("labels", wanted.add_labels, wanted.remove_labels)
    if wanted.add_refs or wanted.remove_refs:
        added = [refs.context_ref(reader, item) for item in wanted.add_refs]
        edits["context_refs"] = _set("context_refs", added, wanted.remove_refs)
    if wanted.add_blockers or wanted.remove_blockers:
        edits["blocked_by"] = _set("blocked_by", _blockers(reader, issue, wanted), wanted.remove_blockers)
    return edits


def _parent(reader: Reader, issue: Issue, text: str) -> str | None:
    if text == refs.NONE:
        return None
    parent = refs.issue_ref(reader, text)
    refs.check_acyclic(reader, issue.id, [parent], "parent")
    return parent


def _blockers(reader: Reader, issue: Issue, wanted: IssueEdit) -> list[str]:
    added = refs.issue_refs(reader, wanted.add_blockers)
    refs.check_acyclic(reader, issue.id, added, "blocked_by")
    return added


def _constant(value: Any) -> Callable[[Mapping[str, Any]], Any]:
    return lambda _: value


def _move(issue_id: str, new: IssueStatus) -> Callable[[Mapping[str, Any]], str]:
    def move(fields: Mapping[str, Any]) -> str:
        check_issue_move(issue_id, enum_or(IssueStatus, fields.get("status"), IssueStatus.TODO), new)
        return str(new)

    return move


def _set(key: str, add: Sequence[str], remove: Sequence[str]) -> Callable[[Mapping[str, Any]], list[str]]:
    return lambda fields: refs.with_and_without(texts(fields.get(key)), add, remove)


def _transform(issue: Issue, edits: _Edits, body: str | None) -> Callable[[bytes], bytes]:
    def transform(data: bytes) -> bytes:
        changes = _changes(issue, document.parse(data, issue.path).fields, edits)
        data = document.edit(data, issue.path, changes) if changes else data
        if body is not None:
            data = document.edit_body(data, issue.path, body.strip("\n") + "\n")
        return data

    return transform


def _changes(issue: Issue, fields: Mapping[str, Any], edits: _Edits) -> dict[str, Any]:
    """The keys whose value differs from what stands there, and the id where a hand-written file has none."""
    new = {key: edit(fields) for key, edit in edits.items()}
    changes = {key: value for key, value in new.items() if not _same(fields.get(key), value)}
    # A derived id hangs on the commit that introduces the file: written down it cannot change any more.
    if changes and "id" not in fields:
        changes["id"] = issue.id
    return changes


def _same(old: Any, new: Any) -> bool:
    return old == new or (old in (None, []) and new in (None, []))


def _after(reader: Reader, issue: Issue, edits: _Edits, body: str | None) -> Issue:
    """The issue as it will be, to queue it and to name what changed."""
    record = reader.record(Kind.ISSUE, issue.id)
    fields = {**record.fields, **_changes(issue, record.fields, edits)}
    text = record.body if body is None else body
    return issue_of(Record(Kind.ISSUE, issue.id, issue.path, issue.blob, fields, text))


def _task_once(desk: Desk, reader: Reader, change: Change, issue: Issue) -> Task:
    """A task for the issue's agent, or the one that is there already."""
    agent = queue.agent_for(desk, reader, issue)
    for task in reader.tasks():
        if task.issue == issue.id and task.agent == agent:
            return task
    return queue.put(change, desk, issue, agent, Trigger.ASSIGNMENT)


def _subject(before: Issue, after: Issue, edits: _Edits, wanted: IssueEdit, comment: Comment | None) -> str:
    if before.status != after.status:
        return f"issue {before.id}: {before.status} -> {after.status}"
    if wanted.assignee is not None:
        return f"issue {before.id}: assigned to {after.assignee or 'nobody'}"
    keys = [key for key in edits if _value(before, key) != _value(after, key)]
    keys += ["body"] if wanted.body is not None else []
    if comment and not keys:
        return f"issue {before.id}: {comment.kind} by {comment.author}"
    # A value that was read as its default may be mended to just that.
    return f"issue {before.id}: {', '.join(keys or edits)}"


def _value(issue: Issue, key: str) -> object:
    return getattr(issue, "repos" if key == "repo" else key)
