"""A workspace with agents that are small shell programs, and a runner that works on it once."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.ids import parse_actor
from gitmem.runner.loop import Runner
from gitmem.runner.options import Notice, Options, Summary
from gitmem.store import document
from gitmem.store.workspace import Workspace, find
from tests.conftest import NOW, git, put

ISSUE_ID = "7k3q9d2m"
ISSUE = f"issues/2026-11/{ISSUE_ID}-flaky-login.md"

# What each agent does, as a shell program in its working directory.
AGENTS = {
    "worker": """
        mkdir -p .gitmem/outbox/comments .gitmem/outbox/skills/retry-login
        cat > .gitmem/outbox/result.md <<'END'
        ---
        outcome: done
        summary: Fixed.
        ---
        It was the clock.
        END
        printf 'I looked into it.\\n' > .gitmem/outbox/comments/1.md
        cat > .gitmem/outbox/skills/retry-login/SKILL.md <<'END'
        ---
        name: retry-login

        description: Use when the login test fails now and then because of the clock.
        ---
        # Do

        Fake the clock.
        END
        """,
    "idler": "exit 0",
    "talker": "echo 'All done, I fixed everything!'",
    "failer": "mkdir -p .gitmem/outbox/comments; echo hi > .gitmem/outbox/comments/1.md; echo no >&2; exit 3",
    "asker": """
        mkdir -p .gitmem/outbox/comments
        printf -- '---\\nkind: question\\n---\\nWhich clock?\\n' > .gitmem/outbox/comments/1.md
        """,
    "leaker": "printf 'the key is AKIA%s\\n' QYLPMN5HFIQR7XYA > .gitmem/outbox/result.md",
    "busy": "exit 75",
}


def agent_file(name: str, program: str) -> bytes:
    command = ["sh", "-c", textwrap.dedent(program).strip()]
    return document.render({"name": name, "adapter": "command", "command": command}, "Work.\n")


@dataclass
class Bench:
    """A workspace under test, and what the runner told."""

    repo: Path
    ws: Workspace
    now: datetime = NOW
    notices: list[Notice] = field(default_factory=list)
    on_notice: Callable[[Notice], None] = lambda _: None

    def agent(self, name: str, program: str) -> None:
        put(self.repo, f"agents/{name}.md", agent_file(name, program))

    def queue(self, agent: str, task: str = "t1", issue: str = ISSUE_ID, *, commit: bool = True) -> Path:
        return put(
            self.repo, f"queue/{task}.yaml", f"issue: issue:{issue}\n\nagent: {agent}\n", commit=commit
        )

    def runner(self, **options: Any) -> Runner:
        def tell(notice: Notice) -> None:
            self.notices.append(notice)
            self.on_notice(notice)

        return Runner(
            self.ws,
            parse_actor("member:ana"),
            Options(**options),
            now=lambda: self.now,
            entropy=os.urandom,
            tell=tell,
        )

    def once(self, **options: Any) -> Summary:
        return self.runner(once=True, **options).run()

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [dict(notice.fields) for notice in self.notices if notice.type == kind]

    def at_tip(self, folder: str = "", at: str = "main") -> list[str]:
        return git(self.repo, "ls-tree", "-r", "--name-only", at, *([folder] if folder else [])).split()

    def show(self, path: str, at: str = "main") -> str:
        return git(self.repo, "show", f"{at}:{path}")

    def fields(self, path: str, at: str = "main") -> dict[str, Any]:
        data = self.show(path, at).encode()
        return document.parse(data, path, whole_yaml=path.endswith(".yaml")).fields

    def run_record(self, number: int = -1) -> dict[str, Any]:
        return {"path": self.at_tip("runs/")[number], **self.fields(self.at_tip("runs/")[number])}

    def status(self) -> str:
        return str(self.fields(ISSUE)["status"])

    def comments(self) -> list[str]:
        return [self.show(path) for path in self.at_tip("comments/")]

    def is_clean(self) -> bool:
        return git(self.repo, "status", "--porcelain") == ""

    def claims(self) -> str:
        return git(self.repo, "for-each-ref", "refs/gitmem/claims")


@pytest.fixture
def bench(repo: Path) -> Iterator[Bench]:
    put(repo, "members/ana.md", "---\nemails:\n  - ana@example.org\n---\n", commit=False)
    put(repo, "policy.yaml", "trusted:\n  - member:ana\n", commit=False)
    put(repo, "context.md", "We build a login page.\n", commit=False)
    fields = {"id": ISSUE_ID, "title": "Fix the flaky login test", "status": "todo", "priority": "none"}
    put(repo, ISSUE, document.render(fields, "It fails.\n"), commit=False)
    for name, program in AGENTS.items():
        put(repo, f"agents/{name}.md", agent_file(name, program), commit=False)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "a workspace to work in")
    with find(repo) as ws:
        yield Bench(repo, ws)
