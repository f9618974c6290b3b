"""The branch moves only where the work tree in which it is checked out can follow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.core.errors import LockedError
from gitmem.store import git_files
from gitmem.store.git import Git
from gitmem.store.workspace import find
from tests.conftest import CONFIG, git, put
from tests.store.test_change import ISSUE, TEXT, clean, show, start
from tests.store.test_crash import BOUNDARIES, TOP
from tests.store.test_marked_entries import next_commit


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A workspace whose git directory is not in it."""
    folder = tmp_path / "apart"
    git(tmp_path, "init", "-q", "-b", "main", f"--separate-git-dir={tmp_path / 'store'}", str(folder))
    put(folder, "gitmem.yaml", CONFIG)
    put(folder, ISSUE, TEXT)
    return folder


def linked(repo: Path) -> Path:
    """A work tree of another branch, from which the workspace branch is written."""
    git(repo, "worktree", "add", "-q", "-b", "side", "../linked")
    return repo.parent / "linked"


def edit_from(folder: Path) -> None:
    with find(folder) as ws:
        start(ws)


def test_with_its_git_directory_elsewhere_a_work_tree_is_written_from_within(elsewhere: Path) -> None:
    edit_from(elsewhere)
    assert clean(elsewhere)
    next_commit(elsewhere)
    assert "in_progress" in show(elsewhere)


def test_a_branch_whose_work_tree_cannot_be_found_is_not_moved(elsewhere: Path) -> None:
    other = linked(elsewhere)
    with pytest.raises(LockedError, match="cannot be found from here") as told:
        edit_from(other)
    assert told.value.exit_code == 11
    assert clean(elsewhere)
    git(elsewhere, "checkout", "-q", "-b", "third")
    edit_from(other)
    assert "in_progress" in show(elsewhere)
    assert clean(elsewhere)


def test_a_main_work_tree_that_git_knows_the_place_of_follows(elsewhere: Path) -> None:
    git(elsewhere, "config", "core.worktree", "../apart")
    edit_from(linked(elsewhere))
    assert clean(elsewhere)
    next_commit(elsewhere)
    assert "in_progress" in show(elsewhere)


def test_the_main_work_tree_of_a_submodule_follows(repo: Path, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    git(tmp_path, "init", "-q", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "memory")
    inner = tmp_path / "outer/memory"
    edit_from(linked(inner))
    assert clean(inner)
    next_commit(inner)
    assert "in_progress" in show(inner)


def test_the_branch_of_a_bare_repository_follows_in_its_linked_work_tree(repo: Path, tmp_path: Path) -> None:
    """`git clone --bare URL .git`: the folder around it is no work tree, whatever HEAD says."""
    put(repo, ISSUE, TEXT)
    outer = tmp_path / "outer"
    git(tmp_path, "clone", "-q", "--bare", str(repo), "outer/.git")
    git(outer, "worktree", "add", "-q", "main")
    git(outer, "worktree", "add", "-q", "-b", "side", "side")
    for place in (outer / "side", outer / ".git", outer):
        with find(place) as ws:
            assert ws.root == outer / "main"
    edit_from(outer / "side")
    assert not (outer / "issues").exists()
    assert clean(outer / "main")
    next_commit(outer / "main")
    assert "in_progress" in show(outer / "main")


def test_a_setting_that_leads_to_another_repository_is_not_followed(repo: Path, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    git(tmp_path, "init", "-q", "foreign")
    git(repo, "config", "core.worktree", str(tmp_path / "foreign"))
    with pytest.raises(LockedError), find(repo) as ws:
        start(ws)
    assert "todo" in show(repo)
    assert not (tmp_path / "foreign/issues").exists()


def test_a_branch_in_a_locked_work_tree_that_is_away_is_not_moved(repo: Path, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "-b", "side")
    away = tmp_path / "disk"
    git(repo, "worktree", "add", "-q", "--lock", str(away), "main")
    away.rename(tmp_path / "unmounted")
    with pytest.raises(LockedError):
        edit_from(repo)
    (tmp_path / "unmounted").rename(away)
    edit_from(repo)
    assert clean(away)


def test_a_link_to_a_work_tree_may_be_relative(repo: Path) -> None:
    put(repo, ISSUE, TEXT)
    other = linked(repo)
    (repo / ".git/worktrees/linked/gitdir").write_text("../../../../linked/.git\n")
    with Git.discover(repo) as here:
        assert [p.worktree for p in git_files.worktrees(here.places)] == [repo, other]


def test_after_a_kill_a_command_from_another_work_tree_leaves_the_rest_to_that_one(
    elsewhere: Path, tmp_path: Path
) -> None:
    put(elsewhere, "notes/edited.txt", "old\n")
    put(elsewhere, "notes/removed.txt", "x\n")
    other = linked(elsewhere)
    argv = [BOUNDARIES["ref moved"], str(tmp_path / "mark"), "tests.support.programs:change_three_files"]
    crash = [sys.executable, "-m", "tests.support.crash", *argv, str(elsewhere)]
    assert subprocess.run(crash, cwd=TOP, check=False, capture_output=True).returncode == -9
    with find(other):
        pass
    with find(elsewhere):
        pass
    assert clean(elsewhere)
    next_commit(elsewhere)
    assert show(elsewhere, "notes/edited.txt") == "new\n"
