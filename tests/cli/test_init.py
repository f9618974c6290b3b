from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.conftest import git, put


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "web-app"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    put(folder, "app.py", "print(1)\n")
    return folder


def test_init_prints_the_id_first_then_the_commit(cli: Cli, tmp_path: Path) -> None:
    made = cli("init", str(tmp_path / "memory"), "--name", "Memory", within=tmp_path)
    assert made.code == 0
    commit = git(tmp_path / "memory", "rev-parse", "HEAD").strip()
    assert made.rows[0][1] == commit
    again = cli("init", str(tmp_path / "memory"), "--json", within=tmp_path)
    assert (again.code, again.error["kind"]) == (13, "conflict")


def test_json_of_init_tells_where_it_is(cli: Cli, tmp_path: Path) -> None:
    made = cli("init", "memory", "--json", within=tmp_path).json
    assert made["path"] == str(tmp_path / "memory")
    assert (made["name"], made["branch"], made["repository"]) == ("memory", "main", None)


def test_commands_work_from_the_code_after_beside_and_here(cli: Cli, code: Path, tmp_path: Path) -> None:
    assert cli("init", "--beside", "../memory", within=code).code == 0
    assert cli("issue", "create", "From the code", within=code).code == 0
    assert len(cli("issue", "list", within=tmp_path / "memory").rows) == 1
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(code), str(other))
    assert cli("init", "--here", within=other).code == 0
    assert cli("issue", "list", within=other).out == ""


def test_inside_a_repository_init_names_the_two_ways(cli: Cli, code: Path) -> None:
    refused = cli("init", within=code)
    assert refused.code == 1
    assert "--here" in refused.err
    assert "--beside" in refused.err


def test_init_takes_one_place(cli: Cli, code: Path, tmp_path: Path) -> None:
    assert cli("init", "x", "--here", within=code).code == 2
    (tmp_path / "plain").mkdir()
    assert cli("init", "--here", within=tmp_path / "plain").code == 2
