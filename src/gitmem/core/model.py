"""The records of a workspace, as read-only values.

`Record` is a file as it stands (its fields may be wrong); `Issue`, `Task`, … are what the
rest of the program works with. The `…_of` functions read leniently: a missing or
ill-typed field becomes its default, because a broken file is shown by `check`, not hidden
by the reader. Times are UTC ISO-8601 strings ending in `Z`, as they stand in files.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gitmem.core.ids import bare_id
from gitmem.core.record import Problem, Record, Severity, enum_or, integer, mapping, text, texts
from gitmem.core.states import IssueStatus, Outcome, Priority, TaskState, Trigger


class Criterion(NamedTuple):
    """An acceptance criterion: words, or a `check:` command."""

    text: str
    is_command: bool = False


class Issue(NamedTuple):
    id: str
    title: str
    path: str
    blob: str
    body: str
    status: IssueStatus
    priority: Priority
    assignee: str | None
    labels: tuple[str, ...]
    parent: str | None
    blocked_by: tuple[str, ...]
    context_refs: tuple[str, ...]
    acceptance_criteria: tuple[Criterion, ...]
    repos: tuple[str, ...]
    touches: tuple[str, ...]
    project: str | None
    sensitivity: str
    allowed: tuple[str, ...]
    created: str | None
    created_by: str | None
    uncommitted: bool = False
    problems: tuple[Problem, ...] = ()


def issue_of(record: Record) -> Issue:
    fields = record.fields
    parent = text(fields.get("parent"))
    return Issue(
        id=record.id,
        title=text(fields.get("title")) or first_heading(record.body) or record.id,
        path=record.path,
        blob=record.blob,
        body=record.body,
        status=enum_or(IssueStatus, fields.get("status"), IssueStatus.TODO),
        priority=enum_or(Priority, fields.get("priority"), Priority.NONE),
        assignee=text(fields.get("assignee")),
        labels=texts(fields.get("labels")),
        parent=bare_id(parent) if parent else None,
        blocked_by=tuple(bare_id(ref) for ref in texts(fields.get("blocked_by"))),
        context_refs=texts(fields.get("context_refs")),
        acceptance_criteria=_criteria(fields.get("acceptance_criteria")),
        repos=texts(fields.get("repo")),
        touches=texts(fields.get("touches")),
        project=text(fields.get("project")),
        sensitivity=text(fields.get("sensitivity")) or "internal",
        allowed=texts(fields.get("allowed")),
        created=text(fields.get("created")),
        created_by=text(fields.get("created_by")),
        uncommitted=record.uncommitted,
    )


_ISSUE_WORDS = {"status": (IssueStatus, IssueStatus.TODO), "priority": (Priority, Priority.NONE)}
_ISSUE_TEXTS = ("title", "assignee", "parent", "project", "sensitivity", "created", "created_by")
_ISSUE_LISTS = ("labels", "blocked_by", "context_refs", "repo", "touches", "allowed")


def misread_keys(record: Record) -> tuple[Problem, ...]:
    """Where `issue_of` takes a default for what the file says; `gitmem check` knows the lines and more."""
    found = []
    for key, (kind, default) in _ISSUE_WORDS.items():
        value = record.fields.get(key)
        if value not in (None, *kind):
            found.append(("unknown-value", f"{key} is {str(value)[:60]}, which is read as {default}"))
    for key in (*_ISSUE_TEXTS, *_ISSUE_LISTS):
        value = record.fields.get(key)
        items = value if isinstance(value, list) and key in _ISSUE_LISTS else [value]
        if value is not None and not all(isinstance(item, str) for item in items):
            found.append(("wrong-type", f"{key} is {str(value)[:60]}, which is not text and not read"))
    hint = f"gitmem check {record.path}"
    return tuple(Problem(record.path, 0, 0, Severity.ERROR, code, words, hint) for code, words in found)


def _criteria(value: Any) -> tuple[Criterion, ...]:
    found = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, str):
            found.append(Criterion(item))
        elif isinstance(item, dict) and isinstance(item.get("check"), str):
            found.append(Criterion(item["check"], is_command=True))
    return tuple(found)


def first_heading(body: str) -> str | None:
    """The text of the first ATX heading outside a fenced block: a hand-written file's title."""
    fenced = False
    for line in body.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.startswith("#"):
            title = line.lstrip("#").strip()
            if title:
                return title
    return None


class Comment(NamedTuple):
    id: str
    issue: str
    author: str
    created: str
    kind: str
    reply_to: str | None
    body: str
    path: str


def comment_of(record: Record) -> Comment:
    fields = record.fields
    return Comment(
        id=record.id,
        issue=bare_id(text(fields.get("issue")) or ""),
        author=text(fields.get("author")) or "",
        created=text(fields.get("created")) or "",
        kind=text(fields.get("kind")) or "comment",
        reply_to=text(fields.get("reply_to")),
        body=record.body,
        path=record.path,
    )


class Skill(NamedTuple):
    name: str
    description: str
    status: str
    path: str
    blob: str
    body: str
    metadata: Mapping[str, str]


def skill_of(record: Record) -> Skill:
    metadata = {
        str(key): str(value)
        for key, value in mapping(record.fields.get("metadata")).items()
        if value is not None
    }
    return Skill(
        name=record.id,
        description=text(record.fields.get("description")) or "",
        # A skill that people wrote by hand carries no status: it is in force.
        status=metadata.get("gitmem-status", "active"),
        path=record.path,
        blob=record.blob,
        body=record.body,
        metadata=metadata,
    )


class Agent(NamedTuple):
    name: str
    adapter: str
    path: str
    model: str | None = None
    command: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    role: str | None = None
    max_concurrent: int = 1
    home: str = "real"
    account: str | None = None
    timeout_s: int = 5400
    idle_timeout_s: int = 900
    start_timeout_s: int = 120
    review: str = "auto"
    env: tuple[str, ...] = ()
    budget: Mapping[str, Any] = MappingProxyType({})
    instructions: str = ""


def agent_of(record: Record) -> Agent:
    fields = record.fields
    return Agent(
        name=record.id,
        adapter=text(fields.get("adapter")) or record.id,
        path=record.path,
        model=text(fields.get("model")),
        command=texts(fields.get("command")),
        skills=texts(fields.get("skills")),
        role=text(fields.get("role")),
        max_concurrent=max(1, integer(fields.get("max_concurrent"), 1)),
        home=text(fields.get("home")) or "real",
        account=text(fields.get("account")),
        timeout_s=integer(fields.get("timeout_s"), 5400),
        idle_timeout_s=integer(fields.get("idle_timeout_s"), 900),
        start_timeout_s=integer(fields.get("start_timeout_s"), 120),
        review=text(fields.get("review")) or "auto",
        env=texts(fields.get("env")),
        budget=mapping(fields.get("budget")),
        instructions=record.body,
    )


class Member(NamedTuple):
    handle: str
    emails: tuple[str, ...]
    role: str | None
    path: str
    body: str = ""


def member_of(record: Record) -> Member:
    fields = record.fields
    return Member(
        handle=record.id,
        emails=texts(fields.get("emails")),
        role=text(fields.get("role")),
        path=record.path,
        body=record.body,
    )


class Task(NamedTuple):
    id: str
    issue: str
    agent: str | None
    path: str
    blob: str
    state: TaskState = TaskState.QUEUED
    trigger: Trigger = Trigger.MANUAL
    requested_by: str | None = None
    attempt: int = 0
    max_attempts: int = 2
    priority: Priority = Priority.NONE
    not_before: str | None = None
    delivered: tuple[str, ...] = ()
    session_id: str | None = None
    created: str | None = None
    uncommitted: bool = False


def task_of(record: Record) -> Task:
    fields = record.fields
    agent = text(fields.get("agent"))
    return Task(
        id=record.id,
        issue=bare_id(text(fields.get("issue")) or ""),
        agent=bare_id(agent, "agent") if agent else None,
        path=record.path,
        blob=record.blob,
        state=enum_or(TaskState, fields.get("state"), TaskState.QUEUED),
        trigger=enum_or(Trigger, fields.get("trigger"), Trigger.MANUAL),
        requested_by=text(fields.get("requested_by")),
        attempt=max(0, integer(fields.get("attempt"), 0)),
        max_attempts=max(1, integer(fields.get("max_attempts"), 2)),
        priority=enum_or(Priority, fields.get("priority"), Priority.NONE),
        not_before=text(fields.get("not_before")),
        delivered=texts(fields.get("delivered")),
        session_id=text(fields.get("session_id")),
        created=text(fields.get("created")),
        uncommitted=record.uncommitted,
    )


class Run(NamedTuple):
    id: str
    path: str
    task: str
    issue: str
    agent: str
    outcome: Outcome
    reason: str | None
    started: str | None
    ended: str | None
    snapshot: str | None
    base: str | None
    branch: str | None
    session_id: str | None
    produced: tuple[str, ...]
    usage: Mapping[str, Any]
    fields: Mapping[str, Any]
    body: str


def run_of(record: Record) -> Run:
    fields = record.fields
    return Run(
        id=record.id,
        path=record.path,
        task=bare_id(text(fields.get("task")) or "", "task"),
        issue=bare_id(text(fields.get("issue")) or ""),
        agent=bare_id(text(fields.get("agent")) or "", "agent"),
        outcome=enum_or(Outcome, fields.get("outcome"), Outcome.FAILED),
        reason=text(fields.get("reason")),
        started=text(fields.get("started")),
        ended=text(fields.get("ended")),
        snapshot=text(fields.get("snapshot")),
        base=text(fields.get("base")),
        branch=text(fields.get("branch")),
        session_id=text(fields.get("session_id")),
        produced=texts(fields.get("produced")),
        usage=mapping(fields.get("usage")),
        fields=fields,
        body=record.body,
    )


class Knowledge(NamedTuple):
    """A long-lived note; its name is `<scope>/<slug>`."""

    name: str
    kind: str
    status: str
    about: tuple[str, ...]
    path: str
    blob: str
    body: str
    fields: Mapping[str, Any]


def knowledge_of(record: Record) -> Knowledge:
    fields = record.fields
    return Knowledge(
        name=record.id,
        kind=text(fields.get("kind")) or "fact",
        status=text(fields.get("status")) or "active",
        about=texts(fields.get("about")),
        path=record.path,
        blob=record.blob,
        body=record.body,
        fields=fields,
    )
