"""Whole commands on a warm index, beside the start of Python with click: agents call these all day."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Case, command, interleaved, timed
from benchmarks.options import Options
from benchmarks.report import Line
from benchmarks.workspaces import Made, git, make

TITLE = "Whole commands on a warm index"
GITMEM = Path(sys.executable).with_name("gitmem")
QUEUED = 20
FIRST_BUILDS = 3


def lines(options: Options, folder: Path) -> list[Line]:
    made = make(folder / "workspace", options.issues, queued=QUEUED)
    verbs = {
        "issue list": command([GITMEM, "issue", "list"], made.root),
        "issue view": command([GITMEM, "issue", "view", made.issues[-1][0]], made.root),
        "queue list": command([GITMEM, "queue", "list"], made.root),
        "--help": command([GITMEM, "--help"], made.root),
    }
    for run in verbs.values():
        run()  # once before anything counts, so that the byte code is compiled
    first_s = _first_build(made, timed(verbs["issue list"]))
    cases = {name: timed(run) for name, run in verbs.items()}
    cases["floor"] = timed(command([sys.executable, "-c", "import click"], made.root))
    cases["after a commit"] = _after_a_commit(made, cases["issue list"])
    medians = interleaved(cases, options.rounds)
    return _table({name: seconds * 1000 for name, seconds in medians.items()}, first_s)


def _table(ms: dict[str, float], first_s: float) -> list[Line]:
    floor = Line('floor: `python -c "import click"`', ms["floor"], "ms", short="floor")
    verbs = ("--help", "issue list", "issue view", "queue list")
    update = max(0.0, ms["after a commit"] - ms["issue list"])
    return [
        floor,
        *(Line(f"`gitmem {verb}`", ms[verb], "ms", floor, at_most=2) for verb in verbs),
        Line("index brought up to date after one commit", update, "ms", floor),
        Line("first `gitmem issue list`, which builds the index", first_s, "s"),
    ]


def _first_build(made: Made, list_issues: Case) -> float:
    """The median seconds of `issue list` without an index."""
    taken = []
    for _ in range(FIRST_BUILDS):
        for file in (made.root / ".git" / "gitmem").glob("index.sqlite*"):
            file.unlink()
        taken.append(list_issues())
    return median(taken)


def _after_a_commit(made: Made, list_issues: Case) -> Case:
    """`issue list` when a person has just committed one issue with plain git."""
    paths = _paths(made)

    def take() -> float:
        path = next(paths)
        with (made.root / path).open("a") as file:
            file.write("\nOne more line.\n")
        git(made.root, "commit", "-q", "-m", "edit", "--", path)
        return list_issues()

    return take


def _paths(made: Made) -> Iterator[str]:
    return itertools.cycle(random.Random(3).sample([path for _, path in made.issues], len(made.issues)))
