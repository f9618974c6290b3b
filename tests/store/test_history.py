"""The audit log: every commit is an event, told by its trailers and never by its subject."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.core.ids import Ref, parse_actor
from gitmem.store.change import Change
from gitmem.store.history import Event, events, field_changes, trailers
from gitmem.store.workspace import Workspace
from tests.conftest import NOW, git, put

ISSUE = "issues/2026-11/7k3q9d2m-x.md"
MEMBER = "---\nemails: [ana@example.org]\n---\n"
REF = Ref("issue", "7k3q9d2m")


def text(**fields: str) -> str:
    keys = {"id": "7k3q9d2m", "title": "Fix it", "status": "todo", "priority": "none"} | fields
    return "---\n" + "\n\n".join(f"{k}: {v}" for k, v in keys.items()) + "\n---\nBody.\n"


def change(
    ws: Workspace, path: str, data: str, *refs: Ref, action: str = "issue.edit", actor: str = "agent:claude",
    minute: int = 0,
) -> str:  # fmt: skip
    when = NOW + timedelta(minutes=minute)
    one = Change(ws, actor=parse_actor(actor), action=action, now=when, trace=f"{minute:032x}")
    one.write(path, data.encode())
    return one.commit("a subject: with Gitmem-Actor: words", "Some text.", refs=refs).oid


def by_hand(repo: Path, path: str, data: str, minute: int, author: str = "Ana <ana@example.org>") -> str:
    put(repo, path, data, commit=False)
    git(repo, "add", path)
    when = (NOW + timedelta(minutes=minute)).isoformat()
    git(
        repo,
        "-c",
        "user.useConfigOnly=false",
        "commit",
        "-qm",
        "typed",
        f"--author={author}",
        f"--date={when}",
    )
    return git(repo, "rev-parse", "HEAD").strip()


def log(ws: Workspace, **wanted: object) -> list[Event]:
    return list(events(ws, **wanted))  # type: ignore[arg-type]


def test_a_change_is_told_by_its_trailers(ws: Workspace) -> None:
    oid = change(ws, ISSUE, text(), REF, Ref("task", "t1"), Ref("run", "r1"), action="issue.create")
    event = log(ws)[0]
    assert event == Event(
        commit=oid,
        time="2026-11-30T22:19:00Z",
        actor="agent:claude",
        action="issue.create",
        trace="0" * 32,
        refs=(REF, Ref("task", "t1"), Ref("run", "r1")),
        subject="a subject: with Gitmem-Actor: words",
    )


def test_a_commit_by_hand_is_an_event_of_the_member_with_its_address(repo: Path, ws: Workspace) -> None:
    put(repo, "members/ana.md", MEMBER)
    by_hand(repo, ISSUE, text(), 1)
    by_hand(repo, ISSUE, text(status="done"), 2, "Bob <bob@example.org>")
    by_hand(repo, ISSUE, text(status="todo"), 3, "x <agent+codex@k3v9x2m7.gitmem.invalid>")
    by_hand(repo, ISSUE, text(status="done"), 4, "x <agent+codex@other000.gitmem.invalid>")
    told = [(event.actor, event.action, event.trace, event.refs) for event in log(ws)[:4]]
    assert told == [
        ("unknown:agent+codex@other000.gitmem.invalid", "edit", None, ()),
        ("agent:codex", "edit", None, ()),
        ("unknown:bob@example.org", "edit", None, ()),
        ("member:ana", "edit", None, ()),
    ]


def test_a_merge_is_told_by_its_parents(repo: Path, ws: Workspace) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    put(repo, ISSUE, text())
    git(repo, "checkout", "-q", "main")
    put(repo, "issues/b.md", "# B\n")
    git(repo, "merge", "-q", "-m", "todo -> done", "other")
    assert [event.action for event in log(ws)] == ["merge", "edit", "edit", "edit"]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("s\n\nGitmem-Action: a\nGitmem-Actor: agent:x\n", {"action": ["a"], "actor": ["agent:x"]}),
        ("s\n\nbody\n\nGitmem-Issue: 1\nGitmem-Issue: 2\n", {"issue": ["1", "2"]}),
        ("s\n\nGitmem-Action: a\nSigned-off-by: A <a@b>\n(cherry picked from commit 1)\n", {"action": ["a"]}),
        ("s\n\nGitmem-Action: a\n long\n", {"action": ["a"]}),
        ("s\r\n\r\n", {}),
        ("Gitmem-Action: a\n", {}),
        ("s\n\nGitmem-Actor: member:ana\n\nlast words\n", {}),
        ("s\n\nHe wrote:\nGitmem-Actor: member:ana\n", {}),
        ("s\nGitmem-Actor: member:ana\n", {}),
        ("", {}),
    ],
)
def test_trailers_are_the_last_paragraph_and_nothing_else(message: str, found: dict[str, list[str]]) -> None:
    assert trailers(message) == found


def test_an_issue_has_its_edits_comments_and_what_names_it_and_no_others(repo: Path, ws: Workspace) -> None:
    wanted = [
        change(ws, ISSUE, text(), REF, minute=1),
        change(ws, "queue/t.yaml", "issue: issue:7k3q9d2m\n", REF, Ref("task", "t"), minute=2),
        by_hand(repo, ISSUE, text(status="done"), 3),
        by_hand(repo, "comments/2026-11/7k3q9d2m/hi.md", "Hi\n", 4),
    ]
    change(ws, "issues/2026-11/9d0k3v7p-y.md", text(id="9d0k3v7p"), Ref("issue", "9d0k3v7p"), minute=5)
    change(ws, "issues/2026-11/7k3q9d2-z.md", text(id="7k3q9d2x"), Ref("issue", "7k3q9d2x"), minute=6)
    assert sorted(event.commit for event in log(ws, ref=REF)) == sorted(wanted)
    assert [event.commit for event in log(ws, ref=Ref("task", "t"))] == [wanted[1]]
    assert log(ws, ref=Ref("issue", "..*")) == []
    assert log(ws, ref=Ref("run", "--all")) == []


def test_the_history_of_an_issue_goes_on_where_its_file_is_moved(repo: Path, ws: Workspace) -> None:
    first = by_hand(repo, ISSUE, text(), 1)
    (repo / "issues/2026-12").mkdir()
    git(repo, "mv", ISSUE, "issues/2026-12/7k3q9d2m-renamed.md")
    git(repo, "commit", "-qm", "move")
    assert [event.commit for event in log(ws, ref=REF)][-1] == first
    assert len(log(ws, ref=REF)) == 2


def test_events_are_filtered_by_path_actor_action_and_time(repo: Path, ws: Workspace) -> None:
    one = change(ws, ISSUE, text(), REF, action="issue.create", actor="agent:claude", minute=1)
    two = change(ws, "issues/[x].md", "# X\n", action="issue.create", actor="agent:codex", minute=2)
    three = change(ws, ISSUE, text(status="done"), REF, action="issue.close", actor="agent:codex", minute=3)
    assert [e.commit for e in log(ws, path=ISSUE)] == [three, one]
    assert [e.commit for e in log(ws, path="issues/[x].md")] == [two]
    assert [e.commit for e in log(ws, path="issues")] == [three, two, one]
    assert [e.commit for e in log(ws, actor="agent:codex")] == [three, two]
    assert [e.commit for e in log(ws, action="issue.create")] == [two, one]
    assert [e.commit for e in log(ws, actor="agent:codex", action="issue.create", limit=1)] == [two]
    assert [e.commit for e in log(ws, since=NOW + timedelta(minutes=2))][:2] == [three, two]
    assert log(ws, since=datetime(2099, 1, 1, tzinfo=UTC)) == []
    assert len(log(ws, limit=2)) == 2
    assert log(ws, path=":(exclude)nothing") == []


def test_events_come_as_they_are_read(ws: Workspace) -> None:
    for minute in range(3):
        change(ws, ISSUE, text(title=f"T{minute}"), REF, minute=minute)
    stream = events(ws)
    assert next(iter(stream)).trace == f"{2:032x}"


def test_field_changes_tell_old_and_new_of_each_key(repo: Path, ws: Workspace) -> None:
    first = change(ws, ISSUE, text(), REF, minute=1)
    second = change(ws, ISSUE, text(status="done", labels="[a]"), REF, minute=2)
    third = by_hand(repo, ISSUE, text(status="done").replace("Body.", "New body."), 3)
    told = [(c.event.commit, c.key, c.old, c.new) for c in field_changes(ws, ISSUE)]
    assert told == [
        (third, "labels", ["a"], None),
        (third, "body", "Body.\n", "New body.\n"),
        (second, "status", "todo", "done"),
        (second, "labels", None, ["a"]),
        (first, "id", None, "7k3q9d2m"),
        (first, "title", None, "Fix it"),
        (first, "status", None, "todo"),
        (first, "priority", None, "none"),
        (first, "body", None, "Body.\n"),
    ]
    assert len(list(field_changes(ws, ISSUE, limit=3))) == 3


def test_a_removed_and_a_broken_file_are_told_too(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text())
    put(repo, ISSUE, "---\ntitle: a: b\n---\nBody.\n")
    git(repo, "rm", "-q", ISSUE)
    git(repo, "commit", "-qm", "remove")
    told = [(c.key, c.new) for c in field_changes(ws, ISSUE)]
    assert told[0] == ("body", None)
    assert ("status", None) in told[1:5]
