"""The command as a function: arguments in; exit code, stdout and stderr out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from gitmem.cli.main import main
from tests.conftest import git, put


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.err)["error"]

    @property
    def rows(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def id(self) -> str:
        """The first word, which writing verbs make the id."""
        return self.rows[0][0]


@dataclass(frozen=True)
class Cli:
    """`cli("issue", "list")` runs in the workspace; `cli.ok(…)` fails the test unless it exits with 0."""

    folder: Path
    now: Callable[[], datetime]
    entropy: Callable[[int], bytes]

    def __call__(self, *args: str, within: Path | None = None) -> Result:
        out, err = StringIO(), StringIO()
        folder = str(within or self.folder)
        code = main(["-C", folder, *args], now=self.now, entropy=self.entropy, out=out, err=err)
        return Result(code, out.getvalue(), err.getvalue())

    def ok(self, *args: str) -> Result:
        result = self(*args)
        assert result.code == 0, result.err
        return result

    def json(self, *args: str) -> Any:
        return self.ok(*args, "--json").json

    def commits(self) -> list[str]:
        return git(self.folder, "log", "--format=%s").splitlines()

    def show(self, path: str) -> str:
        return git(self.folder, "show", f"main:{path}")


@pytest.fixture
def cli(repo: Path, now: Callable[[], datetime], entropy: Callable[[int], bytes], tmp_path: Path) -> Cli:
    """A workspace with the agents `claude` and `codex`, and Ana, who is the local user."""
    for name in ("claude", "codex"):
        put(repo, f"agents/{name}.md", f"---\nname: {name}\n\nadapter: {name}\n\nskills: []\n---\nWork.\n")
    put(repo, "members/ana.md", "---\nhandle: ana\n\nemails:\n  - ana@example.org\n---\n")
    return Cli(repo, now, entropy)


@pytest.fixture
def issue(cli: Cli) -> str:
    """The id of an issue."""
    return cli.ok("issue", "create", "Fix the flaky login test").id
