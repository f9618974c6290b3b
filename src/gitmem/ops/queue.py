"""Tasks: ask for work, ask again, take back, pause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gitmem.core.errors import ConflictError, IllegalMoveError, NotFoundError, UsageError
from gitmem.core.ids import Ref, match_prefix, parse_ref
from gitmem.core.layout import CONFIG_FILE, task_path
from gitmem.core.model import Issue, Task, task_of
from gitmem.core.record import Kind, Record
from gitmem.core.states import OPEN_STATUSES, TaskState, Trigger
from gitmem.ops.desk import Desk, Done
from gitmem.store import document
from gitmem.store.change import Change
from gitmem.store.claim_refs import claimed
from gitmem.store.git import blob_id
from gitmem.store.reader import Reader


def add(
    desk: Desk, issue: str, agents: Sequence[str] = (), trigger: Trigger = Trigger.MANUAL
) -> Done[list[Task]]:
    """Ask that each agent works on an issue; several agents are compared, each on a branch of its own.

    Without `agents` the assignee, else the default agent. A task for the same issue and agent
    that has not ended is returned as it is: asking twice is no second run.

    Raises NotFoundError, AmbiguousError, UsageError, IllegalMoveError for a closed issue.
    """
    with desk.reader() as reader:
        on = reader.issue(issue)
        names = [reader.agent(name).name for name in dict.fromkeys(agents)] or [agent_for(desk, reader, on)]
        return _add(desk, reader, on, names, trigger)


def _add(
    desk: Desk, reader: Reader, issue: Issue, agents: Sequence[str], trigger: Trigger
) -> Done[list[Task]]:
    open_tasks = {task.agent: task for task in reader.tasks() if task.issue == issue.id}
    missing = [name for name in agents if name not in open_tasks]
    if not missing:
        return Done([open_tasks[name] for name in agents], None)
    change = desk.change("queue.add")
    change.guard(_still_free(desk, reader.commit, issue.id, missing))
    made = {name: put(change, desk, issue, name, trigger) for name in missing}
    refs = [Ref("issue", issue.id), *(Ref("task", task.id) for task in made.values())]
    committed = change.commit(f"issue {issue.id}: queued for {', '.join(missing)}", refs=refs)
    return Done([made.get(name) or open_tasks[name] for name in agents], committed)


def _still_free(desk: Desk, seen: str, issue_id: str, agents: Iterable[str]) -> Callable[[str], None]:
    """A guard: nobody has queued the same issue for the same agent since `seen`."""
    wanted = set(agents)

    def check(tip: str) -> None:
        if tip == seen:
            return
        with desk.reader() as reader:
            for task in reader.tasks():
                if task.issue == issue_id and task.agent in wanted:
                    raise ConflictError(
                        f"issue {issue_id} was queued for {task.agent} meanwhile, as task {task.id}",
                        f"gitmem queue view {task.id}",
                    )

    return check


def put(
    change: Change,
    desk: Desk,
    issue: Issue,
    agent: str,
    trigger: Trigger,
    *,
    extra: dict[str, Any] | None = None,
) -> Task:
    """Add a task to a change that does more. Raises IllegalMoveError for a closed issue."""
    if issue.status not in OPEN_STATUSES:
        raise IllegalMoveError(
            f"issue {issue.id} is {issue.status}; nobody works on it", f"gitmem issue reopen {issue.id}"
        )
    task_id = desk.new_id()
    fields: dict[str, Any] = {
        "issue": f"issue:{issue.id}",
        "agent": agent,
        "state": str(TaskState.QUEUED),
        "trigger": str(trigger),
        "requested_by": str(desk.actor),
        "attempt": 0,
        "max_attempts": 2,
        "priority": str(issue.priority),
        "not_before": None,
        "delivered": [],
        **(extra or {}),
    }
    path = task_path(task_id)
    data = document.render(fields, None)
    change.create(path, data)
    return task_of(Record(Kind.TASK, task_id, path, blob_id(data), fields))


def agent_for(desk: Desk, reader: Reader, issue: Issue) -> str:
    """The agent that a task on this issue goes to when none is named."""
    name = None
    if issue.assignee and issue.assignee.startswith("agent:"):
        name = issue.assignee.removeprefix("agent:")
    name = name or desk.ws.config.default_agent
    if name is None:
        raise UsageError(
            f"no agent: issue {issue.id} is assigned to {issue.assignee or 'nobody'}",
            f"gitmem queue add {issue.id} --agent NAME",
        )
    return reader.agent(name).name


def retry(desk: Desk, text: str, agent: str | None = None) -> Done[Task]:
    """Ask again: for a task that waits or backs off, a run that ended, or an issue.

    A task keeps its id and starts counting anew; for a run or an issue a new task is made.
    Raises IllegalMoveError for a task that is being worked on.
    """
    with desk.reader() as reader:
        name = reader.agent(agent).name if agent else None
        task = _task_named(reader, text)
        if task is not None:
            return _requeue(desk, task, name)
        record = reader.resolve(text)
        if record.kind is Kind.RUN:
            run = reader.run(record.id)
            return _again(desk, reader, reader.issue(run.issue), name or run.agent)
        if record.kind is Kind.ISSUE:
            issue = reader.issue(record.id)
            return _again(desk, reader, issue, name or agent_for(desk, reader, issue))
    raise UsageError(f"{text} is of kind {record.kind}", "name a task, a run or an issue to try again")


def _task_named(reader: Reader, text: str) -> Task | None:
    ref = parse_ref(text)
    if ref is not None and ref.kind != "task":
        return None
    try:
        return reader.task(text)
    except NotFoundError:
        if ref is not None:
            raise
        return None


def _requeue(desk: Desk, task: Task, agent: str | None) -> Done[Task]:
    if task.id in claimed(desk.ws.git):
        raise IllegalMoveError(f"task {task.id} is running", f"gitmem queue view {task.id}")
    wanted: dict[str, Any] = {"state": str(TaskState.QUEUED), "attempt": 0, "not_before": None}
    if agent:
        wanted["agent"] = agent

    def again(data: bytes) -> bytes:
        fields = document.parse(data, task.path, whole_yaml=True).fields
        absent = {"state": str(TaskState.QUEUED), "attempt": 0, "not_before": None}
        changes = {k: v for k, v in wanted.items() if fields.get(k, absent.get(k)) != v}
        return document.edit(data, task.path, changes) if changes else data

    change = desk.change("queue.retry")
    change.edit(task.path, again)
    refs = [Ref("issue", task.issue), Ref("task", task.id)]
    committed = change.commit(f"task {task.id}: queued again", refs=refs)
    with desk.reader() as reader:
        return Done(reader.task(task.id), committed)


def _again(desk: Desk, reader: Reader, issue: Issue, agent: str) -> Done[Task]:
    done = _add(desk, reader, issue, [agent], Trigger.RETRY)
    return Done(done.value[0], done.committed)


def cancel(desk: Desk, texts: Sequence[str], *, everything: bool = False) -> Done[list[Task]]:
    """Take tasks off the queue. A runner that works on one sees its file gone and stops it."""
    with desk.reader() as reader:
        known = reader.tasks()
        if everything:
            tasks = known
        else:
            ids = [match_prefix(_bare(text), (t.id for t in known), "task") for text in texts]
            tasks = [task for task in known if task.id in ids]
    if not tasks:
        return Done([], None)
    change = desk.change("queue.cancel")
    for task in tasks:
        change.delete(task.path)
    refs = [Ref("task", task.id) for task in tasks] + [Ref("issue", task.issue) for task in tasks]
    named = tasks[0].id if len(tasks) == 1 else f"{len(tasks)} tasks"
    return Done(tasks, change.commit(f"queue: cancelled {named}", refs=refs))


def _bare(text: str) -> str:
    ref = parse_ref(text)
    return ref.name if ref and ref.kind == "task" else text


def set_paused(desk: Desk, paused: bool) -> Done[bool]:
    """Stop, or let, every runner of this workspace start tasks; what runs goes on."""

    def flip(data: bytes) -> bytes:
        now = document.parse(data, CONFIG_FILE, whole_yaml=True).fields.get("paused") is True
        return data if now == paused else document.edit(data, CONFIG_FILE, {"paused": paused})

    change = desk.change("queue.pause" if paused else "queue.resume")
    change.edit(CONFIG_FILE, flip)
    committed = change.commit("queue: paused" if paused else "queue: resumed")
    return Done(paused, committed)
