"""What the README shows is what happens: its commands, one after the other, in an empty home."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.transcript import Play, Shell, Step, steps

README = Path(__file__).resolve().parents[2] / "README.md"


def shell(home: Path) -> Shell:
    programs = Path(sys.executable).parent
    env = {
        **os.environ,
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TERM": "xterm",
        "GIT_PAGER": "cat",
    }
    env.pop("GITMEM_RUNS", None)
    return Shell(home, env)


def test_the_tour_of_the_readme_is_true(hermetic: Path) -> None:
    play = Play(shell(hermetic))
    told = list(steps(README.read_text(encoding="utf-8")))
    assert len(told) > 5
    for step in told:
        problem = play.problem(step)
        assert problem is None, f"the README should say\n\n{problem}\n\nwhere it says\n\n{step.printed}"


@pytest.mark.parametrize(
    ("says", "prints", "matches"),
    [
        ("made 7k3q9d2m", "made 0w4t9xbn", True),
        ("7k3q9d2m and 7k3q9d2m", "0w4t9xbn and 0w4t9xbn", True),
        ("7k3q9d2m and 7k3q9d2m", "0w4t9xbn and 5c8e1m0z", False),
        ("took 0.4 s on 2026-11-30", "took 12 s on 2027-01-01", True),
        ("one\n…\nlast", "one\ntwo\nthree\nlast", True),
        ("one\n…", "one", True),
        ("a long li…", "a long line", True),
        ("queued", "queued twice", False),
    ],
)
def test_a_transcript_matches_whatever_differs_each_time(
    says: str, prints: str, matches: bool, hermetic: Path
) -> None:
    step = Step(f"printf '%s\\n' \"{prints}\"", says)
    assert (Play(shell(hermetic)).problem(step) is None) is matches


def test_an_id_of_the_page_stands_for_the_printed_one_in_later_commands(hermetic: Path) -> None:
    play = Play(shell(hermetic))
    assert play.problem(Step("mkdir sub && cd sub && echo 0w4t9xbn", "7k3q9d2m")) is None
    assert play.problem(Step("echo 7k3q9d2m > file; cat file; pwd", "7k3q9d2m\n/home/ana/sub")) is None
    assert (hermetic / "sub" / "file").read_text() == "0w4t9xbn\n"
