"""Several processes at once: nothing is lost and nothing is queued twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import git, put

PROCESSES = 8
ISSUE = "7k3q9d2m"


@pytest.fixture
def workspace(repo: Path) -> Path:
    for name in ("claude", "codex"):
        put(repo, f"agents/{name}.md", f"---\nname: {name}\nadapter: {name}\n---\n")
    put(repo, f"issues/2026-11/{ISSUE}-x.md", f"---\nid: {ISSUE}\n\ntitle: X\n\nlabels: []\n---\nBody.\n")
    return repo


def at_once(workspace: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Start all the commands before the first is waited for; (exit code, stdout, stderr) of each."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "gitmem.cli.main", "-C", str(workspace), "--json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    ended = [process.communicate() for process in running]
    return [(p.returncode, out, err) for p, (out, err) in zip(running, ended, strict=True)]


def test_concurrent_edits_of_one_issue_all_survive(workspace: Path) -> None:
    labels = [f"label-{number}" for number in range(PROCESSES)]
    done = at_once(workspace, *(["issue", "edit", ISSUE, "--add-label", label] for label in labels))
    assert [code for code, _, _ in done] == [0] * PROCESSES, done
    ((_, out, _),) = at_once(workspace, ["issue", "view", ISSUE])
    assert json.loads(out)["labels"] == labels
    assert git(workspace, "status", "--short") == ""


def test_concurrent_creates_make_as_many_issues(workspace: Path) -> None:
    done = at_once(workspace, *(["issue", "create", f"Issue {number}"] for number in range(PROCESSES)))
    assert len({json.loads(out)["id"] for _, out, _ in done}) == PROCESSES
    ((_, out, _),) = at_once(workspace, ["issue", "list"])
    assert len(json.loads(out)) == PROCESSES + 1


def test_an_issue_is_queued_once_for_an_agent_however_many_ask(workspace: Path) -> None:
    done = at_once(workspace, *(["queue", "add", ISSUE, "--agent", "claude"] for _ in range(PROCESSES)))
    assert {code for code, _, _ in done} <= {0, 13}
    assert 0 in {code for code, _, _ in done}
    assert len(list((workspace / "queue").glob("*.yaml"))) == 1
    assert {json.loads(out)["id"] for code, out, _ in done if code == 0} == {
        path.stem for path in (workspace / "queue").glob("*.yaml")
    }
