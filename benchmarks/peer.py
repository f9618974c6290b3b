"""Beside Backlog.md, which keeps its tasks as Markdown files in git, too."""

from __future__ import annotations

import itertools
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.conformance.programs import cache, installed

from benchmarks.measure import command, interleaved, spent, timed
from benchmarks.options import Options
from benchmarks.report import Line
from benchmarks.words import sentence, title
from benchmarks.workspaces import commit_files, git, make

PACKAGE, VERSION = "backlog.md", "1.52.0"
TITLE = f"Beside Backlog.md {VERSION}"
ISSUES_MAX = 1_000
GITMEM = Path(sys.executable).with_name("gitmem")
VERBS = ("list", "view", "edit")

# What its `init` writes, except that an edit is a commit, as ours is, and that nothing is fetched.
CONFIG = """\
project_name: "bench"
default_status: "To Do"
statuses: ["To Do", "In Progress", "Done"]
labels: []
date_format: yyyy-mm-dd
max_column_width: 20
auto_open_browser: false
default_port: 6420
remote_operations: false
auto_commit: true
filesystem_only: false
bypass_git_hooks: false
check_active_branches: true
active_branch_days: 30
task_prefix: "task"
"""


@dataclass(frozen=True, slots=True)
class Side:
    """A tool in its own repository; each verb gives the next command to run."""

    root: Path
    next: Mapping[str, Callable[[], list[str | Path]]]

    def run(self, verb: str) -> None:
        command(self.next[verb](), self.root)()


def lines(options: Options, folder: Path) -> list[Line]:
    count = min(options.issues, ISSUES_MAX)
    os.environ["DO_NOT_TRACK"] = "1"
    ours, theirs = _gitmem(folder / "gitmem", count), _backlog(folder / "backlog", count)
    found: list[Line] = []
    for verb in VERBS:
        found += _compare(verb, ours, theirs, count, options.rounds)
    for side in (ours, theirs):
        _check_committed(side, options.rounds)
    return found


def _check_committed(side: Side, edits: int) -> None:
    """Whoever does less is faster: each edit must have become a commit."""
    commits = int(git(side.root, "rev-list", "--count", "HEAD"))
    if commits <= edits or git(side.root, "status", "--porcelain"):
        raise RuntimeError(f"{edits} edits in {side.root} are not {edits} commits")


def _compare(verb: str, ours: Side, theirs: Side, count: int, rounds: int) -> list[Line]:
    sides = {"gitmem": ours, "Backlog.md": theirs}
    cases = {name: timed(partial(side.run, verb)) for name, side in sides.items()}
    seconds = interleaved(cases, rounds)
    found: list[Line] = []
    for unit in ("ms", "MiB"):
        base = None
        for name, side in sides.items():
            what = f"{name}: {verb}{f' {count:,}' if verb == 'list' else ''}"
            value = seconds[name] * 1000 if unit == "ms" else _peak_mib(side, verb)
            line = Line(what if unit == "ms" else f"{what}, peak memory", value, unit, base, short=name)
            base = base or line
            found.append(line)
    return found


def _peak_mib(side: Side, verb: str) -> float:
    return spent(side.next[verb](), side.root).peak_mib


def _gitmem(root: Path, count: int) -> Side:
    made = make(root, count)
    some = _shuffled([issue_id for issue_id, _ in made.issues])
    issue: list[str | Path] = [GITMEM, "issue"]
    return Side(
        root,
        {
            "list": lambda: [*issue, "list", "-s", "all", "-L", "0"],
            "view": lambda: [*issue, "view", next(some)],
            "edit": lambda: [*issue, "edit", next(some), "--add-label", "measured"],
        },
    )


def _backlog(root: Path, count: int) -> Side:
    bin_folder = installed(cache(), PACKAGE, VERSION, os.environ["PATH"])
    # The program itself, without the Node script that starts it.
    program = next(path for path in bin_folder.parent.glob("backlog.md-*/backlog*") if path.is_file())
    commit_files(root, {"backlog/config.yml": CONFIG, **dict(_tasks(count))})
    some = _shuffled([str(number + 1) for number in range(count)])
    task: list[str | Path] = [program, "task"]
    return Side(
        root,
        {
            "list": lambda: [*task, "list", "--plain"],
            "view": lambda: [*task, "view", next(some), "--plain"],
            "edit": lambda: [*task, "edit", next(some), "--add-label", "measured", "--plain"],
        },
    )


def _shuffled(names: list[str]) -> Iterator[str]:
    return itertools.cycle(random.Random(4).sample(names, len(names)))


def _tasks(count: int) -> Iterator[tuple[str, str]]:
    """(path, text) of tasks as Backlog.md itself writes them, of about the size of our issues."""
    chance = random.Random(1)
    for number in range(1, count + 1):
        name = title(chance)
        body = "\n\n".join(sentence(chance, 40) for _ in range(3))
        text = (
            f"---\nid: TASK-{number}\ntitle: {name}\nstatus: {chance.choice(['To Do', 'Done'])}\n"
            f"assignee: []\ncreated_date: '2026-11-{number % 28 + 1:02} 04:13'\nlabels:\n  - auth\n  - bug\n"
            f"dependencies: []\npriority: high\nordinal: {number * 1000}\n---\n\n## Description\n\n"
            f"<!-- SECTION:DESCRIPTION:BEGIN -->\n{body}\n<!-- SECTION:DESCRIPTION:END -->\n\n"
            "## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 "
            f"{sentence(chance, 8)}\n<!-- AC:END -->\n"
        )
        yield f"backlog/tasks/task-{number} - {name.replace(' ', '-')}.md", text
