from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.agents.adapter import Job
from gitmem.agents.environment import environment
from gitmem.agents.registry import adapter_named

OUTER = {
    "PATH": "/bin",
    "HOME": "/home/ana",
    "LANG": "de_DE.UTF-8",
    "LC_TIME": "C",
    "TERM": "xterm",
    "https_proxy": "http://proxy:3128",
    "NO_PROXY": "localhost",
    "NODE_EXTRA_CA_CERTS": "/etc/ca.pem",
    "XDG_CONFIG_HOME": "/home/ana/cfg",
    "CODEX_HOME": "/home/ana/codex",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CLAUDE_CODE_SESSION_ID": "s",
    "CLAUDE_CODE_OAUTH_TOKEN": "login",
    "GITMEM_RUN": "outer",
    "GITMEM_SPAWN": "mark",
    "GIT_DIR": "/elsewhere/.git",
    "GIT_SSH_COMMAND": "ssh -i key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "PYTHONPATH": "/home/ana/src",
    "LD_PRELOAD": "/x.so",
}


def given(job: Job, adapter: str = "codex") -> dict[str, str]:
    return environment(adapter_named(adapter), job, OUTER)


def test_only_what_is_on_the_list_is_passed(job: Job) -> None:
    ours = {"PWD", "GIT_CEILING_DIRECTORIES", "GITMEM_OUTBOX"}
    assert set(given(job)) - ours == {
        "PATH",
        "HOME",
        "LANG",
        "LC_TIME",
        "TERM",
        "https_proxy",
        "NO_PROXY",
        "NODE_EXTRA_CA_CERTS",
        "XDG_CONFIG_HOME",
        "CODEX_HOME",
    }


def test_named_variables_are_passed_where_they_exist(job: Job) -> None:
    env = given(replace(job, pass_env=("AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "NOT_SET")))
    assert env["AWS_SECRET_ACCESS_KEY"] == "secret"
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == "login"
    assert "NOT_SET" not in env


def test_an_outer_run_and_git_are_not_passed_even_when_named(job: Job) -> None:
    names = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "GITMEM_RUN", "GIT_DIR")
    assert set(names).isdisjoint(given(replace(job, pass_env=names)))


def test_variables_of_the_job_go_above_all(job: Job) -> None:
    env = given(replace(job, env={"GITMEM_RUN": "ours", "HOME": "/x", "PATH": "/y"}))
    assert (env["GITMEM_RUN"], env["HOME"], env["PATH"]) == ("ours", "/x", "/y")


def test_git_cannot_look_above_the_work_and_the_outbox_is_named(job: Job) -> None:
    env = given(job)
    assert env["GIT_CEILING_DIRECTORIES"] == str(job.work.parent)
    assert env["GITMEM_OUTBOX"] == str(job.work / ".gitmem/outbox")
    assert env["PWD"] == str(job.work)


def test_an_isolated_home_has_nothing_of_the_users(job: Job) -> None:
    env = given(replace(job, home=Path("/isolated")))
    assert env["HOME"] == "/isolated"
    assert env["CODEX_HOME"] == "/isolated/.codex"
    assert "XDG_CONFIG_HOME" not in env


@pytest.mark.parametrize(("user", "sandbox"), [(0, "1"), (1000, None)])
def test_claude_is_told_of_a_sandbox_only_as_root(
    job: Job, monkeypatch: pytest.MonkeyPatch, user: int, sandbox: str | None
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert given(job, "claude").get("IS_SANDBOX") == sandbox
