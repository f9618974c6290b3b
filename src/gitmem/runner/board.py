"""What the decision to start looks at, read from the workspace."""

from __future__ import annotations

import os
from collections.abc import Collection

from gitmem.core.dispatch import Board, agent_name
from gitmem.core.errors import GitmemError
from gitmem.core.model import Issue, Task
from gitmem.core.record import Severity
from gitmem.store import claims
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace


def read(
    workspace: Workspace, reader: Reader, only_agents: Collection[str], left_out: Collection[str]
) -> Board:
    """The board as it stands; only tasks of `only_agents` where that is not empty.

    Tasks in `left_out`, and those whose file cannot be read, are not on it: they block only themselves.
    """
    broken = {problem.path for problem in reader.problems() if problem.severity is Severity.ERROR}
    tasks = [t for t in reader.tasks() if t.path not in broken and t.id not in left_out]
    issues = _issues(reader, tasks)
    default = workspace.config.default_agent
    running = _running(workspace, tasks, issues, default)
    wanted = [
        t for t in tasks if not only_agents or agent_name(t, issues.get(t.issue), default) in only_agents
    ]
    agents = {agent.name: agent for agent in reader.agents() if agent.path not in broken}
    return Board(
        tasks=tuple(wanted),
        issues={key: issue for key, issue in issues.items() if issue.path not in broken},
        agents=agents,
        running=running,
        default_agent=default,
        paused=workspace.config.paused,
    )


def _issues(reader: Reader, tasks: Collection[Task]) -> dict[str, Issue]:
    """The issues of the tasks and what blocks them, by the name that is used for them."""
    found: dict[str, Issue] = {}
    for name in {task.issue for task in tasks}:
        issue = _issue(reader, name)
        if issue is not None:
            found[name] = found[issue.id] = issue
    blockers = {name for issue in found.values() for name in issue.blocked_by} - set(found)
    for name in blockers:
        issue = _issue(reader, name)
        if issue is not None:
            found[name] = issue
    return found


def _issue(reader: Reader, name: str) -> Issue | None:
    if not name or "/" in name:  # a task names an issue by its id, as `check` wants it
        return None
    try:
        return reader.issue(name)
    except GitmemError:
        return None


def _running(
    workspace: Workspace, tasks: Collection[Task], issues: dict[str, Issue], default: str | None
) -> list[tuple[str, str, str]]:
    by_id = {task.id: task for task in tasks}
    found = []
    for held in claims.read_all(workspace.git):
        task = by_id.get(held.task)
        if task is not None:
            issue = issues.get(task.issue)
            found.append((task.id, issue.id if issue else task.issue, agent_name(task, issue, default) or ""))
    return found


def signature(workspace: Workspace) -> object:
    """Changes exactly when the branch or the queue folder has: tells our own bell from others'."""
    try:
        tip = workspace.git.ref(workspace.ref)
    except GitmemError:
        tip = None
    queue = []
    if workspace.root is not None and (workspace.root / "queue").is_dir():
        for entry in os.scandir(workspace.root / "queue"):
            about = entry.stat(follow_symlinks=False)
            queue.append((entry.name, about.st_mtime_ns, about.st_size))
    return tip, tuple(sorted(queue))
