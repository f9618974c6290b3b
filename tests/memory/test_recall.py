from __future__ import annotations

from collections.abc import Callable

import pytest

from gitmem.core.model import issue_of
from gitmem.core.record import Kind, Record
from gitmem.memory.recall import Recalled, query_of_issue, query_of_text, recall
from gitmem.store.document import render
from gitmem.store.reader import Reader
from tests.memory.conftest import NOW, Files, gate, issue_file, skill_files
from tests.support.issue_pairs import PAIRS, Text
from tests.support.runbook_skill import runbook_skill
from tests.support.skill_library import skill_library

Write = Callable[[Files], None]
Read = Callable[[], Reader]

LIBRARY = [
    (skill.name, render({"name": skill.name, "description": skill.description}, skill.body))
    for skill in skill_library(200, seed=7)
]
UNRELATED = (
    Text(
        "Add a dark mode to the settings page", "Users ask for dark colours. Follow the system preference.\n"
    ),
    Text("Write the agenda of the spring offsite", "Two days in April; book rooms and a restaurant.\n"),
    Text("Update the docs", "They are old. Fix what is wrong, run the tests and check the links.\n"),
    Text("Fix the failing build", "The build has been failing since this morning. Please fix it.\n"),
)


def for_issue(reader: Reader, text: Text, limit: int = 5, actor: str = "agent:claude") -> list[Recalled]:
    issue = issue_of(Record(Kind.ISSUE, "q", "issues/q.md", "", {"title": text.title}, text.body))
    return recall(
        reader, gate(reader, actor), query_of_issue(issue), kinds=[Kind.SKILL], limit=limit, now=NOW
    )


def for_text(reader: Reader, words: str, *kinds: Kind) -> list[Recalled]:
    return recall(reader, gate(reader), query_of_text(words), kinds=kinds or list(Kind), limit=5, now=NOW)


def names(found: list[Recalled]) -> list[str]:
    return [one.record.id for one in found]


def test_among_200_other_skills_each_skill_is_found_from_an_issue_in_other_words(
    commit_all: Write, read: Read
) -> None:
    made = [runbook_skill(*pair.first) for pair in PAIRS]
    commit_all(skill_files([*LIBRARY, *made]))
    reader = read()
    found = {name: names(for_issue(reader, pair.second)) for pair, (name, _) in zip(PAIRS, made, strict=True)}
    assert [name for name, five in found.items() if name not in five] == []
    assert sum(five[0] == name for name, five in found.items()) >= 0.9 * len(PAIRS)
    strangers = sum(len(five) - 1 for five in found.values())
    assert strangers <= len(PAIRS) / 5, "an agent that is given something for every task stops reading it"


def test_the_first_skill_of_a_workspace_is_found_as_well(commit_all: Write, read: Read) -> None:
    pair = PAIRS[0]
    name, data = runbook_skill(*pair.first)
    commit_all(skill_files([(name, data)]))
    assert names(for_issue(read(), pair.second)) == [name]
    assert not for_issue(read(), PAIRS[1].second)


@pytest.mark.parametrize("text", UNRELATED, ids=lambda text: text.title)
def test_an_unrelated_issue_gets_no_skill(commit_all: Write, read: Read, text: Text) -> None:
    commit_all(skill_files([*LIBRARY, *(runbook_skill(*pair.first) for pair in PAIRS)]))
    assert names(for_issue(read(), text)) == []


def test_a_skill_says_why_it_was_recalled(commit_all: Write, read: Read) -> None:
    commit_all(skill_files([runbook_skill(*PAIRS[1].first)]))
    found = for_issue(read(), PAIRS[1].second)[0]
    assert found.ref == "skill:renew-the-staging-tls-certificate"
    assert any("staging" in line for line in found.why)
    assert any("(for https)" in line for line in found.why)
    assert found.why[-1] == "candidate: not yet proven, weighs 0.9"


def test_a_proven_skill_goes_before_a_candidate_that_says_the_same(commit_all: Write, read: Read) -> None:
    def skill(name: str, status: str) -> tuple[str, bytes]:
        fields = {
            "name": name,
            "description": "Renew the TLS certificate of staging.",
            "metadata": {"gitmem-status": status},
        }
        return name, render(fields, "Steps.\n")

    commit_all(
        skill_files([skill("renew-a", "candidate"), skill("renew-b", "active"), skill("renew-c", "trial")])
    )
    assert names(for_text(read(), "renew staging certificate")) == ["renew-b", "renew-c", "renew-a"]


@pytest.mark.parametrize("status", ["suspect", "archived"])
def test_a_skill_in_doubt_is_never_offered(commit_all: Write, read: Read, status: str) -> None:
    commit_all(skill_files([runbook_skill(*PAIRS[0].first, status=status)]))
    assert for_text(read(), "flaky login test") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "superseded"},
        {"status": "suspect"},
        {"valid_to": "2026-01-01T00:00:00Z"},
        {"valid_from": "2027-01-01T00:00:00Z"},
    ],
)
def test_knowledge_that_does_not_hold_now_is_never_offered(
    commit_all: Write, read: Read, fields: dict[str, str]
) -> None:
    body = "Sessions are kept in redis, never in cookies.\n"
    commit_all(
        {
            "knowledge/workspace/old.md": render({"kind": "decision", "about": ["sessions"], **fields}, body),
            "knowledge/workspace/new.md": render({"kind": "decision", "about": ["sessions"]}, body),
        }
    )
    assert names(for_text(read(), "where are sessions kept, redis or cookies")) == ["workspace/new"]


def test_a_heap_of_superseded_notes_does_not_hide_the_one_that_holds(commit_all: Write, read: Read) -> None:
    old = {"kind": "decision", "about": ["session cookies"], "status": "superseded"}
    notes = {
        f"knowledge/workspace/old-{n:03}.md": render(old, "Session cookies live a day.\n") for n in range(120)
    }
    new = render({"kind": "decision", "about": ["cookies"]}, "A cookie of a session lives for an hour.\n")
    commit_all({**notes, "knowledge/workspace/new.md": new})
    assert names(for_text(read(), "session cookies")) == ["workspace/new"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("flaky", "fix-the-flaky-login-test"),
        ("intermittent login", "fix-the-flaky-login-test"),
        ("flakky login tset", "fix-the-flaky-login-test"),
        ("pytest", "fix-the-flaky-login-test"),
        ("MAILER-DAEMON", "unblock-the-mail-queue-after-a-bounce-storm"),
        ("cert", "renew-the-staging-tls-certificate"),
    ],
)
def test_a_typed_query_finds_words_synonyms_slips_and_mentions(
    commit_all: Write, read: Read, words: str, name: str
) -> None:
    commit_all(skill_files([*LIBRARY[:50], *(runbook_skill(*pair.first) for pair in PAIRS)]))
    assert names(for_text(read(), words, Kind.SKILL))[:1] == [name]


def test_a_query_that_nothing_answers_gets_nothing(commit_all: Write, read: Read) -> None:
    commit_all(skill_files(LIBRARY[:50]))
    for words in ("zeppelin", "", "   ", "the of and", '"; DROP TABLE doc; --', "login OR (NEAR", "修复"):
        assert for_text(read(), words) == [], words


def test_a_script_without_spaces_is_recalled(commit_all: Write, read: Read) -> None:
    fields = {
        "name": "login-fix",
        "description": "修复登录测试的不稳定问题。当测试在持续集成环境中失败时使用。",
    }
    commit_all(skill_files([("login-fix", render(fields, "步骤。\n"))]))
    assert names(for_issue(read(), Text("登录测试不稳定", "持续集成环境中有时失败。\n"))) == ["login-fix"]
    assert names(for_issue(read(), Text("设计新的标志", "颜色和字体。\n"))) == []


def test_issues_comments_and_runs_are_recalled_too(commit_all: Write, read: Read) -> None:
    commit_all(
        {
            "issues/2026-11/7k3q9d2m-a.md": issue_file(
                "7k3q9d2m", "Fix the flaky login test", labels=["auth"]
            ),
            "comments/2026-11/7k3q9d2m/20261130t221900z-member-ana-aaaaaaaa.md": render(
                {"issue": "issue:7k3q9d2m", "author": "member:ana", "created": "2026-11-30T22:19:00Z"},
                "The login cookie comes late on slow machines.\n",
            ),
            "runs/2026-11/9d0k3v7p.md": render(
                {"issue": "issue:7k3q9d2m", "agent": "agent:claude", "outcome": "succeeded"},
                "The login test now waits for the cookie.\n",
            ),
        }
    )
    kinds = {one.record.kind for one in for_text(read(), "login cookie")}
    assert kinds == {Kind.COMMENT, Kind.RUN}
    assert [one.ref for one in for_text(read(), "flaky login")] == ["issue:7k3q9d2m"]


def test_recall_gives_an_actor_only_what_it_may_read(commit_all: Write, read: Read) -> None:
    def note(**fields: object) -> bytes:
        return render(
            {"kind": "fact", "about": ["payroll export"], **fields}, "The payroll export runs on Friday.\n"
        )

    commit_all(
        {
            "knowledge/workspace/open.md": note(),
            "knowledge/workspace/closed.md": note(sensitivity="confidential", allowed=["agent:codex"]),
            "knowledge/workspace/poisoned.md": note(trust="quarantined"),
            "knowledge/agent-codex/own.md": note(),
        }
    )
    reader = read()

    def seen(actor: str) -> set[str]:
        query = query_of_text("payroll export")
        return set(names(recall(reader, gate(reader, actor), query, limit=9, now=NOW)))

    assert seen("agent:claude") == {"workspace/open"}
    assert seen("agent:codex") == {"workspace/open", "workspace/closed", "agent-codex/own"}
    assert seen("member:ana") == {"workspace/open", "workspace/poisoned", "agent-codex/own"}


def test_recall_is_the_same_whoever_asks_twice(commit_all: Write, read: Read) -> None:
    commit_all(skill_files([*LIBRARY, *(runbook_skill(*pair.first) for pair in PAIRS)]))
    once, again = (for_issue(read(), PAIRS[4].second) for _ in range(2))
    assert once == again


def test_what_is_told_already_is_not_recalled(commit_all: Write, read: Read) -> None:
    commit_all(skill_files([runbook_skill(*PAIRS[0].first)]))
    reader = read()
    query = query_of_text("flaky login test")
    known = recall(reader, gate(reader), query, limit=5, now=NOW)
    assert not recall(reader, gate(reader), query, limit=5, now=NOW, without={known[0].ref})
