"""Bringing the workspace to a state that a runner can work from: re-derived, never remembered.

What people dropped by hand is taken in; what a runner that died had in hand is ended or goes
back to the queue. Nothing here deletes anything of anybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from gitmem.agents import processes
from gitmem.agents.adapter import EventType, Verdict
from gitmem.agents.registry import adapter_named
from gitmem.core.clock import Clock, stamp
from gitmem.core.dispatch import agent_name
from gitmem.core.errors import GitmemError
from gitmem.core.ids import Actor, ActorKind, Entropy, Ref
from gitmem.core.model import Task
from gitmem.core.record import Kind, Severity, text
from gitmem.core.states import Reason, TaskState
from gitmem.ops.check_fix import fix
from gitmem.runner import rundir
from gitmem.runner.active import Finished, load_verdict
from gitmem.runner.ended import Attempt
from gitmem.runner.eventlog import read_events
from gitmem.runner.pin import read_manifest
from gitmem.runner.rundir import RunDir
from gitmem.store import claims, document, schema
from gitmem.store.change import Change
from gitmem.store.claims import Claim
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

# A program that outlived its runner gets as long to end as one that is cancelled.
STOP_GRACE_S = 5.0
SYSTEM = Actor(ActorKind.SYSTEM, "runner")


@dataclass(frozen=True, slots=True)
class Lost:
    """An attempt whose runner died, taken over by us, with its end as far as it can be known."""

    attempt: Attempt
    place: RunDir
    finished: Finished


def invalid_tasks(reader: Reader) -> dict[str, str]:
    """Task id → what is wrong with its file, for files in the queue that break the format.

    Only uncommitted ones are judged by the schema: what is committed went through it.
    """
    found = {}
    for task in reader.tasks():
        if task.uncommitted:
            parsed = document.parse(reader.data(task.path), task.path, whole_yaml=True)
            problems = [*parsed.problems, *schema.problems(Kind.TASK, parsed, task.path)]
            error = next((p for p in problems if p.severity is Severity.ERROR), None)
            if error is not None:
                found[task.id] = f"{task.path}:{error.line}: {error.message}"
    return found


def adopt(
    workspace: Workspace, reader: Reader, invalid: Collection[str], actor: Actor, now: Clock, trace: str
) -> list[str]:
    """Commit what was dropped into the queue by hand, as it stands; returns the task ids."""
    tasks = [task for task in reader.tasks() if task.uncommitted and task.id not in invalid]
    fresh = [task for task in tasks if not _committed(workspace, reader.commit, task.path)]
    if not fresh:
        return []
    change = Change(workspace, actor=actor, action="queue.add", now=now(), trace=trace)
    for task in fresh:
        change.edit(task.path, bytes)
    refs = [ref for task in fresh for ref in (Ref("issue", _issue_id(reader, task)), Ref("task", task.id))]
    named = fresh[0].id if len(fresh) == 1 else f"{len(fresh)} tasks"
    change.commit(f"queue: {named}, dropped by hand", refs=refs)
    return [task.id for task in fresh]


def _issue_id(reader: Reader, task: Task) -> str:
    """The id of a task's issue, which the file may shorten."""
    try:
        return reader.issue(task.issue).id
    except GitmemError:
        return task.issue


def answer_waiting(workspace: Workspace, reader: Reader, now: Clock, trace: str) -> list[str]:
    """Put tasks that wait for a person back into the queue once one has answered; returns their ids.

    An answer is a member's comment since the last run that no run has been given.
    """
    change = Change(workspace, actor=SYSTEM, action="queue.answered", now=now(), trace=trace)
    answered = [task for task in reader.tasks() if task.state is TaskState.WAITING and _answers(reader, task)]
    for task in answered:
        change.edit(task.path, _requeued(task.path))
    if answered:
        refs = [ref for task in answered for ref in (Ref("issue", task.issue), Ref("task", task.id))]
        named = answered[0].id if len(answered) == 1 else f"{len(answered)} tasks"
        change.commit(f"queue: {named}, answered by a person", refs=refs)
    return [task.id for task in answered]


def _answers(reader: Reader, task: Task) -> bool:
    last = next(iter(reader.runs(task=task.id, limit=1)), None)
    since = (last.started if last else None) or ""
    return any(
        comment.author.startswith("member:") and comment.created >= since and comment.id not in task.delivered
        for comment in reader.comments(task.issue)
    )


def _requeued(path: str) -> Callable[[bytes], bytes]:
    return lambda data: document.edit(data, path, {"state": "queued", "trigger": "reply"})


def _is_broken(reader: Reader, path: str) -> bool:
    return any(p.path == path and p.severity is Severity.ERROR for p in reader.problems())


def _committed(workspace: Workspace, commit: str, path: str) -> bool:
    return workspace.git.entry(commit, path) is not None


def fill_in(workspace: Workspace, reader: Reader, actor: Actor, now: Clock, trace: str) -> bool:
    """Give hand-written issues their id and the common keys, in a commit of its own; True where one did.

    One that is not committed yet may still be being written: it waits until a task names it.
    """
    wanted = {task.issue for task in reader.tasks()}
    paths = [
        record.path
        for record in reader.without_id(Kind.ISSUE)
        if (not record.uncommitted or record.id in wanted) and not _is_broken(reader, record.path)
    ]
    return (
        bool(paths) and fix(workspace, paths, actor=actor, now=now(), trace=trace, reader=reader) is not None
    )


def take_over(
    workspace: Workspace,
    reader: Reader,
    all_held: Iterable[Claim],
    runner: str,
    now: Clock,
    entropy: Entropy,
) -> Iterator[Lost]:
    """Each attempt whose holder is gone, after what it left running was stopped."""
    me = claims.this_process(runner)
    for held in all_held:
        if not claims.is_abandoned(held, me, now()):
            continue
        stop_leftovers(held.run)
        ours = claims.claim(
            workspace.git,
            held.task,
            run=held.run,
            attempt=held.attempt,
            holder=me,
            now=now(),
            entropy=entropy,
        )
        if ours is None:
            continue
        lost = _lost(workspace, reader, ours, now)
        if lost is None:
            claims.release(workspace.git, ours)
        else:
            yield lost


def stop_leftovers(run: str) -> None:
    """End the programs of a run whose runner is gone: two agents must not share a directory."""
    mark = f"GITMEM_RUN={run}".encode()
    if run:
        processes.stop(lambda: processes.family(-1, mark), STOP_GRACE_S)


def _lost(workspace: Workspace, reader: Reader, held: Claim, now: Clock) -> Lost | None:
    """The attempt behind a claim, or None where it never began or its task is gone."""
    task = next((task for task in reader.tasks() if task.id == held.task), None)
    if task is None or task.attempt != held.attempt:
        return None
    try:
        issue = reader.issue(task.issue)
        agent = reader.agent(agent_name(task, issue, workspace.config.default_agent) or "")
    except GitmemError:
        return None
    place = rundir.run_dir(workspace.config.id, issue.id, agent.name)
    about = rundir.described(place)
    if about.get("run") != held.run:
        return None
    attempt = Attempt(
        run=held.run,
        task=task,
        issue=issue,
        agent=agent,
        claim=held,
        runner=held.holder.runner,
        started=_said(about, "started") or stamp(now()),
        trace=_said(about, "trace") or "0" * 32,
        base=_said(about, "base") or reader.commit,
        snapshot=_said(about, "snapshot"),
        manifest=read_manifest(workspace.git, _said(about, "snapshot")),
    )
    finished = load_verdict(place, held.run)
    if finished is None:
        finished, attempt = _cut_off(attempt, place)
    return Lost(attempt, place, finished)


def _said(about: dict[str, object], key: str) -> str | None:
    value = about.get(key)
    return value if isinstance(value, str) else None


def _cut_off(attempt: Attempt, place: RunDir) -> tuple[Finished, Attempt]:
    """A run that was cut off: tried again, unless a tool ran and the program cannot pick up its session."""
    events = list(read_events(place.events))
    tool_ran = any(event.get("type") == EventType.TOOL_START for event in events)
    session = next((text(event["session_id"]) for event in events if event.get("session_id")), None)
    verdict = Verdict(
        Reason.RUNNER_LOST, "the runner ended before the agent", session_id=session, tool_ran=tool_ran
    )
    if tool_ran and not (session and adapter_named(attempt.agent.adapter).can_resume):
        attempt = replace(attempt, task=_last_attempt(attempt.task))
    return Finished(attempt.run, verdict, changed=False), attempt


def _last_attempt(task: Task) -> Task:
    return task._replace(max_attempts=task.attempt + 1)
