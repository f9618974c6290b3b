"""Workspaces to measure in: many issues with every common key, in month folders, made in a second or two."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import words
from gitmem.core.ids import new_id
from gitmem.core.layout import issue_path

MONTHS = 24
_LABELS = ("api", "auth", "bug", "build", "docs", "flaky", "perf", "ui")
# Mostly finished work, as in any tracker that has been used for two years.
_STATUSES = (
    ("done",) * 80
    + ("cancelled",) * 5
    + ("backlog",) * 6
    + ("todo",) * 6
    + ("in_review", "blocked", "in_progress")
)
_PRIORITIES = ("urgent", "high", "medium", "low", "none", "none")

CONFIG = """\
format: 1

id: k3v9x2m7

name: bench

branch: main

default_agent: {agent}

projects: []

paused: false

repositories: []

schedules: []

limits:
  runs_per_night: 100000
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A generated workspace; `issues` holds (id, path) in the order of creation."""

    root: Path
    issues: Sequence[tuple[str, str]]


def make(
    root: Path,
    issues: int,
    *,
    files: Mapping[str, str] | None = None,
    agent: str = "null",
    queued: int = 0,
    seed: int = 1,
) -> Made:
    """A workspace with so many issues, checked out and clean.

    The first `queued` open issues have a task for `agent`, the default agent. The other `files` are
    committed by a person on this machine, so that what they say may be run.
    """
    chance = random.Random(seed)
    made = list(_issues(chance, issues))
    every = {"gitmem.yaml": CONFIG.format(agent=agent), ".gitattributes": "* -text\n"}
    every |= {path: text for _, path, text in made}
    waiting = [issue_id for issue_id, _, text in made if "\nstatus: todo\n" in text][:queued]
    if len(waiting) < queued:
        raise ValueError(f"{issues} issues have only {len(waiting)} to queue")
    every |= {f"queue/{new_id(chance.randbytes)}.yaml": _task(issue_id) for issue_id in waiting}
    commit_files(root, every)
    for path, text in (files or {}).items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        git(root, "add", "--", path)
    if files:
        git(root, "commit", "-q", "-m", "agents and people")
    return Made(root, [(issue_id, path) for issue_id, path, _ in made])


def commit_files(root: Path, files: Mapping[str, str]) -> None:
    """A repository with one commit of these files, checked out, clean, and at rest.

    At rest: written an hour ago. Git reads files again that are as young as its index.
    """
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "fast-import", "--quiet", data=b"".join(_stream(files)))
    git(root, "reset", "-q", "--hard", "main")
    an_hour_ago = time.time() - 3600
    for path in files:
        os.utime(root / path, (an_hour_ago, an_hour_ago))
    git(root, "update-index", "-q", "--refresh")


def _issues(chance: random.Random, count: int) -> Iterator[tuple[str, str, str]]:
    """(id, path, text) of each issue, evenly over the months."""
    for number in range(count):
        month = number * MONTHS // count
        created = f"{2025 + month // 12}-{month % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:19:00Z"
        issue_id = new_id(chance.randbytes)
        title = words.title(chance)
        yield issue_id, issue_path(issue_id, title, created), _text(chance, issue_id, title, created)


def _text(chance: random.Random, issue_id: str, title: str, created: str) -> str:
    labels = "".join(f"\n  - {label}" for label in sorted(chance.sample(_LABELS, 2)))
    keys = [
        f"id: {issue_id}",
        f"title: {title}",
        f"status: {chance.choice(_STATUSES)}",
        f"priority: {chance.choice(_PRIORITIES)}",
        "assignee: null",
        f"labels:{labels}",
        "parent: null",
        "blocked_by: []",
        "context_refs: []",
        f"acceptance_criteria:\n  - {words.sentence(chance, 8)}",
        "repo: null",
        "touches: []",
        "project: null",
        "sensitivity: internal",
        "allowed: []",
        f"created: {created}",
        "created_by: member:ana",
    ]
    body = "\n\n".join(words.sentence(chance, 40) for _ in range(3))
    return "---\n" + "\n\n".join(keys) + f"\n---\n{body}\n"


def _task(issue_id: str) -> str:
    keys = ["agent: null", "state: queued", "trigger: assignment", "requested_by: member:ana", "attempt: 0"]
    keys += ["max_attempts: 2", "priority: none", "not_before: null", "delivered: []"]
    return "\n\n".join([f"issue: issue:{issue_id}", *keys]) + "\n"


def _stream(files: Mapping[str, str]) -> Iterator[bytes]:
    """The one commit, in the language of `git fast-import`."""
    yield b"commit refs/heads/main\ncommitter Ana <ana@example.org> 1796077140 +0000\ndata 9\nworkspace\n"
    for path, text in files.items():
        data = text.encode()
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)


def git(root: Path, *args: str, data: bytes | None = None) -> str:
    done = subprocess.run(["git", *args], cwd=root, input=data, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()
