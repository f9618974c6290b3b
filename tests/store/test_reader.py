"""Typed records by list, by filter and by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.core.errors import AmbiguousError, NotFoundError
from gitmem.core.record import Kind
from gitmem.core.states import IssueStatus, Outcome, Priority
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import git, put


def page(body: str = "Body.\n", **fields: str | int | None) -> str:
    lines = "\n\n".join(f"{key}: {value}" for key, value in fields.items() if value is not None)
    return f"---\n{lines}\n---\n{body}"


FILES = {
    "issues/2026-11/7k3q9d2m-login.md": page(
        id="7k3q9d2m", title="Fix the login test", status="todo", priority="high",
        assignee="agent:claude", labels="[auth, web]", created="2026-11-02T00:00:00Z",
    ),
    "issues/2026-11/7k3aaaaa-slow.md": page(
        "Größe der Seite\n", id="7k3aaaaa", title="Slow page", status="todo", priority="urgent",
        labels="[web]", created="2026-11-03T00:00:00Z",
    ),
    "issues/2026-10/9d0k3v7p-old.md": page(
        id="9d0k3v7p", title="Old one", status="done", priority="high", assignee="member:ana",
        created="2026-10-01T00:00:00Z",
    ),
    "issues/2026-10/12345678-digits.md": page(
        id=12345678, title="Digits", status="todo", priority="high", created="2026-11-01T00:00:00Z"
    ),
    "issues/2026-11/aaaa1111-broken-front-matter.md": "---\ntitle: a: b\n---\nStill text.\n",
    "issues/some-plain_note.md": "No heading here.\n",
    "comments/2026-11/7k3q9d2m/20261130t221900z-member-ana-c0mm3nt2.md": page(
        "Second\n", issue="issue:7k3q9d2m", author="member:ana", created="2026-11-30T22:19:00Z"
    ),
    "comments/2026-11/7k3q9d2m/20261130t221800z-agent-claude-c0mm3nt1.md": page(
        "First\n", issue="issue:7k3q9d2m", author="agent:claude", created="2026-11-30T22:18:00Z"
    ),
    "comments/2026-11/7k3q9d2m/hello.md": "By hand, without a word of front matter\n",
    "comments/2026-11/9d0k3v7p/20261130t221800z-member-ana-c0mm3nt3.md": page(issue="issue:9d0k3v7p"),
    "queue/7k3q9d2m.yaml": "issue: issue:7k3q9d2m\n\npriority: low\n",
    "queue/hurry.yaml": "issue: issue:7k3aaaaa\n\nagent: agent:claude\n\npriority: urgent\n",
    "queue/plain.yaml": "issue: 9d0k3v7p\n",
    "agents/claude.md": page("Be careful.\n", name="claude", adapter="claude", model="null"),
    "agents/codex.md": page(adapter="codex"),
    "members/ana.md": page(emails="[ana@example.org, Ana.Work@Example.org]", role="owner"),
    "skills/retry/SKILL.md": page("Steps.\n", name="retry", description="Retries"),
    "knowledge/workspace/auth-decisions.md": page(kind="decision"),
    "knowledge/agent-claude/style.md": page(kind="preference"),
    "runs/2026-11/r1.md": page(
        task="task:hurry", issue="issue:7k3aaaaa", agent="agent:claude", outcome="succeeded",
        started="2026-11-01T00:00:00Z",
    ),
    "runs/2026-11/r2.md": page(
        task="task:other", issue="issue:7k3q9d2m", agent="claude", outcome="failed",
        started="2026-11-03T00:00:00Z",
    ),
    "runs/2026-11/r3.md": page(
        task="task:hurry", issue="issue:7k3aaaaa", agent="codex", outcome="blocked",
        started="2026-11-02T00:00:00Z",
    ),
    "runs/2026-11/r4.md": page(task="task:lost"),
    "context.md": "What every agent is told.\n",
    "libraries.yaml": "- name: platform\n  url: https://example.org/x.git\n",
}  # fmt: skip


@pytest.fixture
def reader(repo: Path, ws: Workspace) -> Iterator[Reader]:
    for path, text in FILES.items():
        put(repo, path, text, commit=False)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "fill")
    with Reader(ws) as opened:
        yield opened


def ids(reader: Reader, **wanted: object) -> list[str]:
    return [issue.id for issue in reader.issues(**wanted)]  # type: ignore[arg-type]


def test_issues_come_by_priority_then_age_and_those_without_a_date_last(reader: Reader) -> None:
    listed = reader.issues()
    assert [(i.title, i.priority) for i in listed[:4]] == [
        ("Slow page", Priority.URGENT),
        ("Old one", Priority.HIGH),
        ("Digits", Priority.HIGH),
        ("Fix the login test", Priority.HIGH),
    ]
    assert {i.title for i in listed[4:]} == {"broken front matter", "some plain note"}
    assert ids(reader, limit=2) == ["7k3aaaaa", "9d0k3v7p"]
    assert ids(reader, limit=0) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"statuses": [IssueStatus.DONE]}, ["9d0k3v7p"]),
        ({"statuses": []}, []),
        ({"assignee": "agent:claude"}, ["7k3q9d2m"]),
        ({"assignee": "ana"}, ["9d0k3v7p"]),
        ({"labels": ["web"]}, ["7k3aaaaa", "7k3q9d2m"]),
        ({"labels": ["web", "auth"]}, ["7k3q9d2m"]),
        ({"labels": ["we"]}, []),
        ({"text": "LOGIN fix"}, ["7k3q9d2m"]),
        ({"text": "GRÖSSE"}, ["7k3aaaaa"]),
        ({"text": "12345678"}, ["12345678"]),
        ({"text": "' OR 1=1 --"}, []),
        ({"text": "%"}, []),
    ],
)
def test_issues_are_filtered(reader: Reader, wanted: dict[str, object], found: list[str]) -> None:
    assert ids(reader, **wanted) == found


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("7k3q9d2m", "7k3q9d2m"),
        ("7k3q", "7k3q9d2m"),
        ("7K3Q", "7k3q9d2m"),
        ("issue:9d0", "9d0k3v7p"),
        ("issues/2026-11/7k3aaaaa-slow.md", "7k3aaaaa"),
        ("1234", "12345678"),
        ("aaaa1111", "aaaa1111"),
    ],
)
def test_an_issue_is_found_by_id_prefix_reference_and_path(reader: Reader, text: str, id_: str) -> None:
    assert reader.issue(text).id == id_
    assert reader.record(Kind.ISSUE, text).id == id_


def test_an_ambiguous_prefix_lists_its_candidates(reader: Reader) -> None:
    with pytest.raises(AmbiguousError) as caught:
        reader.issue("7k3")
    assert caught.value.details["candidates"] == ["7k3aaaaa", "7k3q9d2m"]


@pytest.mark.parametrize("text", ["", " ", "zzz", "%", "7k3q9d2mm", "issue:", "agent:claude", "issues", "_"])
def test_what_names_no_issue_is_not_found(reader: Reader, text: str) -> None:
    with pytest.raises(NotFoundError):
        reader.issue(text)


def test_a_misspelt_name_gets_the_nearest(reader: Reader) -> None:
    with pytest.raises(NotFoundError) as caught:
        reader.agent("cluade")
    assert caught.value.hint == "did you mean claude?"
    with pytest.raises(NotFoundError) as caught:
        reader.issue("7k3q9d2n")
    assert caught.value.hint == "did you mean 7k3q9d2m?"


@pytest.mark.parametrize(
    ("text", "kind", "id_"),
    [
        ("retry", Kind.SKILL, "retry"),
        ("skill:retry", Kind.SKILL, "retry"),
        ("knowledge:workspace/auth-decisions", Kind.KNOWLEDGE, "workspace/auth-decisions"),
        ("workspace/auth-decisions", Kind.KNOWLEDGE, "workspace/auth-decisions"),
        ("member:ana", Kind.MEMBER, "ana"),
        ("r2", Kind.RUN, "r2"),
        ("hurry", Kind.TASK, "hurry"),
        ("context.md", Kind.CONTEXT, "context"),
        ("9d0k", Kind.ISSUE, "9d0k3v7p"),
        ("c0mm3nt1", Kind.COMMENT, "c0mm3nt1"),
    ],
)
def test_any_record_is_found_by_what_names_it(reader: Reader, text: str, kind: Kind, id_: str) -> None:
    record = reader.resolve(text)
    assert (record.kind, record.id) == (kind, id_)


def test_an_id_of_two_kinds_asks_for_the_kind(reader: Reader) -> None:
    with pytest.raises(AmbiguousError) as caught:
        reader.resolve("7k3q9d2m")
    assert caught.value.details["candidates"] == ["issue:7k3q9d2m", "task:7k3q9d2m"]
    assert reader.resolve("task:7k3q9d2m").kind is Kind.TASK


def test_a_double_id_shows_both_files_and_asks_for_the_path(
    repo: Path, reader: Reader, ws: Workspace
) -> None:
    copy = "issues/2026-11/copy.md"
    put(repo, copy, FILES["issues/2026-10/9d0k3v7p-old.md"], commit=False)
    with Reader(ws) as again:
        assert ids(again).count("9d0k3v7p") == 2
        with pytest.raises(AmbiguousError) as caught:
            again.issue("9d0k")
        assert caught.value.details["candidates"] == ["issues/2026-10/9d0k3v7p-old.md", copy]
        assert again.issue(copy).title == "Old one"
        doubles = [problem.path for problem in again.problems() if problem.code == "double-id"]
        assert doubles == caught.value.details["candidates"]


def test_a_broken_file_is_listed_and_its_problem_told(reader: Reader) -> None:
    path = "issues/2026-11/aaaa1111-broken-front-matter.md"
    (problem,) = reader.problems()
    assert (problem.path, problem.line, problem.column > 0) == (path, 2, True)
    assert problem.hint == 'write: title: "a: b"'
    issue = reader.issue("aaaa1111")
    assert (issue.title, issue.path, issue.status) == ("broken front matter", path, IssueStatus.TODO)
    assert reader.data(path) == FILES[path].encode()


def test_comments_come_oldest_first_and_belong_to_the_folder_they_lie_in(reader: Reader) -> None:
    comments = reader.comments("7k3q9d2m")
    assert [(c.body.strip(), c.author) for c in comments] == [
        ("First", "agent:claude"),
        ("Second", "member:ana"),
        ("By hand, without a word of front matter", ""),
    ]
    assert {c.issue for c in comments} == {"7k3q9d2m"}
    assert [c.id for c in comments[:2]] == ["c0mm3nt1", "c0mm3nt2"]
    assert reader.comments("") == []
    assert reader.record(Kind.COMMENT, "c0mm3nt3").path.endswith("c0mm3nt3.md")


def test_tasks_come_by_priority_and_are_named_by_their_file(reader: Reader) -> None:
    assert [task.id for task in reader.tasks()] == ["hurry", "7k3q9d2m", "plain"]
    assert reader.task("hur").agent == "claude"
    assert reader.task("plain").issue == "9d0k3v7p"


def test_runs_come_newest_first_and_are_filtered(reader: Reader) -> None:
    def found(**wanted: object) -> list[str]:
        return [run.id for run in reader.runs(**wanted)]  # type: ignore[arg-type]

    assert found() == ["r2", "r3", "r1", "r4"]
    assert found(limit=2) == ["r2", "r3"]
    assert found(issue="7k3aaaaa") == ["r3", "r1"]
    assert found(agent="claude") == ["r2", "r1"]
    assert found(task="hurry", agent="codex") == ["r3"]
    assert reader.run("run:r3").outcome is Outcome.BLOCKED


def test_records_by_place_have_their_place_for_a_name(reader: Reader) -> None:
    assert [agent.name for agent in reader.agents()] == ["claude", "codex"]
    assert reader.agent("claude").instructions == "Be careful.\n"
    assert [skill.name for skill in reader.skills()] == ["retry"]
    assert reader.skill("retry").description == "Retries"
    assert [note.name for note in reader.knowledge()] == ["agent-claude/style", "workspace/auth-decisions"]
    assert reader.member("ana").role == "owner"
    assert reader.records(Kind.LIBRARIES)[0].fields["items"][0]["name"] == "platform"


@pytest.mark.parametrize("email", ["ana@example.org", "ANA.work@example.org ", "ana.work@example.org"])
def test_a_member_is_known_by_each_address(reader: Reader, email: str) -> None:
    found = reader.member_by_email(email)
    assert found is not None
    assert found.handle == "ana"
    assert reader.member_by_email("bob@example.org") is None
    assert reader.member_by_email("") is None


def test_a_field_with_half_a_character_breaks_nothing(repo: Path, ws: Workspace) -> None:
    odd = '---\nid: 7k3q9d2m\n\ntitle: "\\uD800 odd"\n\nassignee: "\\uDC00"\n\nlabels: ["\\uD800"]\n---\nx\n'
    put(repo, "issues/odd.md", odd, commit=False)
    with Reader(ws) as opened:
        assert [record.path for record in opened.records(Kind.ISSUE)] == ["issues/odd.md"]
        assert opened.search("odd", [Kind.ISSUE], 3)
