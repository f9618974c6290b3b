from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from gitmem.cli.app import App
from gitmem.cli.console import Console
from gitmem.cli.context import context
from gitmem.store.document import render
from tests.conftest import NOW, put


def run(repo: Path, *args: str, as_json: bool = False) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    console = Console(out, err, {})
    console.json = as_json
    app = App(console, lambda: NOW, lambda n: b"\0" * n, {}, directory=repo)
    try:
        context.main([*args], obj=app, standalone_mode=False)
    finally:
        app.close()
    return out.getvalue(), err.getvalue()


@pytest.fixture
def workspace(repo: Path) -> Path:
    put(repo, "context.md", "# We sell shoes\n")
    put(repo, "agents/claude.md", render({"name": "claude", "adapter": "claude"}, "Be kind.\n"))
    put(
        repo,
        "issues/a.md",
        render({"id": "aaaaaaaa", "title": "A", "context_refs": ["issue:zzzzzzzz"]}, "Text.\n"),
    )
    return repo


def test_each_item_is_a_line_with_its_cost_and_reason(workspace: Path) -> None:
    out, err = run(workspace, "aaaa")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[3] for row in rows] == ["context", "issue:aaaaaaaa", "agent:claude", "issue:zzzzzzzz"]
    assert rows[0] == ["5", "context", "whole", "context", "context.md", "told to every agent"]
    assert rows[3] == [
        "0",
        "",
        "left out",
        "issue:zzzzzzzz",
        "",
        "context ref of the issue: no issue 'zzzzzzzz'",
    ]
    assert f"{sum(int(row[0]) for row in rows)} of 24000 tokens for agent:claude; sensitivity internal" in err


def test_json_is_the_manifest(workspace: Path) -> None:
    out, err = run(workspace, "aaaa", "--budget", "2000", as_json=True)
    manifest = json.loads(out)
    assert manifest["budget"] == 2000
    assert manifest["tokens"] == sum(item["tokens"] for item in manifest["items"])
    assert manifest["left_out"][0]["ref"] == "issue:zzzzzzzz"
    assert not err
