from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.core.errors import NotFoundError, NotPermittedError, UsageError
from gitmem.core.ids import parse_actor
from gitmem.memory.snapshot import Snapshot
from gitmem.ops.context import context
from gitmem.store.document import render
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import NOW, put


def agent(repo: Path, name: str) -> None:
    put(repo, f"agents/{name}.md", render({"name": name, "adapter": "claude"}, f"I am {name}.\n"))


def issue(repo: Path, **fields: object) -> None:
    put(repo, "issues/a.md", render({"id": "aaaaaaaa", "title": "A", **fields}, "Text.\n"))


def ask(ws: Workspace, **options: object) -> Snapshot:
    with Reader(ws) as reader:
        return context(reader, ws.config, "aaaa", now=NOW, **options)  # type: ignore[arg-type]


def test_the_agent_is_the_one_that_is_named_else_the_issues_else_the_only_one(
    ws: Workspace, repo: Path
) -> None:
    issue(repo, assignee="member:ana")
    agent(repo, "claude")
    assert ask(ws).manifest()["agent"] == "agent:claude"
    agent(repo, "codex")
    assert ask(ws, agent="codex").manifest()["agent"] == "agent:codex"
    issue(repo, assignee="agent:codex")
    assert ask(ws).manifest()["agent"] == "agent:codex"


def test_where_no_agent_is_meant_the_hint_names_them(ws: Workspace, repo: Path) -> None:
    issue(repo)
    with pytest.raises(UsageError) as caught:
        ask(ws)
    assert caught.value.hint == "name one with --agent (none yet: gitmem agent create NAME)"
    agent(repo, "claude")
    agent(repo, "codex")
    with pytest.raises(UsageError) as caught:
        ask(ws)
    assert caught.value.hint == "name one with --agent (claude, codex)"


def test_an_unknown_agent_is_not_found(ws: Workspace, repo: Path) -> None:
    issue(repo)
    with pytest.raises(NotFoundError):
        ask(ws, agent="zed")


def test_the_budget_is_the_workspaces_unless_given(ws: Workspace, repo: Path) -> None:
    issue(repo)
    agent(repo, "claude")
    assert ask(ws).budget == 24_000
    assert ask(ws, budget=2000).budget == 2000


def test_an_agent_does_not_see_what_another_is_given(ws: Workspace, repo: Path) -> None:
    issue(repo)
    agent(repo, "claude")
    agent(repo, "codex")
    assert ask(ws, viewer=parse_actor("agent:codex")).manifest()["agent"] == "agent:codex"
    with pytest.raises(NotPermittedError):
        ask(ws, viewer=parse_actor("agent:codex"), agent="claude")
    assert ask(ws, viewer=parse_actor("member:ana"), agent="claude").manifest()["agent"] == "agent:claude"
