"""`agent test`: what is wrong with an agent on this machine, and the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Result
from tests.conftest import git, put


@pytest.fixture(autouse=True)
def trusted(cli: Cli) -> None:
    put(cli.folder, "policy.yaml", "trusted:\n  - member:ana\n")


def agent(cli: Cli, name: str, fields: str) -> None:
    put(cli.folder, f"agents/{name}.md", f"---\n{fields}---\nInstructions.\n")


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def found(result: Result) -> dict[str, tuple[str, str, str | None]]:
    return {c["name"]: (c["status"], c["message"], c["cure"]) for c in result.json["checks"]}


def test_an_agent_without_a_model_is_ready(cli: Cli) -> None:
    agent(cli, "local", "adapter: runbook\n")
    result = cli("agent", "test", "local", "--json")
    assert result.code == 0, result
    assert result.json["name"] == "local"
    checks = found(result)
    assert list(checks) == ["program", "version", "environment", "turn"]
    assert {status for status, _, _ in checks.values()} == {"ok"}
    assert checks["turn"][1] == "Ran 1 block of the issue; every one exited 0."


def test_any_program_is_given_the_line_in_the_environment_of_its_runs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMED", "seen")
    monkeypatch.setenv("NOT_NAMED", "hidden")
    script = "cat; echo; echo $NAMED $NOT_NAMED; echo $HOME; pwd"
    agent(cli, "any", f"adapter: command\ncommand: [sh, -c, '{script}']\nenv: [NAMED]\nhome: isolated\n")
    result = cli("agent", "test", "any", "--json")
    assert result.code == 0, result
    checks = found(result)
    assert checks["environment"][:2] == ("ok", "a home of its own, NAMED")
    prompt, named, home, work = checks["turn"][1].splitlines()
    assert (prompt, named) == ("Answer with the one word: ready", "seen")
    assert home.endswith("/homes/any")
    assert work.endswith("/test-any/work")


def test_a_program_that_is_not_there_is_told_with_its_cure(cli: Cli) -> None:
    agent(cli, "gone", "adapter: claude\ncommand: [no-such-program]\n")
    result = cli("agent", "test", "gone", "--json")
    assert result.code == 1
    cure = "install no-such-program, or name its path as `command` in agents/gone.md"
    assert found(result) == {"program": ("error", "no-such-program is not on PATH", cure)}


def test_a_program_that_is_too_old_is_told_before_it_is_asked_anything(cli: Cli, tmp_path: Path) -> None:
    old = program(tmp_path, "codex", "echo codex-cli 0.1.0")
    agent(cli, "old", f"adapter: codex\ncommand: [{old}]\n")
    result = cli("agent", "test", "old", "--json")
    assert result.code == 1
    status, message, _ = found(result)["version"]
    assert (status, "too old" in message) == ("error", True)
    assert "turn" not in found(result)


def test_a_command_that_no_trusted_member_wrote_is_not_even_asked_its_version(
    cli: Cli, tmp_path: Path
) -> None:
    put(cli.folder, "policy.yaml", "trusted: []\n")
    fake = program(tmp_path, "claude", f"touch {tmp_path}/ran; echo 2.9.0")
    agent(cli, "other", f"adapter: claude\ncommand: [{fake}]\n")
    result = cli("agent", "test", "other", "--json")
    assert result.code == 1
    assert found(result)["trust"][0] == "error"
    assert not (tmp_path / "ran").exists()


def test_a_login_that_is_missing_is_told_with_where_to_log_in(cli: Cli, tmp_path: Path) -> None:
    script = """case "$1" in --version) echo 2.9.0; exit;; esac
echo '{"type":"result","is_error":true,"result":"Not logged in · Please run /login","session_id":"s"}'
exit 1"""
    fake = program(tmp_path, "claude", script)
    agent(cli, "out", f"adapter: claude\ncommand: [{fake}]\nhome: isolated\n")
    result = cli("agent", "test", "out", "--json")
    assert result.code == 1
    status, message, cure = found(result)["turn"]
    assert (status, message.split(":")[0]) == ("error", "auth")
    assert cure is not None
    assert cure.startswith("log in there: HOME=")
    assert cure.endswith(str(fake))


def test_a_variable_that_is_not_set_here_is_a_warning(cli: Cli) -> None:
    agent(cli, "any", "adapter: command\ncommand: [sh, -c, 'echo ready']\nenv: [NO_SUCH_VARIABLE]\n")
    result = cli("agent", "test", "any")
    assert result.code == 0
    warned = next(row for row in result.rows if row[1] == "environment")
    assert (warned[0], "NO_SUCH_VARIABLE" in warned[2]) == ("warn", True)


def test_a_turn_that_takes_too_long_is_stopped(cli: Cli) -> None:
    agent(cli, "slow", "adapter: command\ncommand: [sh, -c, 'sleep 600']\n")
    result = cli("agent", "test", "slow", "--timeout", "1", "--json")
    assert result.code == 1
    assert found(result)["turn"][1].startswith("timeout_wall")


def test_an_unknown_adapter_and_an_agent_that_names_no_program_are_told(cli: Cli) -> None:
    agent(cli, "typo", "adapter: cluade\n")
    agent(cli, "empty", "adapter: command\n")
    assert found(cli("agent", "test", "typo", "--json"))["program"][2] == "did you mean claude?"
    assert "agents/empty.md" in found(cli("agent", "test", "empty", "--json"))["program"][1]


def test_nothing_of_a_test_is_committed_and_it_may_be_repeated(cli: Cli) -> None:
    agent(cli, "local", "adapter: runbook\n")
    before = git(cli.folder, "rev-parse", "HEAD")
    for _ in range(3):
        cli.ok("agent", "test", "local")
    assert git(cli.folder, "rev-parse", "HEAD") == before
    assert git(cli.folder, "status", "--porcelain") == ""
