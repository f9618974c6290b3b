"""Tasks as they stand: files in queue/, and the claims that tell which of them run."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.core.model import Task
from gitmem.core.states import PRIORITY_RANK, TaskState
from gitmem.store.claim_refs import claimed
from gitmem.store.git import Git


def with_claims(tasks: Iterable[Task], git: Git) -> list[Task]:
    """Tasks with their true state, in the order in which runners take them."""
    ordered = sorted(tasks, key=lambda task: (PRIORITY_RANK[task.priority], task.not_before or "", task.id))
    running = claimed(git) if ordered else frozenset()
    return [task._replace(state=TaskState.RUNNING) if task.id in running else task for task in ordered]
