"""Every test runs real git in a home of its own, with no system or user configuration."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

from gitmem.store.workspace import Workspace, find

# The same examples every time, and no deadline: a busy machine is not a fault.
settings.register_profile("gitmem", derandomize=True, deadline=None, database=None)
settings.load_profile("gitmem")

NOW = datetime(2026, 11, 30, 22, 19, tzinfo=UTC)
CONFIG = b"format: 1\n\nid: k3v9x2m7\n\nname: team-memory\n\nbranch: main\n\ndefault_agent: null\n"


@pytest.fixture(autouse=True)
def hermetic(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME, a fixed identity, nothing of the machine's git or gitmem environment."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("GIT_", "GITMEM_", "XDG_", "CLAUDE")):
            monkeypatch.delenv(name)
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GITMEM_RUNS": str(home / "runs"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ana\n\temail = ana@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
    )
    return home


@pytest.fixture
def entropy() -> Callable[[int], bytes]:
    return random.Random(20261130).randbytes


@pytest.fixture
def now() -> Callable[[], datetime]:
    return lambda: NOW


def git(cwd: Path, *args: str, data: str | None = None, ok: bool = True) -> str:
    """Run the real git as a user would and return what it printed."""
    done = subprocess.run(
        ["git", *args], cwd=cwd, input=(data or "").encode(), capture_output=True, check=False
    )
    if ok:
        assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr.decode()}"
    return done.stdout.decode()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The smallest workspace: a repository with a committed `gitmem.yaml`."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "gitmem.yaml").write_bytes(CONFIG)
    (folder / ".gitattributes").write_text("* -text\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "workspace")
    return folder


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with find(repo) as workspace:
        yield workspace


def put(folder: Path, path: str, data: str | bytes, *, commit: bool = True) -> Path:
    """Write a file as a person would, and commit it unless told otherwise."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    if commit:
        git(folder, "add", "--", path)
        git(folder, "commit", "-q", "-m", f"write {path}", "--", path)
    return file
