"""`kill -9` of the runner at any point: the next one brings every task to exactly one outcome."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import git, put
from tests.runner.conftest import ISSUE, Bench

TOP = Path(__file__).parents[2]
PROGRAM = "tests.support.programs:run_once"
BOUNDARIES = {
    "claim": "gitmem.store.claims:claim",
    "snapshot pinned": "gitmem.runner.starting:pin",
    "journal": "gitmem.store.move:write_journal",
    "object written": "gitmem.store.git_objects:ObjectBatch.flush",
    "working file": "gitmem.store.checkout:Checkout.write",
    "ref moved": "gitmem.store.move:move_refs",
    "index entry": "gitmem.store.checkout:Checkout.adopt_index",
    "run directory": "gitmem.runner.rundir:prepare",
    "spawn": "gitmem.agents.spawn:Process.__init__",
    "agent ended": "gitmem.runner.loop:save_verdict",
    "outbox read": "gitmem.runner.ending:read_outbox",
    "delivery": "gitmem.runner.ending:deliver",
}


def crash(where: str, repo: Path, mark: Path) -> int:
    argv = [sys.executable, "-m", "tests.support.crash", where, str(mark), PROGRAM, str(repo)]
    return subprocess.run(argv, cwd=TOP, check=False, capture_output=True).returncode


def settle(bench: Bench) -> None:
    """Start runners, later each time, until the queue is empty."""
    for _ in range(4):
        bench.ws.close()
        bench.once()
        bench.now += timedelta(hours=1)
        if not bench.at_tip("queue/"):
            return


def check_one_outcome(bench: Bench) -> None:
    assert bench.at_tip("queue/") == []
    assert bench.claims() == ""
    records = [bench.fields(path) for path in bench.at_tip("runs/")]
    ended = [record["outcome"] for record in records if record["reason"] != "runner_lost"]
    assert ended == ["succeeded"]
    assert len(bench.at_tip("skills/")) == 1
    assert len(bench.comments()) == 1
    assert bench.status() == "done"
    assert not (bench.repo / ".git/index.lock").exists()
    git(bench.repo, "fsck", "--strict")


@pytest.fixture
def queued(bench: Bench) -> Bench:
    """A queued task, and a user with an unsaved edit and a staged file."""
    bench.queue("worker")
    put(bench.repo, ISSUE, bench.show(ISSUE).replace("It fails.", "It fails at night."), commit=False)
    put(bench.repo, "staged.txt", "mine", commit=False)
    git(bench.repo, "add", "staged.txt")
    return bench


def check_users_work(bench: Bench) -> None:
    assert git(bench.repo, "status", "--porcelain").splitlines() == [f" M {ISSUE}", "A  staged.txt"]
    assert "It fails at night." in (bench.repo / ISSUE).read_text()
    tip = bench.ws.tip()
    git(bench.repo, "commit", "-q", "-m", "the user's next ordinary commit")
    assert git(bench.repo, "diff", "--name-only", tip, "HEAD").split() == ["staged.txt"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_kill_at_each_boundary_leaves_one_outcome(queued: Bench, tmp_path: Path, boundary: str) -> None:
    mark = tmp_path / "mark"
    assert crash(BOUNDARIES[boundary], queued.repo, mark) == -9
    assert mark.read_text() == BOUNDARIES[boundary]
    settle(queued)
    check_one_outcome(queued)
    check_users_work(queued)


@pytest.mark.parametrize("number", range(30))
def test_a_kill_at_a_random_call_leaves_one_outcome(queued: Bench, tmp_path: Path, number: int) -> None:
    # Such a run makes some 97,000 calls; a number past its end is an ordinary run.
    at = random.Random(number).randrange(1, 97_000)
    assert crash(f"call:{at}", queued.repo, tmp_path / "mark") in {-9, 0}
    settle(queued)
    check_one_outcome(queued)
    check_users_work(queued)
