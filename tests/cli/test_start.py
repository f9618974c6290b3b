from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.cli.start import early_look
from gitmem.store.overlay import Watch
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import put


def test_a_reading_command_starts_git_status_at_once_and_the_reader_uses_it(
    repo: Path, ws: Workspace
) -> None:
    put(repo, "queue/x.yaml", "issue: 7k3q9d2m\n", commit=False)
    look = early_look(["-C", str(repo / "queue"), "--json", "queue", "list"])
    assert look is not None
    with Reader(ws, look=look) as reader:
        assert reader.uncommitted == {"queue/x.yaml"}
    assert look.close() is None  # it was used up


def test_a_look_at_another_work_tree_is_not_used(repo: Path, ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name in (".git", "gitmem.yaml"):
        (tmp_path / "other" / name).write_text("")
    look = early_look(["-C", str(tmp_path / "other"), "issue", "list"])
    assert look is not None
    assert Watch(ws, look).paths() == []
    assert look.close() is None


@pytest.mark.parametrize(
    "argv",
    [["issue", "create", "list"], ["run"], ["issue", "--help"], [], ["--version"], ["queue", "add", "x"]],
)
def test_other_commands_start_nothing(repo: Path, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo)
    assert early_look(argv) is None


def test_outside_a_workspace_and_without_git_nothing_is_started(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert early_look(["-C", str(tmp_path), "issue", "list"]) is None
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert early_look(["-C", str(repo), "issue", "list"]) is None
