"""Which tasks may start now, in which order, and why the others may not: a pure decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from gitmem.core.clock import parse_stamp
from gitmem.core.model import Agent, Issue, Task
from gitmem.core.states import OPEN_STATUSES, PRIORITY_RANK, IssueStatus, Priority, TaskState


@dataclass(frozen=True, slots=True)
class Ready:
    task: Task
    issue: Issue
    agent: Agent


@dataclass(frozen=True, slots=True)
class Held:
    """A task that does not start now, and why, in words for people."""

    task: Task
    reason: str


@dataclass(frozen=True, slots=True)
class Board:
    """What the decision looks at. `running` holds (task, issue, agent) of each claimed task."""

    tasks: tuple[Task, ...]
    issues: Mapping[str, Issue]
    agents: Mapping[str, Agent]
    running: Collection[tuple[str, str, str]]
    default_agent: str | None = None
    paused: bool = False


def agent_name(task: Task, issue: Issue | None, default: str | None) -> str | None:
    """The agent of a task: its own, else the assignee, else the workspace's default."""
    if task.agent:
        return task.agent
    if issue and issue.assignee and issue.assignee.startswith("agent:"):
        return issue.assignee.removeprefix("agent:")
    return default


def decide(board: Board, now: datetime) -> tuple[list[Ready], list[Held]]:
    """The tasks that may start, most urgent first, and those that may not."""
    ready: list[Ready] = []
    held: list[Held] = []
    busy = Counter(agent for _, _, agent in board.running)
    pairs = {(issue, agent) for _, issue, agent in board.running}
    for task in _ordered(board):
        reason, issue, agent = _hold(board, task, now)
        if reason is None and issue is not None and agent is not None:
            if (issue.id, agent.name) in pairs:
                reason = f"{agent.name} is already at work on issue {issue.id}"
            elif busy[agent.name] >= agent.max_concurrent:
                reason = f"{agent.name} is at its limit of {agent.max_concurrent} at once"
            else:
                busy[agent.name] += 1
                pairs.add((issue.id, agent.name))
                ready.append(Ready(task, issue, agent))
                continue
        held.append(Held(task, reason or "cannot start"))
    return ready, held


def _ordered(board: Board) -> Iterable[Task]:
    """Most urgent first, then oldest; a task without a time of its own is as old as its issue."""

    def key(task: Task) -> tuple[int, str, str]:
        issue = board.issues.get(task.issue)
        priority = task.priority
        if priority is Priority.NONE and issue:
            priority = issue.priority
        age = task.created or (issue.created if issue else None) or ""
        return PRIORITY_RANK[priority], age, task.id

    running = {task for task, _, _ in board.running}
    return sorted((task for task in board.tasks if task.id not in running), key=key)


def _hold(board: Board, task: Task, now: datetime) -> tuple[str | None, Issue | None, Agent | None]:
    issue = board.issues.get(task.issue)
    name = agent_name(task, issue, board.default_agent)
    agent = board.agents.get(name or "")
    return _reason(board, task, issue, name, agent, now), issue, agent


def _reason(
    board: Board, task: Task, issue: Issue | None, name: str | None, agent: Agent | None, now: datetime
) -> str | None:
    if board.paused:
        return "the queue is paused"
    if task.state is TaskState.WAITING:
        return "waits for a person"
    if issue is None:
        return f"there is no issue {task.issue!r}" if task.issue else "names no issue"
    if name is None:
        return f"no agent: issue {issue.id} is assigned to {issue.assignee or 'nobody'}"
    if agent is None:
        return f"there is no agent {name!r}"
    if issue.status not in OPEN_STATUSES:
        return f"issue {issue.id} is {issue.status}"
    if issue.repos:
        return (
            f"issue {issue.id} needs a checkout of {', '.join(issue.repos)}, which this version cannot make"
        )
    not_before = parse_stamp(task.not_before)
    if not_before and not_before > now:
        return f"not before {task.not_before}"
    blocker = next((b for b in issue.blocked_by if _is_open(board, b)), None)
    return f"blocked by issue {blocker}" if blocker else None


def _is_open(board: Board, issue_id: str) -> bool:
    blocker = board.issues.get(issue_id)
    return blocker is not None and blocker.status not in {IssueStatus.DONE, IssueStatus.CANCELLED}
