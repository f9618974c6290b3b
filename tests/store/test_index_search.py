"""Full text search: what a person types finds the record they mean."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gitmem.core.record import Kind
from gitmem.store.reader import Reader
from gitmem.store.search import Hit
from gitmem.store.search_terms import distance
from gitmem.store.workspace import Workspace
from tests.conftest import git, put

ALL = [Kind.ISSUE, Kind.SKILL, Kind.KNOWLEDGE, Kind.COMMENT, Kind.RUN]


def skill(name: str, description: str, asks: str = "", body: str = "") -> tuple[str, str]:
    said = f"metadata:\n  gitmem-asks: {asks}\n" if asks else ""
    text = f"---\nname: {name}\ndescription: {description}\n{said}---\n{body}\n"
    return f"skills/{name}/SKILL.md", text


FILES = [
    skill(
        "retry-with-fake-clock", "Makes flaky tests deterministic by injecting time.", "why is a test flaky"
    ),
    skill("release-notes", "Writes a change log from merged branches.", body="Run the tests first. " * 40),
    skill("postgres-backup", "Backs up and restores a PostgreSQL database.", "how to restore a dump"),
    (
        "issues/login.md",
        "---\ntitle: Fix the login form\nlabels: [auth, web]\n---\nclass AuthTokenV2Parser fails\n",
    ),
    ("issues/crash.md", "---\ntitle: Crash in dbreindexer\n---\nSee getUserById and max_retry_count.\n"),
    ("issues/zh.md", "---\ntitle: 修复登录的测试\n---\n有时失败。\n"),
    ("issues/zh-body.md", "---\ntitle: Something else\n---\n这个登录页面很慢\n"),
    ("issues/ja.md", "---\ntitle: ログインできない\n---\n本文\n"),
    ("issues/ko.md", "---\ntitle: 로그인이 안됩니다\n---\n본문\n"),
    ("issues/th.md", "---\ntitle: ทดสอบการเข้าสู่ระบบ\n---\nx\n"),
    ("issues/ru.md", "---\ntitle: Ошибка входа в систему\n---\nx\n"),
    ("issues/fr.md", "---\ntitle: La crème brûlée échoue\n---\nx\n"),
    (
        "knowledge/workspace/cache.md",
        "---\nkind: decision\nabout: [invalidation]\n---\n# Cache keys hold the schema\n",
    ),
    ("comments/2026-11/aaaaaaaa/x.md", "---\nauthor: member:ana\n---\nThe kubernetes ingress was wrong.\n"),
    ("runs/2026-11/r1.md", "---\nissue: issue:aaaaaaaa\n---\nI rotated the certificates.\n"),
]


@pytest.fixture
def library(repo: Path, ws: Workspace) -> Workspace:
    for path, text in FILES:
        put(repo, path, text, commit=False)
    filler = random.Random(3)
    words = "parser queue branch commit index lease runner window report folder update browser"
    for number in range(60):
        body = " ".join(filler.choices(words.split(), k=60))
        put(repo, f"issues/filler/{number}.md", f"---\ntitle: Task {number}\n---\n{body}\n", commit=False)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "library")
    return ws


def search(ws: Workspace, query: str, kinds: list[Kind] = ALL, limit: int = 5) -> list[Hit]:
    with Reader(ws) as reader:
        return reader.search(query, kinds, limit)


def paths(ws: Workspace, query: str) -> list[str]:
    return [hit.path for hit in search(ws, query)]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("flaky test", "skills/retry-with-fake-clock/SKILL.md"),
        ("testing flakiness of flaky things", "skills/retry-with-fake-clock/SKILL.md"),
        ("how do I restore", "skills/postgres-backup/SKILL.md"),
        ("databases", "skills/postgres-backup/SKILL.md"),
        ("auth", "issues/login.md"),
        ("invalidation", "knowledge/workspace/cache.md"),
        ("schema of cache keys", "knowledge/workspace/cache.md"),
        ("kubernetes", "comments/2026-11/aaaaaaaa/x.md"),
        ("certificate rotation", "runs/2026-11/r1.md"),
    ],
)
def test_words_are_found_by_their_stems(library: Workspace, query: str, path: str) -> None:
    assert paths(library, query)[0] == path


@pytest.mark.parametrize(
    "query", ["postgers", "kuberntes", "deterministik", "lgoin", "restroe", "kuberneets"]
)
def test_a_slip_of_the_keyboard_is_forgiven(library: Workspace, query: str) -> None:
    wanted = {
        "postgers": "skills/postgres-backup/SKILL.md",
        "restroe": "skills/postgres-backup/SKILL.md",
        "deterministik": "skills/retry-with-fake-clock/SKILL.md",
        "lgoin": "issues/login.md",
    }
    hit = search(library, query)[0]
    assert hit.path == wanted.get(query, "comments/2026-11/aaaaaaaa/x.md")
    assert hit.terms == (query,)
    assert 0 < hit.coverage < 1


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("AuthTokenV2Parser", "issues/login.md"),
        ("token parser", "issues/login.md"),
        ("tokenv2", "issues/login.md"),
        ("reindex", "issues/crash.md"),
        ("user by id", "issues/crash.md"),
        ("getUserById()", "issues/crash.md"),
        ("max_retry_count", "issues/crash.md"),
        ("retry count", "issues/crash.md"),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(library: Workspace, query: str, path: str) -> None:
    assert path in paths(library, query)[:2]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("登录", "issues/zh.md"),
        ("登录测试", "issues/zh.md"),
        ("测试 login", "issues/zh.md"),
        ("页面", "issues/zh-body.md"),
        ("慢", "issues/zh-body.md"),
        ("ログイン", "issues/ja.md"),
        ("로그인", "issues/ko.md"),
        ("เข้าสู่ระบบ", "issues/th.md"),
        ("ошибка", "issues/ru.md"),
        ("creme brulee", "issues/fr.md"),
        ("CRÈME", "issues/fr.md"),
    ],
)
def test_every_script_is_searched(library: Workspace, query: str, path: str) -> None:
    assert path in paths(library, query)[:2]


def test_a_title_weighs_more_than_a_body_in_every_script(library: Workspace) -> None:
    assert paths(library, "登录")[:2] == ["issues/zh.md", "issues/zh-body.md"]


OPERATORS = [
    '"',
    "'",
    "NEAR(a b)",
    "name:x",
    "a AND",
    "-x",
    "*",
    "^a",
    "(",
    "a OR OR b",
    "\0",
    "{x}: y",
    "''--",
]
ODD = ["", "   ", "a", "the of and", "xyzzyplugh", "\ud800", "🦀", "١٢٣", "x" * 5000, "e\u0301" * 50, "%_~"]


@pytest.mark.parametrize("query", [*OPERATORS, *ODD])
def test_no_query_is_an_error(library: Workspace, query: str) -> None:
    for hit in search(library, query):
        assert hit.terms


def test_stop_words_alone_are_looked_for_but_never_beside_others(library: Workspace) -> None:
    assert paths(library, "the")
    assert search(library, "the kubernetes")[0].terms == ("kubernetes",)
    assert len(paths(library, "the kubernetes")) == 1


def test_a_hit_tells_how_much_of_the_query_it_answers(library: Workspace) -> None:
    whole, *_ = search(library, "kubernetes ingress")
    assert whole.terms == ("ingress", "kubernetes")
    assert whole.coverage == pytest.approx(1)
    part, *_ = search(library, "kubernetes xyzzyplugh")
    assert part.terms == ("kubernetes",)
    assert part.coverage < 0.6
    common = next(hit for hit in search(library, "parser kubernetes", limit=60) if hit.terms == ("parser",))
    assert common.coverage < 0.2, "a common word tells little"


def test_a_long_query_is_cut_to_its_telling_words(library: Workspace) -> None:
    noise = "parser queue branch commit index lease runner window report folder update browser " * 100
    log = " ".join(f"0x{number:08x}" for number in range(3000))
    hits = search(library, f"{noise} kubernetes {log}")
    assert hits[0].path == "comments/2026-11/aaaaaaaa/x.md"


def test_only_the_kinds_that_were_asked_for_are_found(library: Workspace) -> None:
    assert {hit.kind for hit in search(library, "test login restore", [Kind.SKILL])} == {Kind.SKILL}
    assert search(library, "test", []) == []
    assert search(library, "tokenv2", [Kind.SKILL]) == []
    assert len(search(library, "parser", ALL, 3)) == 3
    assert search(library, "parser", ALL, 0) == []


def test_a_hit_has_a_title_and_the_passage_that_matched(library: Workspace) -> None:
    login = search(library, "AuthTokenV2Parser")[0]
    assert (login.kind, login.title) == (Kind.ISSUE, "Fix the login form")
    assert "AuthTokenV2Parser" in login.snippet
    comment = search(library, "ingress")[0]
    assert comment.title == comment.snippet == "The kubernetes ingress was wrong."
    backup = search(library, "postgres-backup")[0]
    assert (backup.title, backup.id) == ("postgres-backup", "postgres-backup")
    assert backup.snippet.startswith("Backs up")


def test_uncommitted_files_are_found_as_they_are(repo: Path, library: Workspace) -> None:
    put(repo, "issues/login.md", "---\ntitle: Fix the logout form\n---\nNothing\n", commit=False)
    put(repo, "issues/new.md", "# Quixotic idea\n", commit=False)
    (repo / "issues/crash.md").unlink()
    assert paths(library, "authtokenv2parser") == []
    assert paths(library, "logout")[0] == "issues/login.md"
    assert paths(library, "quixotic") == ["issues/new.md"]
    assert "issues/crash.md" not in paths(library, "reindex")
    git(repo, "checkout", "--", ".")
    assert paths(library, "AuthTokenV2Parser")[0] == "issues/login.md"
    assert "issues/crash.md" in paths(library, "reindex")


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        ("flaky", "flaky", 0),
        ("flaky", "flacky", 1),
        ("form", "from", 1),
        ("abc", "xbc", 1),
        ("ab", "ba", 1),
        ("kitten", "sitting", None),
        ("abcd", "badc", 2),
        ("", "ab", 2),
        ("abcdef", "fedcba", None),
    ],
)
def test_distance_counts_slips_of_the_keyboard(one: str, other: str, far: int | None) -> None:
    assert distance(one, other, 2) == far
    assert distance(other, one, 2) == far
