"""Index entries that the user has marked: git does not look at their files, and neither do we."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace, find
from tests.conftest import git, put
from tests.store.test_change import ISSUE, TEXT, change, clean, show, start

MARKS = {"--skip-worktree": "S", "--assume-unchanged": "h"}


def next_commit(repo: Path) -> None:
    """The user's next ordinary commit, which is to hold their own file and nothing else."""
    tip = git(repo, "rev-parse", "main").strip()
    put(repo, "theirs.txt", "x", commit=False)
    git(repo, "add", "--sparse", "theirs.txt")
    git(repo, "commit", "-q", "-m", "the user's next ordinary commit")
    assert git(repo, "diff", "--name-only", tip, "main").split() == ["theirs.txt"]


def tag(repo: Path, path: str = ISSUE) -> str:
    return git(repo, "ls-files", "-v", "--", path).split()[0]


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_entry_takes_the_change_and_keeps_its_mark(repo: Path, ws: Workspace, mark: str) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "update-index", mark, ISSUE)
    assert start(ws).warnings == ()
    assert tag(repo) == MARKS[mark]
    assert "in_progress" in (repo / ISSUE).read_text()
    assert clean(repo)
    next_commit(repo)
    assert "in_progress" in show(repo)


@pytest.mark.parametrize("mark", MARKS)
def test_hidden_edits_of_a_marked_file_stay_out_of_the_commit(repo: Path, ws: Workspace, mark: str) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "update-index", mark, ISSUE)
    (repo / ISSUE).write_text(TEXT.replace("End.", "My end."))
    assert start(ws).warnings == ()
    assert (repo / ISSUE).read_text() == show(repo).replace("End.", "My end.")
    assert tag(repo) == MARKS[mark]
    next_commit(repo)
    assert "My end." not in show(repo)


def test_both_marks_at_once_are_kept(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "update-index", "--skip-worktree", ISSUE)
    git(repo, "update-index", "--assume-unchanged", ISSUE)
    start(ws)
    assert tag(repo) == "s"
    next_commit(repo)


def test_a_skipped_file_that_is_not_there_is_not_called_removed(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "update-index", "--skip-worktree", ISSUE)
    (repo / ISSUE).unlink()
    assert start(ws).warnings == ()
    assert not (repo / ISSUE).exists()
    assert tag(repo) == "S"
    assert clean(repo)
    next_commit(repo)
    assert "in_progress" in show(repo)


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_file_can_be_deleted(repo: Path, ws: Workspace, mark: str) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "update-index", mark, ISSUE)
    gone = change(ws)
    gone.delete(ISSUE)
    assert gone.commit("x").warnings == ()
    assert not (repo / ISSUE).exists()
    assert clean(repo)
    next_commit(repo)
    assert git(repo, "ls-tree", "main", ISSUE) == ""


@pytest.mark.parametrize("index", ["--no-sparse-index", "--sparse-index"])
def test_outside_a_sparse_checkout_an_issue_is_read_and_edited(repo: Path, index: str) -> None:
    other = ISSUE.replace("7k3q9d2m", "8k3q9d2m")
    put(repo, ISSUE, TEXT)
    put(repo, other, TEXT.replace("7k3q9d2m", "8k3q9d2m"))
    put(repo, "queue/.gitkeep", "")
    git(repo, "sparse-checkout", "set", "--cone", index, "queue")
    assert not (repo / "issues").exists()
    with find(repo) as ws:
        assert start(ws).warnings == ()
        with Reader(ws) as reader:
            assert reader.issue("7k3q9d2m").status == "in_progress"
            assert reader.issue("8k3q9d2m").status == "todo"
    assert not (repo / "issues").exists()
    assert (tag(repo), tag(repo, other)) == ("S", "S")
    assert clean(repo)
    next_commit(repo)
    git(repo, "sparse-checkout", "disable")
    assert "in_progress" in (repo / ISSUE).read_text()
    assert clean(repo)


def test_an_issue_made_outside_a_sparse_checkout_survives_the_next_commit(repo: Path) -> None:
    put(repo, "queue/.gitkeep", "")
    git(repo, "sparse-checkout", "set", "--cone", "queue")
    with find(repo) as ws:
        make = change(ws)
        make.create(ISSUE, TEXT.encode())
        make.commit("x")
        assert clean(repo)
        start(ws)
    assert clean(repo)
    next_commit(repo)
    assert "in_progress" in show(repo)
