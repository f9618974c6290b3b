from __future__ import annotations

from collections.abc import Callable

import pytest

from gitmem.core.errors import InvalidDocumentError
from gitmem.core.policy import Right
from gitmem.core.record import Kind
from gitmem.store.document import render
from gitmem.store.reader import Reader
from tests.memory.conftest import Files, gate, issue_file

Write = Callable[[Files], None]
Read = Callable[[], Reader]


def comment(issue: str, author: str = "member:ana") -> bytes:
    return render(
        {"issue": f"issue:{issue}", "author": author, "created": "2026-11-30T22:19:00Z"}, "Words.\n"
    )


def seen(reader: Reader, actor: str, kind: Kind = Kind.ISSUE, working_on: str | None = None) -> set[str]:
    records = gate(reader, actor, working_on).allowed(reader.records(kind))
    return {record.path.split("/")[-1].split(".")[0] for record in records}


def test_in_a_workspace_without_policy_everything_internal_is_read(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A"), "context.md": "# We build things\n"})
    assert seen(read(), "agent:claude") == {"a"}
    assert seen(read(), "agent:claude", Kind.CONTEXT) == {"context"}


def test_what_is_said_about_an_issue_is_as_sensitive_as_the_issue(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "A", sensitivity="confidential", allowed=["agent:codex"]),
            "comments/2026-11/aaaaaaaa/c.md": comment("aaaaaaaa"),
            "runs/2026-11/r.md": render({"issue": "issue:aaaaaaaa", "agent": "agent:codex"}, "Words.\n"),
        }
    )
    for kind, name in ((Kind.ISSUE, "a"), (Kind.COMMENT, "c"), (Kind.RUN, "r")):
        assert seen(read(), "agent:codex", kind) == {name}
        assert seen(read(), "agent:claude", kind) == set()


def test_a_comment_whose_issue_cannot_be_read_is_refused(commit_all: Write, read: Read) -> None:
    commit_all({"comments/2026-11/zzzzzzzz/c.md": comment("zzzzzzzz")})
    assert seen(read(), "agent:claude", Kind.COMMENT) == set()


def test_an_issue_whose_front_matter_is_broken_is_refused_to_agents(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/aaaaaaaa-x.md": "---\nid: aaaaaaaa\ntitle: x: y\nsensitivity: secret\n---\nPassword\n",
            "comments/2026-11/aaaaaaaa/c.md": comment("aaaaaaaa"),
        }
    )
    reader = read()
    decision = gate(reader).decision(reader.records(Kind.ISSUE)[0])
    assert (decision.allowed, decision.reason) == (
        False,
        "its front matter cannot be read, so nobody knows who may",
    )
    assert seen(reader, "agent:claude", Kind.COMMENT) == set()
    assert seen(reader, "member:ana") == {"aaaaaaaa-x"}


def test_quarantine_reaches_the_comments_of_an_issue(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "A", trust="quarantined"),
            "comments/2026-11/aaaaaaaa/c.md": comment("aaaaaaaa"),
        }
    )
    assert seen(read(), "agent:claude", Kind.COMMENT) == set()
    assert seen(read(), "member:ana", Kind.COMMENT) == {"c"}


def test_an_agent_reads_the_project_of_the_issue_in_hand(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "A", project="web"),
            "issues/b.md": issue_file("bbbbbbbb", "B", project="ops"),
            "issues/c.md": issue_file("cccccccc", "C"),
        }
    )
    assert seen(read(), "agent:claude", working_on="web") == {"a", "c"}
    assert seen(read(), "agent:claude") == {"c"}
    assert seen(read(), "member:ana") == {"a", "b", "c"}


def test_the_role_in_an_agents_own_file_counts(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/a.md": issue_file("aaaaaaaa", "A", sensitivity="secret", created_by="member:zoe"),
            "agents/lead.md": render({"name": "lead", "role": "orchestrator"}, "Lead.\n"),
        }
    )
    assert seen(read(), "agent:lead") == {"a"}
    assert seen(read(), "agent:claude") == set()


def test_a_policy_that_cannot_be_read_stops_agents_and_not_people(commit_all: Write, read: Read) -> None:
    commit_all({"policy.yaml": "roles: [\n", "issues/a.md": issue_file("aaaaaaaa", "A")})
    with pytest.raises(InvalidDocumentError, match=r"policy\.yaml"):
        gate(read(), "agent:claude")
    assert seen(read(), "member:ana") == {"a"}


def test_the_gate_answers_for_other_rights_too(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A")})
    reader = read()
    record = reader.record(Kind.ISSUE, "aaaaaaaa")
    assert gate(reader, "agent:claude").decision(record, Right.WRITE).allowed
    assert not gate(reader, "agent:claude").decision(record, Right.ADMIN).allowed


def test_a_sandbox_is_asked_for_where_items_exist_that_the_agent_may_not_read(
    commit_all: Write, read: Read
) -> None:
    commit_all(
        {
            "policy.yaml": "require_sandbox: confidential\n",
            "issues/a.md": issue_file("aaaaaaaa", "A", sensitivity="confidential", allowed=["agent:codex"]),
        }
    )
    assert gate(read(), "agent:codex").sandbox_needed() is None
    assert "issue:aaaaaaaa" in (gate(read(), "agent:claude").sandbox_needed() or "")


def test_without_that_rule_no_sandbox_is_asked_for(commit_all: Write, read: Read) -> None:
    commit_all({"issues/a.md": issue_file("aaaaaaaa", "A", sensitivity="secret")})
    assert gate(read()).sandbox_needed() is None
