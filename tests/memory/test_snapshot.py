from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.core.errors import NotPermittedError
from gitmem.core.policy import Level
from gitmem.core.record import Kind
from gitmem.memory.budget import Form, Section
from gitmem.memory.snapshot import Snapshot, assemble, changed_since
from gitmem.store.document import edit, parse, render
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import git, put
from tests.memory.conftest import NOW, Files, gate, issue_file, skill_files
from tests.support.issue_pairs import PAIRS
from tests.support.runbook_skill import runbook_skill
from tests.support.skill_library import skill_library

Write = Callable[[Files], None]
Read = Callable[[], Reader]

AGENT = render({"name": "claude", "adapter": "claude", "skills": ["retry"]}, "Work in small steps.\n")
RETRY = render(
    {"name": "retry", "description": "Retry a flaky test with a fake clock."}, "1. Patch the clock.\n"
)


def comment(number: int, body: str, **fields: object) -> tuple[str, bytes]:
    created = f"2026-11-30T22:{number:02}:00Z"
    path = f"comments/2026-11/aaaaaaaa/20261130t22{number:02}00z-member-ana-{number:08}.md"
    said = {
        "issue": "issue:aaaaaaaa",
        "author": "member:ana",
        "created": created,
        "kind": "comment",
        **fields,
    }
    return path, render(said, body)


def take(reader: Reader, issue: str = "aaaaaaaa", budget: int = 24_000, agent: str = "claude") -> Snapshot:
    found = reader.issue(issue)
    known = next((one for one in reader.agents() if one.name == agent), None)
    guard = gate(reader, f"agent:{agent}", found.project)
    return assemble(reader, guard, found, known, budget, NOW)


def refs(snapshot: Snapshot, *sections: Section) -> list[str]:
    return [item.piece.ref for item in snapshot.of(*(sections or tuple(Section)))]


def test_everything_that_belongs_to_an_issue_is_told_in_order(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "context.md": "# We sell shoes\n",
            "agents/claude.md": AGENT,
            **skill_files([("retry", RETRY), runbook_skill(*PAIRS[0].first)]),
            "issues/a.md": issue_file(
                "aaaaaaaa",
                PAIRS[0].second.title,
                PAIRS[0].second.body,
                parent="issue:bbbbbbbb",
                blocked_by=["issue:cccccccc"],
                context_refs=["issue:dddddddd", "knowledge:workspace/sessions"],
            ),
            "issues/b.md": issue_file("bbbbbbbb", "Parent"),
            "issues/c.md": issue_file("cccccccc", "Blocker", status="done"),
            "issues/d.md": issue_file("dddddddd", "Context", context_refs=["issue:eeeeeeee"]),
            "issues/e.md": issue_file("eeeeeeee", "Second level", context_refs=["issue:ffffffff"]),
            "issues/f.md": issue_file("ffffffff", "Third level"),
            "knowledge/workspace/sessions.md": render({"kind": "fact", "about": []}, "In redis.\n"),
            "knowledge/agent-claude/habits.md": render(
                {"kind": "preference", "about": []}, "Short commits.\n"
            ),
            "runs/2026-11/r1.md": render(
                {"issue": "issue:cccccccc", "agent": "agent:claude", "outcome": "succeeded"}, "Done so.\n"
            ),
            "runs/2026-11/r2.md": render(
                {"issue": "issue:aaaaaaaa", "agent": "agent:claude", "outcome": "failed"}, "No luck.\n"
            ),
            **dict([comment(1, "First.\n"), comment(2, "Second.\n")]),
        }
    )
    assert refs(take(read())) == [
        "context",
        "issue:aaaaaaaa",
        "issue:dddddddd",
        "knowledge:workspace/sessions",
        "issue:eeeeeeee",
        "issue:bbbbbbbb",
        "issue:cccccccc",
        "run:r1",
        "comment:00000002",
        "comment:00000001",
        "agent:claude",
        "knowledge:agent-claude/habits",
        "skill:retry",
        "skill:fix-the-flaky-login-test",
        "run:r2",
    ]


def test_a_second_issue_in_other_words_gets_the_skill_at_a_small_budget(
    commit_all: Write, read: Read
) -> None:
    library = [
        (skill.name, render({"name": skill.name, "description": skill.description}, skill.body))
        for skill in skill_library(200, seed=11)
    ]
    made = [runbook_skill(*pair.first) for pair in PAIRS[:6]]
    issues = {
        f"issues/{n}.md": issue_file(f"{n:08}", pair.second.title, pair.second.body)
        for n, pair in enumerate(PAIRS[:6])
    }
    dark = issue_file("dddddddd", "Add a dark mode to the settings page", "Users ask for dark colours.\n")
    commit_all({**skill_files([*library, *made]), **issues, "issues/d.md": dark})
    reader = read()
    for n, (name, _) in enumerate(made):
        snapshot = take(reader, f"{n:08}", budget=2000)
        assert f"skill:{name}" in refs(snapshot, Section.RECALLED_SKILLS)[:5]
        assert snapshot.tokens <= 2000
    assert refs(take(reader, "dddddddd", budget=2000), Section.RECALLED_SKILLS) == []


def test_the_size_does_not_grow_with_the_library(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            **skill_files(
                (s.name, render({"name": s.name, "description": s.description}, s.body))
                for s in skill_library(300, seed=3)
            ),
            "issues/a.md": issue_file("aaaaaaaa", "Scale the kubernetes pods and the helm ingress"),
        }
    )
    snapshot = take(read())
    assert 0 < len(refs(snapshot, Section.RECALLED_SKILLS)) <= 5
    assert len(snapshot.files) <= 6


def test_the_newest_comments_are_kept_and_the_older_ones_named(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "Long talk"),
            **dict(comment(n, f"Comment {n}. " + "word " * 100) for n in range(60)),
        }
    )
    snapshot = take(read(), budget=2000)
    kept = refs(snapshot, Section.COMMENTS)
    assert kept == [f"comment:{n:08}" for n in range(59, 59 - len(kept), -1)]
    assert 5 < len(kept) < 25
    [rest] = snapshot.left_out
    assert rest.reason == f"no room: {60 - len(kept)} older comments"
    assert rest.how == "gitmem issue view aaaaaaaa"
    assert snapshot.older_comments == 60 - len(kept)


def test_what_finds_no_room_says_how_to_get_it(commit_all: Write, read: Read) -> None:
    others = [f"{n:08}" for n in range(30)]
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "A", context_refs=[f"issue:{one}" for one in others]),
            **{f"issues/{one}.md": issue_file(one, "Other", "word " * 200) for one in others},
        }
    )
    left = take(read(), budget=2000).left_out
    assert left[0].how == f"gitmem show {left[0].ref}"
    assert left[0].tokens > 200


def test_a_reference_that_leads_nowhere_is_said(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A", context_refs=["issue:zzzzzzzz", "skill:gone"])})
    assert [(one.ref, one.reason) for one in take(read()).left_out] == [
        ("issue:zzzzzzzz", "context ref of the issue: no issue 'zzzzzzzz'"),
        ("skill:gone", "context ref of the issue: no skill 'gone'"),
    ]


def test_what_the_agent_may_not_read_is_named_without_a_word_of_it(commit_all: Write, read: Read) -> None:
    secret = issue_file("ssssssss", "Payroll", sensitivity="secret", created_by="member:zoe")
    commit_all(
        {"issues/a.md": issue_file("aaaaaaaa", "A", context_refs=["issue:ssssssss"]), "issues/s.md": secret}
    )
    snapshot = take(read())
    assert refs(snapshot) == ["issue:aaaaaaaa"]
    assert "Payroll" not in str(snapshot.manifest())
    assert "secret" in snapshot.left_out[0].reason


def test_an_issue_that_the_agent_may_not_read_is_refused(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A", sensitivity="secret", created_by="member:zoe")})
    with pytest.raises(NotPermittedError, match="agent:claude may not read issue aaaaaaaa"):
        take(read())


def test_the_snapshot_is_as_sensitive_as_the_most_sensitive_of_it(commit_all: Write, read: Read) -> None:
    closed = issue_file("bbbbbbbb", "B", sensitivity="confidential", allowed=["agent:claude"])
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A", parent="issue:bbbbbbbb"), "issues/b.md": closed})
    assert take(read()).level is Level.CONFIDENTIAL
    assert take(read()).manifest()["sensitivity"] == "confidential"


def test_references_in_a_circle_end(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file(
                "aaaaaaaa", "A", context_refs=["issue:bbbbbbbb"], parent="issue:aaaaaaaa"
            ),
            "issues/b.md": issue_file("bbbbbbbb", "B", context_refs=["issue:aaaaaaaa", "issue:bbbbbbbb"]),
        }
    )
    assert refs(take(read())) == ["issue:aaaaaaaa", "issue:bbbbbbbb"]


def test_a_long_issue_is_cut_and_its_whole_text_kept_beside(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A", "word " * 9000)})
    snapshot = take(read(), budget=2000)
    item = snapshot.of(Section.ISSUE)[0]
    assert (item.form, item.tokens) == (Form.HEAD, 2000)
    assert snapshot.files["issues/a.md"].endswith(b"word \n")


def test_the_tree_of_a_snapshot_is_made_of_what_the_repository_holds(
    commit_all: Write, read: Read, ws: Workspace, repo: Path
) -> None:
    commit_all(
        {
            "agents/claude.md": AGENT,
            "issues/a.md": issue_file("aaaaaaaa", "A"),
            "skills/retry/SKILL.md": RETRY,
            "skills/retry/scripts/run.sh": "#!/bin/sh\nexit 0\n",
        }
    )
    entries = take(read()).tree_entries()
    assert [(path, mode) for path, mode, _ in entries] == [
        ("agents/claude.md", "100644"),
        ("issues/a.md", "100644"),
        ("skills/retry/SKILL.md", "100644"),
        ("skills/retry/scripts/run.sh", "100755"),
    ]
    for path, _, oid in entries:
        assert git(repo, "rev-parse", f"HEAD:{path}").strip() == oid


def test_an_issue_that_is_not_committed_yet_is_stored_when_asked(
    read: Read, ws: Workspace, repo: Path
) -> None:
    put(repo, "issues/a.md", issue_file("aaaaaaaa", "Just typed"), commit=False)
    snapshot = take(read())
    assert snapshot.uncommitted == {"issues/a.md"}
    assert snapshot.tree_entries() == []
    [(path, _, oid)] = snapshot.tree_entries(ws.git.store_blob)
    assert path == "issues/a.md"
    assert ws.git.blob(oid) == snapshot.files["issues/a.md"]


def test_links_in_a_skill_are_not_followed(commit_all: Write, read: Read, repo: Path) -> None:
    commit_all(
        {
            "agents/claude.md": AGENT,
            "issues/a.md": issue_file("aaaaaaaa", "A"),
            "skills/retry/SKILL.md": RETRY,
        }
    )
    (repo / "skills/retry/passwords").symlink_to("/etc/passwd")
    git(repo, "add", "skills")
    git(repo, "commit", "-q", "-m", "link")
    assert [path for path in take(read()).files if path.startswith("skills/")] == ["skills/retry/SKILL.md"]


def test_the_manifest_says_of_each_item_where_it_is_and_why(commit_all: Write, read: Read) -> None:
    commit_all({"context.md": "# Shoes\n", "issues/a.md": issue_file("aaaaaaaa", "A")})
    snapshot = take(read())
    manifest = snapshot.manifest()
    assert manifest["tokens"] == sum(entry["tokens"] for entry in manifest["items"]) == snapshot.tokens
    assert manifest["items"][0] == {
        "ref": "context",
        "section": "context",
        "path": "context.md",
        "blob": manifest["items"][0]["blob"],
        "place": ".gitmem/CONTEXT.md",
        "form": "whole",
        "tokens": 3,
        "reason": "told to every agent",
    }
    assert parse(render(manifest, None), "manifest.yaml", whole_yaml=True).fields == manifest


def test_the_same_workspace_gives_the_same_snapshot(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            **skill_files(runbook_skill(*pair.first) for pair in PAIRS),
            "issues/a.md": issue_file("aaaaaaaa", *PAIRS[3].second),
        }
    )
    assert take(read()).manifest() == take(read()).manifest()


def test_what_changed_meanwhile_is_told(commit_all: Write, read: Read, repo: Path) -> None:
    commit_all(
        {
            "context.md": "# Shoes\n",
            "issues/a.md": issue_file("aaaaaaaa", "A", status="todo", parent="issue:bbbbbbbb"),
            "issues/b.md": issue_file("bbbbbbbb", "B"),
        }
    )
    manifest = take(read()).manifest()
    assert changed_since(read(), manifest) == []
    put(
        repo,
        "issues/a.md",
        edit((repo / "issues/a.md").read_bytes(), "issues/a.md", {"status": "in_progress"}),
    )
    assert changed_since(read(), manifest) == [], "the run itself moves the status"
    put(repo, "issues/a.md", edit((repo / "issues/a.md").read_bytes(), "issues/a.md", {"title": "Other"}))
    put(repo, "context.md", "# Hats\n")
    git(repo, "rm", "-q", "issues/b.md")
    git(repo, "commit", "-q", "-m", "gone")
    assert changed_since(read(), manifest) == ["context", "issue:aaaaaaaa", "issue:bbbbbbbb"]


def test_filling_in_a_dropped_file_is_no_change_of_the_issue(read: Read, repo: Path) -> None:
    put(repo, "issues/typed.md", "# Fix the login\n\nIt fails.\n", commit=False)
    reader = read()
    manifest = take(reader, reader.records(Kind.ISSUE)[0].id).manifest()
    filled = {"id": "aaaaaaaa", "status": "in_progress", "labels": [], "created_by": "member:ana"}
    put(repo, "issues/typed.md", render(filled, "# Fix the login\n\nIt fails.\n"))
    assert changed_since(read(), manifest) == []


def test_an_issue_that_was_only_moved_has_not_changed(commit_all: Write, read: Read, repo: Path) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A")})
    manifest = take(read()).manifest()
    git(repo, "mv", "issues/a.md", "issues/b.md")
    git(repo, "commit", "-q", "-m", "move")
    assert changed_since(read(), manifest) == []


def test_an_issue_nobody_is_assigned_to_can_be_looked_at_without_an_agent(
    commit_all: Write, read: Read
) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A")})
    reader = read()
    snapshot = assemble(reader, gate(reader, "member:ana"), reader.issue("aaaaaaaa"), None, 24_000, NOW)
    assert snapshot.manifest()["agent"] is None
    assert [record.id for record in reader.records(Kind.ISSUE)] == ["aaaaaaaa"]
