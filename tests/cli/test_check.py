from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli
from tests.conftest import git, put


def test_a_sound_workspace_has_no_problem(cli: Cli, issue: str) -> None:
    assert cli.json("check") == []
    assert cli.ok("check").err == "no problems\n"


def test_a_new_workspace_has_no_problem(cli: Cli, tmp_path: Path) -> None:
    cli("init", str(tmp_path / "memory"), within=tmp_path)
    assert cli("check", "--json", within=tmp_path / "memory").json == []


def test_every_problem_is_told_with_its_place_and_what_to_type(cli: Cli) -> None:
    put(cli.folder, "issues/x.md", "---\ntitle: Fix: this\n---\n", commit=False)
    result = cli("check", "--json")
    assert result.code == 12
    (problem,) = [p for p in result.json if p["severity"] == "error"]
    assert set(problem) == {"path", "line", "column", "severity", "code", "message", "hint"}
    assert (problem["path"], problem["line"]) == ("issues/x.md", 2)
    assert 'title: "Fix: this"' in problem["hint"]
    row = cli("check").rows[0]
    assert row[0].startswith("issues/x.md:2:")


def test_a_path_is_meant_from_where_one_stands(cli: Cli, issue: str) -> None:
    put(cli.folder, "issues/2026-11/x.md", "---\ntitle: Fix: this\n---\n")
    put(cli.folder, "members/bo.md", "---\nemails: 7: 8\n---\n")
    inside = cli("check", "x.md", "--json", within=cli.folder / "issues/2026-11")
    assert {problem["path"] for problem in inside.json} == {"issues/2026-11/x.md"}
    assert cli("check", "members", "--json").json[0]["path"] == "members/bo.md"
    assert cli("check", "no/such/file").code == 1


def test_fix_mends_what_needs_no_judgement_in_one_commit(cli: Cli) -> None:
    put(cli.folder, "issues/x.md", "---\ntitle: Fix: this\n---\nMine.\n", commit=False)
    before = len(cli.commits())
    assert cli.json("check", "--fix") == []
    assert len(cli.commits()) == before + 1
    assert cli.json("issue", "list")[0]["title"] == "Fix: this"
    assert "Gitmem-Actor: member:ana" in git(cli.folder, "log", "-1", "--format=%B")
    assert "nothing can be mended" in cli.ok("check", "--fix").err
    assert len(cli.commits()) == before + 1
