from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import layout
from gitmem.core.record import Kind

CREATED = "2026-11-30T22:19:00Z"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("gitmem.yaml", Kind.CONFIG),
        ("context.md", Kind.CONTEXT),
        ("policy.yaml", Kind.POLICY),
        ("libraries.yaml", Kind.LIBRARIES),
        ("issues/x.md", Kind.ISSUE),
        ("issues/2026-11/deep/er/x.md", Kind.ISSUE),
        ("comments/2026-11/7k3q9d2m/x.md", Kind.COMMENT),
        ("runs/2026-11/r.md", Kind.RUN),
        ("agents/claude.md", Kind.AGENT),
        ("members/ana.md", Kind.MEMBER),
        ("queue/anything.yaml", Kind.TASK),
        ("skills/retry/SKILL.md", Kind.SKILL),
        ("knowledge/workspace/x.md", Kind.KNOWLEDGE),
        ("skills/retry/notes.md", None),
        ("skills/retry/deep/SKILL.md", None),
        ("knowledge/x.md", None),
        ("agents/team/claude.md", None),
        ("queue/x.md", None),
        ("issues/.draft.md", None),
        ("issues/x.txt", None),
        ("README.md", None),
        ("src/context.md", None),
    ],
)
def test_the_place_of_a_file_tells_its_kind(path: str, kind: Kind | None) -> None:
    assert layout.kind_of(path) is kind


@pytest.mark.parametrize(
    ("kind", "path", "name"),
    [
        (Kind.SKILL, "skills/retry/SKILL.md", "retry"),
        (Kind.KNOWLEDGE, "knowledge/agent-claude/habits.md", "agent-claude/habits"),
        (Kind.AGENT, "agents/claude.v2.md", "claude.v2"),
        (Kind.TASK, "queue/t.yaml", "t"),
    ],
)
def test_a_record_without_an_id_is_named_by_its_place(kind: Kind, path: str, name: str) -> None:
    assert layout.name_from_path(kind, path) == name


@given(st.text(max_size=200))
def test_every_made_path_can_be_kept_everywhere_and_is_of_its_kind(title: str) -> None:
    path = layout.issue_path("7k3q9d2m", title, CREATED)
    assert layout.path_problem(path) is None
    assert layout.kind_of(path) is Kind.ISSUE
    assert all(layout.is_made_name(part) for part in path.split("/"))


def test_a_comment_lies_in_the_month_of_its_issue() -> None:
    path = layout.comment_path("issues/2025-01/7k3q9d2m-x.md", "7k3q9d2m", CREATED, "member:ana", "q7")
    assert path == "comments/2025-01/7k3q9d2m/20261130t221900z-member-ana-q7.md"
    elsewhere = layout.comment_path("issues/x.md", "7k3q9d2m", CREATED, "agent:claude", "q7")
    assert elsewhere.startswith("comments/2026-11/7k3q9d2m/")


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix the flaky login test", "fix-the-flaky-login-test"),
        ("Ärger mit Größe & Maß", "arger-mit-groe-ma"),
        ("修复登录", ""),
        ("---", ""),
        ("x" * 80, "x" * 48),
    ],
)
def test_a_slug_is_readable_ascii(title: str, slug: str) -> None:
    assert layout.slug(title) == slug


@given(st.text(max_size=300), st.integers(1, 60))
def test_a_slug_is_never_longer_than_its_limit_nor_unsafe(title: str, limit: int) -> None:
    made = layout.slug(title, limit)
    assert len(made) <= limit
    assert not made or set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert not made.startswith("-")
    assert not made.endswith("-")


@pytest.mark.parametrize(
    "part",
    [
        "", ".", "..", ".git", ".GIT", "git~1", ".git\u200c", "con", "CON.md", "aux.txt", "com1", "nul",
        "x:y", "a?b", "a*b", "a\\b", "tail.", "tail ", "a\nb", "\x7f", "e\u0301", "x" * 256,
    ],
)  # fmt: skip
def test_a_name_that_some_system_cannot_hold_is_told(part: str) -> None:
    assert layout.part_problem(part)


@pytest.mark.parametrize("part", ["SKILL.md", "a b.txt", "über.md", "-rf", ".gitignore", "console.md"])
def test_other_peoples_good_names_are_kept(part: str) -> None:
    assert layout.part_problem(part) is None


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../b", "a//b", "a/.git/config", "a\0b", "../x", "a/"])
def test_a_path_that_leads_elsewhere_is_told(path: str) -> None:
    assert layout.path_problem(path)


@given(st.text(max_size=120))
def test_a_made_name_is_always_a_name_without_problem(part: str) -> None:
    if layout.is_made_name(part):
        assert layout.part_problem(part) is None
        assert len(part.encode()) <= 100
