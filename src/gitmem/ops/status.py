"""The state of a workspace on one screen, and what happened meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gitmem.core.clock import parse_stamp
from gitmem.core.layout import CONFIG_FILE
from gitmem.core.model import Issue, Run, Task
from gitmem.core.record import Kind, Severity
from gitmem.core.states import OPEN_STATUSES, IssueStatus, TaskState
from gitmem.ops.tasks import with_claims
from gitmem.ops.view import View
from gitmem.store import claims, git_files
from gitmem.store.claims import Claim
from gitmem.store.history import ByHand, Event, events
from gitmem.store.workspace import Workspace

_FOR_PEOPLE = (IssueStatus.IN_REVIEW, IssueStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class RunnerSeen:
    """A runner as its claims show it; `alive` is None for another machine."""

    name: str
    host: str
    alive: bool | None
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Status:
    name: str
    branch: str
    paused: bool
    tasks: Sequence[Task]
    runners: Sequence[RunnerSeen]
    waiting: Sequence[Issue]
    open_issues: int
    errors: int
    warnings: Sequence[str]

    def count(self, state: TaskState) -> int:
        return sum(task.state is state for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happened since a time. `spent` adds what runs reported; a missing key was never reported."""

    runs: Sequence[Run]
    outcomes: Counter[str] = field(default_factory=Counter)
    spent: dict[str, float] = field(default_factory=dict)
    commits: int = 0
    by_hand: int = 0
    new_skills: Sequence[str] = ()


def status(ws: Workspace, view: View) -> Status:
    reader = view.reader
    tasks = with_claims(view.keep(Kind.TASK, reader.tasks()), ws.git)
    people = view.keep(Kind.ISSUE, reader.issues(statuses=_FOR_PEOPLE))
    problems = [p for p in reader.problems() if p.severity is Severity.ERROR]
    return Status(
        name=ws.config.name,
        branch=ws.branch,
        paused=ws.config.paused,
        tasks=tasks,
        runners=_runners(claims.read_all(ws.git)) if tasks else [],
        waiting=people,
        open_issues=view.count_issues(OPEN_STATUSES),
        errors=len({problem.path for problem in problems}),
        warnings=list(_dropped_elsewhere(ws)),
    )


def _runners(held: Sequence[Claim]) -> list[RunnerSeen]:
    by_holder: dict[tuple[str, str, bool | None], list[str]] = {}
    for claim in held:
        key = (claim.holder.runner, claim.holder.host, claims.is_alive(claim.holder))
        by_holder.setdefault(key, []).append(claim.task)
    return [RunnerSeen(name, host, alive, tuple(t)) for (name, host, alive), t in by_holder.items()]


def _dropped_elsewhere(ws: Workspace) -> list[str]:
    """Task files in a work tree of another branch: no runner takes them."""
    found = []
    for tree in git_files.worktrees(ws.git.places):
        branch = git_files.head_branch(tree.git_dir)
        root = tree.worktree
        if root is None or branch == ws.branch or not (root / CONFIG_FILE).is_file():
            continue
        for file in sorted((root / "queue").glob("*.yaml")):
            if ws.git.entry(ws.tip(), f"queue/{file.name}") is None:
                found.append(_elsewhere(file.relative_to(root), branch, ws.branch))
    return found


def _elsewhere(file: Path, branch: str | None, wanted: str) -> str:
    where = f"branch {branch}" if branch else "a detached HEAD"
    return f"{file} lies on {where} and is not taken: the queue is on branch {wanted}"


def meanwhile(ws: Workspace, view: View, since: datetime) -> Meanwhile:
    """Runs that ended, what they spent, commits and new skills since a time."""
    runs = [run for run in view.keep(Kind.RUN, view.reader.runs()) if _ended_after(run, since)]
    spent: dict[str, float] = {}
    for run in runs:
        for key, value in run.usage.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                spent[key] = spent.get(key, 0) + value
    seen = list(events(ws, since=since))
    return Meanwhile(
        runs=runs,
        outcomes=Counter(str(run.outcome) for run in runs),
        spent=spent,
        commits=len(seen),
        by_hand=sum(event.action in set(ByHand) for event in seen),
        new_skills=_new_skills(ws, view, seen),
    )


def _ended_after(run: Run, since: datetime) -> bool:
    ended = parse_stamp(run.ended or run.started)
    return ended is not None and ended >= since


def _new_skills(ws: Workspace, view: View, seen: Sequence[Event]) -> list[str]:
    """The skills that are there now and were not before the oldest of these commits."""
    if not seen:
        return []
    before = _parent(ws, seen[-1].commit)
    old = (
        {e.path.split("/")[1] for e in ws.git.ls_tree(before, "skills") if "/" in e.path} if before else set()
    )
    return [skill.name for skill in view.keep(Kind.SKILL, view.reader.skills()) if skill.name not in old]


def _parent(ws: Workspace, commit: str) -> str | None:
    out = ws.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^", ok=(0, 1))
    return out.decode().strip() or None
