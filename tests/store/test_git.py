from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.core.errors import GitError
from gitmem.store.git import (
    FILE,
    ZERO,
    Git,
    RefMovedError,
    RefUpdate,
    Signature,
    TreeEntry,
    blob_id,
    git_files,
)
from gitmem.store.workspace import Workspace
from tests.conftest import git, put

ANA = Signature("Ana", "ana@example.org")


def commit(door: Git, path: str, data: bytes, parent: str) -> str:
    batch = door.batch()
    tree = batch.tree([TreeEntry(path, FILE, batch.blob(data))])
    oid = batch.commit(tree, [parent], "m\n", author=ANA, committer=ANA, epoch_s=1_700_000_000)
    batch.flush()
    return oid


def test_what_we_write_is_what_git_reads(repo: Path, ws: Workspace) -> None:
    oid = commit(ws.git, "ä b.md", b"text\r\n", ws.tip())
    assert git(repo, "cat-file", "-p", f"{oid}:ä b.md") == "text\r\n"
    assert (
        git(repo, "log", "-1", "--format=%an %ae %at %B", oid).strip() == "Ana ana@example.org 1700000000 m"
    )
    git(repo, "fsck", "--strict")


def test_a_blob_id_is_gits_own(repo: Path) -> None:
    (repo / "x").write_bytes(b"\0\xff")
    assert blob_id(b"\0\xff") == git(repo, "hash-object", "x").strip()


def test_refs_move_only_from_their_old_value(ws: Workspace) -> None:
    tip = ws.tip()
    ws.git.update_refs([RefUpdate("refs/gitmem/claims/a", tip, ZERO)])
    with pytest.raises(RefMovedError):
        ws.git.update_refs([RefUpdate("refs/gitmem/claims/a", tip, ZERO)])
    other = commit(ws.git, "f", b"", tip)
    with pytest.raises(RefMovedError):
        ws.git.update_refs([RefUpdate("refs/x/y", tip, ZERO), RefUpdate("refs/gitmem/claims/a", tip, other)])
    assert ws.git.ref("refs/x/y") is None
    ws.git.update_refs([RefUpdate("refs/gitmem/claims/a", ZERO, tip)])
    assert ws.git.ref("refs/gitmem/claims/a") is None


def test_a_packed_ref_is_found(repo: Path, ws: Workspace) -> None:
    before = ws.tip()
    git(repo, "pack-refs", "--all")
    assert ws.git.ref("refs/heads/main") == before
    assert ws.git.refs("refs/heads") == {"refs/heads/main": before}


def test_diff_and_log_tell_each_changed_path(repo: Path, ws: Workspace) -> None:
    first = ws.tip()
    put(repo, "issues/ä.md", "a")
    put(repo, "issues/b.md", "b")
    git(repo, "rm", "-q", "issues/b.md")
    git(repo, "commit", "-q", "-m", "gone\n\nbody")
    changes = ws.git.diff_tree(first, ws.tip())
    assert [(c.path, c.old, c.new) for c in changes] == [("issues/ä.md", None, blob_id(b"a"))]
    log = list(ws.git.log("main", paths=["issues/b.md"]))
    assert [c.message.strip() for c in log] == ["gone\n\nbody", "write issues/b.md"]
    assert log[0].author == ANA
    assert log[0].committed.endswith("Z")


def test_uncommitted_files_of_every_kind_are_listed(repo: Path, ws: Workspace) -> None:
    put(repo, "queue/changed.yaml", "a: 1\n")
    put(repo, "queue/gone.yaml", "a: 1\n")
    (repo / "queue/changed.yaml").write_text("a: 2\n")
    (repo / "queue/gone.yaml").unlink()
    put(repo, "queue/new ü.yaml", "x", commit=False)
    put(repo, "other.md", "x", commit=False)
    assert sorted(ws.git.uncommitted("queue")) == [
        "queue/changed.yaml",
        "queue/gone.yaml",
        "queue/new ü.yaml",
    ]


def test_a_hooks_environment_does_not_lead_us_astray(
    repo: Path, ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert ws.git.uncommitted() == []
    assert ws.git.blob(ws.git.store_blob(b"x")) == b"x"


def test_a_linked_work_tree_and_a_bare_clone_are_found(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    linked, bare = git_files.find_places(tmp_path / "side"), git_files.find_places(tmp_path / "bare.git")
    assert (linked.common_dir, linked.worktree) == (repo / ".git", tmp_path / "side")
    assert (bare.git_dir, bare.worktree) == (tmp_path / "bare.git", None)
    assert [p.worktree for p in git_files.worktrees(linked)] == [repo, tmp_path / "side"]
    with pytest.raises(GitError):
        git_files.find_places(tmp_path)


def test_merging_bytes_refuses_the_same_lines(ws: Workspace) -> None:
    base = b"a\n\nb\n\nc\n"
    assert ws.git.merge_bytes(base, b"A\n\nb\n\nc\n", b"a\n\nb\n\nC\n") == b"A\n\nb\n\nC\n"
    assert ws.git.merge_bytes(base, b"A\n\nb\n\nc\n", b"X\n\nb\n\nc\n") is None
