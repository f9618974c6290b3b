"""The fence: what a run does to the branch is valid only while its task is there, at its attempt."""

from __future__ import annotations

from collections.abc import Callable

from gitmem.core.errors import ConflictError
from gitmem.core.model import Task, task_of
from gitmem.core.record import Kind, Record
from gitmem.store import document
from gitmem.store.git import Git


class TaskGoneError(ConflictError):
    """The task is not there any more, or another attempt at it has begun."""


def fence(git: Git, task: Task) -> Callable[[str], None]:
    """A guard for a change: raises TaskGoneError where a commit does not have the task as it was claimed."""

    def check(tip: str) -> None:
        entry = git.entry(tip, task.path)
        if entry is None:
            raise TaskGoneError(f"task {task.id} is gone")
        parsed = document.parse(git.blob(entry.oid), task.path, whole_yaml=True)
        now = task_of(Record(Kind.TASK, task.id, task.path, entry.oid, parsed.fields))
        if now.attempt != task.attempt:
            raise TaskGoneError(f"task {task.id} is at attempt {now.attempt}")

    return check
