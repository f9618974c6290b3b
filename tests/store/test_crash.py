"""`kill -9` in the middle of a change, in a real process: afterwards it has happened whole or not at all."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.store.workspace import find
from tests.conftest import git, put

TOP = Path(__file__).parents[2]
PROGRAM = "tests.support.programs:change_three_files"
BOUNDARIES = {
    "lock": "gitmem.store.move:BranchMove.__enter__",
    "journal": "gitmem.store.move:write_journal",
    "working file": "gitmem.store.checkout:Checkout.write",
    "object written": "gitmem.store.git_objects:ObjectBatch.flush",
    "ref moved": "gitmem.store.move:move_refs",
    "index entry": "gitmem.store.checkout:Checkout.adopt_index",
}
TEXT = "first\n\nold\n\nlast\n"


@pytest.fixture
def place(repo: Path) -> Path:
    put(repo, "notes/edited.txt", TEXT)
    put(repo, "notes/removed.txt", "x\n")
    # What the user has in hand: an unsaved edit beside ours, a staged file, a stash.
    put(repo, "notes/edited.txt", TEXT.replace("last", "mine"), commit=False)
    put(repo, "staged.txt", "staged", commit=False)
    git(repo, "add", "staged.txt")
    return repo


def run(where: str, place: Path, mark: Path) -> int:
    argv = [sys.executable, "-m", "tests.support.crash", where, str(mark), PROGRAM, str(place)]
    return subprocess.run(argv, cwd=TOP, check=False, capture_output=True).returncode


def check_whole(place: Path) -> None:
    """After the next command of ours: old or new throughout, and the user's next commit reverts nothing."""
    with find(place) as ws:
        tip = ws.tip()
    files = git(place, "ls-tree", "-r", "--name-only", tip, "notes").split()
    landed = "notes/fresh/added.txt" in files
    assert files == (
        ["notes/edited.txt", "notes/fresh/added.txt"] if landed else ["notes/edited.txt", "notes/removed.txt"]
    )
    word = "new" if landed else "old"
    assert git(place, "show", f"{tip}:notes/edited.txt") == TEXT.replace("old", word)
    assert (place / "notes/edited.txt").read_text() == TEXT.replace("old", word).replace("last", "mine")
    assert (place / "notes/removed.txt").exists() is not landed
    assert (place / "notes/fresh").exists() is landed
    assert sorted(git(place, "status", "--porcelain").splitlines()) == [
        " M notes/edited.txt",
        "A  staged.txt",
    ]
    git(place, "fsck", "--strict")
    git(place, "commit", "-q", "-m", "the user's next ordinary commit")
    assert git(place, "diff", "--name-only", tip, "HEAD").split() == ["staged.txt"]


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_kill_at_each_boundary_leaves_the_old_state_or_the_new(
    place: Path, tmp_path: Path, boundary: str
) -> None:
    mark = tmp_path / "mark"
    assert run(BOUNDARIES[boundary], place, mark) == -9
    assert mark.read_text() == BOUNDARIES[boundary]
    check_whole(place)


@pytest.mark.parametrize("boundary", ["working file", "ref moved"])
@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_after_a_kill_an_entry_that_the_user_marked_is_still_marked(
    place: Path, tmp_path: Path, mark: str, boundary: str
) -> None:
    git(place, "update-index", mark, "notes/edited.txt")
    tag = git(place, "ls-files", "-v", "notes/edited.txt")
    assert run(BOUNDARIES[boundary], place, tmp_path / "mark") == -9
    with find(place):
        pass
    assert git(place, "ls-files", "-v", "notes/edited.txt") == tag
    git(place, "update-index", mark.replace("--", "--no-"), "notes/edited.txt")
    check_whole(place)


@pytest.mark.parametrize("number", range(10))
def test_a_kill_at_a_random_call_leaves_the_old_state_or_the_new(
    place: Path, tmp_path: Path, number: int
) -> None:
    mark = tmp_path / "mark"
    calls = count(place, tmp_path)
    git(place, "reset", "-q", "--soft", "HEAD~1")
    git(place, "reset", "-q", "--", "notes")
    git(place, "checkout", "-q", "--", "notes/removed.txt")
    put(place, "notes/edited.txt", TEXT.replace("last", "mine"), commit=False)
    (place / "notes/fresh/added.txt").unlink()
    (place / "notes/fresh").rmdir()
    for at in random.Random(number).sample(range(1, calls), 3):
        status = run(f"call:{at}", place, mark)
        assert status in {-9, 0, 1}, f"killed at call {at}: {mark.read_text() if mark.exists() else ''}"
        if status == -9:
            break
    check_whole(place)


def count(place: Path, tmp_path: Path) -> int:
    assert run("count", place, tmp_path / "count") == 0
    return int((tmp_path / "count").read_text())
