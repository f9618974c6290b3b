"""The real programs in the hands of the runner: from a queued task to one commit, or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitmem.core.ids import parse_actor
from gitmem.runner.loop import Runner
from gitmem.runner.options import Options
from gitmem.runner.rundir import runs_home
from gitmem.store import document
from gitmem.store.workspace import find
from tests.conformance.conftest import skip_where_it_differs, turn_of
from tests.conformance.programs import PROGRAMS, Program
from tests.conftest import NOW, git, put
from tests.support.modelserver import Cut, Fail, ModelServer, Say, Shell, Step

pytestmark = pytest.mark.conformance

ISSUE_ID = "7k3q9d2m"
ISSUE = f"issues/2026-11/{ISSUE_ID}-flaky-login.md"
SOLVE = Shell(
    """
    echo fixed > login.txt
    mkdir -p .gitmem/outbox/skills/fake-the-clock
    cat > .gitmem/outbox/result.md <<'END'
---
outcome: done
summary: The clock was to blame.
---
I faked the clock.
END
    cat > .gitmem/outbox/skills/fake-the-clock/SKILL.md <<'END'
---
name: fake-the-clock
description: Use when a login test fails now and then, at night more often than by day.
---
Fake it.
END
    """
)


@dataclass
class Workspace:
    repo: Path
    program: Program

    def run(self, *steps: Step, url: str | None = None) -> str:
        """One run of the agent against a scripted model; returns what the server was asked."""
        with ModelServer(*steps) as server:
            home = runs_home() / "k3v9x2m7" / "homes" / "solver"
            settings = self.program.settings(home, url or server.url)
            fields = {
                "adapter": self.program.adapter,
                "home": "isolated",
                "env": sorted(settings),
                "timeout_s": max(90, self.program.quiet_s + 30),
                "idle_timeout_s": max(20, self.program.quiet_s),
            }
            put(self.repo, "agents/solver.md", document.render(fields, "Solve it.\n"))
            put(self.repo, "queue/t1.yaml", f"issue: {ISSUE_ID}\nagent: solver\nmax_attempts: 1\n")
            os.environ.update(settings)
            with find(self.repo) as ws:
                Runner(
                    ws,
                    parse_actor("member:ana"),
                    Options(once=True),
                    now=lambda: NOW,
                    entropy=os.urandom,
                    tell=lambda _: None,
                ).run()
            return "\n".join(str(request) for request in server.requests)

    def at_tip(self, folder: str) -> list[str]:
        return git(self.repo, "ls-tree", "-r", "--name-only", "main", folder).split()

    def fields(self, path: str) -> dict[str, object]:
        return document.parse(git(self.repo, "show", f"main:{path}").encode(), path).fields

    def record(self) -> dict[str, object]:
        (path,) = self.at_tip("runs/")
        return self.fields(path)


@pytest.fixture(params=sorted(PROGRAMS))
def workspace(
    request: pytest.FixtureRequest,
    install: Callable[[Program], str],
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Workspace]:
    program = PROGRAMS[request.param]
    skip_where_it_differs(request, program)
    monkeypatch.setenv("PATH", install(program))
    before = dict(os.environ)
    put(repo, "context.md", "The word of the day is rhubarb.\n", commit=False)
    fields = {"id": ISSUE_ID, "title": "Fix the flaky login test", "status": "todo"}
    put(repo, ISSUE, document.render(fields, "It fails at night.\n"), commit=False)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "a workspace to work in")
    with turn_of(program):
        yield Workspace(repo, program)
    os.environ.clear()
    os.environ.update(before)


def test_what_the_models_tool_calls_wrote_is_delivered_in_one_commit(workspace: Workspace) -> None:
    asked = workspace.run(SOLVE, Say("All done."))
    assert "Fix the flaky login test" in asked
    record = workspace.record()
    assert (record["outcome"], record["reason"]) == ("succeeded", None)
    assert record["session_id"]
    assert record["adapter_version"] == workspace.program.version
    assert workspace.fields("skills/fake-the-clock/SKILL.md")["name"] == "fake-the-clock"
    assert workspace.fields(ISSUE)["status"] == "done"
    assert git(workspace.repo, "log", "-1", "--format=%an").strip() == "solver"
    changed = git(workspace.repo, "diff-tree", "-r", "--name-status", "main~1", "main").splitlines()
    assert sorted(line.split("/")[0] for line in changed) == [
        "A\tcomments",
        "A\truns",
        "A\tskills",
        "D\tqueue",
        "M\tissues",
    ]
    assert git(workspace.repo, "status", "--porcelain") == ""


FAILURES = {
    "401": (Fail(401), {"auth"}),
    "500": (Fail(500), {"provider_error"}),
    "cut in the middle": (
        Cut(Say("some words that are cut in the middle of the stream")),
        {"network", "provider_error", "no_terminal_event"},
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_of_a_failed_call_nothing_is_delivered_and_the_reason_is_right(
    workspace: Workspace, failure: str
) -> None:
    step, reasons = FAILURES[failure]
    workspace.run(*[step] * 12)
    assert workspace.record()["outcome"] == "failed"
    assert workspace.record()["reason"] in reasons
    assert workspace.at_tip("skills/") == []
    assert workspace.fields(ISSUE)["status"] == "todo"


def test_a_refused_connection_is_a_failure_of_the_network(workspace: Workspace, closed_port: str) -> None:
    workspace.run(url=closed_port)
    assert workspace.record()["reason"] == "network"
    assert workspace.at_tip("skills/") == []
