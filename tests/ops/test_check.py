"""`check` shows every fault of a workspace at its place; `fix` mends what needs no judgement."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.core.errors import NotFoundError
from gitmem.core.ids import Actor, ActorKind, is_id
from gitmem.core.record import Problem, Severity
from gitmem.ops.check import Fixed, check, fix
from gitmem.store.document import parse
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace, find
from tests.conftest import NOW, git, put

ANA = Actor(ActorKind.MEMBER, "ana")
ISSUE = "issues/2026-11/7k3q9d2m-login.md"
OTHER = "issues/2026-11/4h2m8xq0-page.md"


def issue(id_: str = "7k3q9d2m", more: str = "") -> str:
    return (
        f"---\nid: {id_}\ntitle: An issue\ncreated: 2026-11-30T22:19:00Z\ncreated_by: member:ana\n{more}---\n"
    )


def told(problem: Problem) -> tuple[str, str, int]:
    return problem.path, problem.code, problem.line


def codes(ws: Workspace, *paths: str) -> list[str]:
    return [problem.code for problem in check(ws, paths)]


def only(ws: Workspace) -> Problem:
    [problem] = check(ws)
    return problem


def mend(ws: Workspace, *paths: str) -> Fixed | None:
    return fix(ws, paths, actor=ANA, now=NOW, trace="5" * 32)


def test_a_workspace_in_order_has_no_problem(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue(more="parent: issue:4h2m8xq0\nassignee: agent:claude\n"))
    put(repo, OTHER, issue("4h2m8xq0"))
    put(repo, "agents/claude.md", "---\nname: claude\nskills:\n  - retry\n---\n")
    put(repo, "skills/retry/SKILL.md", "---\nname: retry\ndescription: Retry a test.\n---\nDo it.\n")
    put(repo, "skills/retry/scripts/run.sh", "#!/bin/sh\n")
    put(
        repo, "comments/2026-11/7k3q9d2m/a.md", "---\nissue: issue:7k3q9d2m\nauthor: agent:claude\n---\nHi.\n"
    )
    put(repo, "queue/now.yaml", "issue: 7k3q\n")
    put(repo, "notes/anything.xyz", b"\0\xff")
    assert check(ws) == []
    assert mend(ws) is None


@pytest.mark.parametrize(
    ("path", "data", "code", "line"),
    [
        (ISSUE, "---\ntitle: Fix: this\n---\n", "unquoted-colon", 2),
        (ISSUE, "---\ntitle: x\ntitle: y\n---\n", "duplicate-key", 3),
        (ISSUE, "---\ntitle: x\n<<<<<<< HEAD\n---\n", "conflict-markers", 3),
        (ISSUE, "---\nassignee: [@x]\n---\n", "yaml-syntax", 2),
        (ISSUE, b"", "empty-file", 0),
        (ISSUE, b"---\ntitle: \0\n---\n", "binary-file", 2),
        (ISSUE, b"---\ntitle: \xff\n---\n", "not-utf8", 2),
        (ISSUE, b"x" * 1_048_577, "too-large", 0),
        (ISSUE, issue(more="status: Done\n"), "unknown-value", 6),
        (ISSUE, issue(more="asignee: null\n"), "unknown-key", 6),
        (ISSUE, issue("4h2m8xq0"), "id-not-file-name", 2),
        (ISSUE, issue(more="parent: issue:00000000\n"), "dangling-ref", 6),
        (ISSUE, issue(more="context_refs:\n  - skill:gone\n"), "dangling-ref", 7),
        (ISSUE, issue(more="repo: wbe\n"), "dangling-ref", 6),
        (ISSUE, issue(more="assignee: agent:gone\n"), "dangling-ref", 6),
        (ISSUE, issue(more="blocked_by: [issue:7k3q9d2m]\n"), "circle", 6),
        ("queue/x.yaml", "agent: null\n", "missing-key", 1),
        ("queue/x.yaml", "issue: issue:00000000\n", "dangling-ref", 1),
        ("comments/2026-11/00000000/a.md", "---\nissue: a\nauthor: member:ana\n---\n", "dangling-ref", 2),
        ("agents/claude.md", "---\nname: cloud\n---\n", "name-not-file", 2),
        ("agents/claude.md", "---\nskills:\n  - gone\n---\n", "dangling-ref", 3),
        ("members/ana.md", "---\nhandle: anna\n---\n", "name-not-file", 2),
        ("skills/retry/SKILL.md", "---\nname: other\ndescription: x\n---\n", "name-not-folder", 2),
        ("skills/retry/SKILL.md", f"---\nname: retry\ndescription: {'x' * 1025}\n---\n", "too-long", 3),
        ("skills/retry/SKILL.md", "---\nname: retry\ndescription: x\ntags: a\n---\n", "unknown-key", 4),
        ("skills/retry/notes.md", "x", "no-skill-file", 0),
        ("issues/2026-11/x.yaml", "title: x\n", "misplaced-file", 0),
        ("queue/x.yml", "issue: a\n", "misplaced-file", 0),
        ("queue/sub/x.yaml", "issue: a\n", "misplaced-file", 0),
        ("knowledge/note.md", "x", "misplaced-file", 0),
        ("skills/note.md", "x", "misplaced-file", 0),
        ("issues/2026-11/photo.png", b"\0", "misplaced-file", 0),
        ("notes/a:b.txt", "x", "bad-name", 0),
        ("skills/retry/con.txt", "x", "bad-name", 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("commit", [True, False])
def test_each_fault_is_told_with_its_place(
    repo: Path, ws: Workspace, path: str, data: str | bytes, code: str, line: int, commit: bool
) -> None:
    put(repo, path, data, commit=commit)
    if not commit and path.startswith("notes/"):
        return  # a file of the user's own is looked at when it is committed
    found = check(ws)
    assert (path if code != "no-skill-file" else "skills/retry", code, line) in map(told, found)
    assert all(problem.hint or problem.code in {"unknown-key", "unknown-value"} for problem in found)


def test_a_broken_file_hides_no_other(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, "---\ntitle: Fix: this\n---\n")
    put(repo, OTHER, issue("4h2m8xq0", "status: Done\n"))
    assert [problem.path for problem in check(ws)] == [OTHER, ISSUE]


def test_the_uncommitted_text_counts_and_a_deleted_file_does_not(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, "---\ntitle: Fix: this\n---\n")
    put(repo, OTHER, issue("4h2m8xq0"))
    put(repo, ISSUE, issue(), commit=False)
    assert check(ws) == []
    put(repo, OTHER, "---\nid: 4h2m8xq0\ntitle: a: b\n---\n", commit=False)
    assert codes(ws) == ["unquoted-colon"]
    (repo / OTHER).unlink()
    assert check(ws) == []


@pytest.mark.parametrize(
    "name",
    [".#login.md", "login.md~", ".login.md.swp", "4913", "#login.md#", ".gitkeep", "login.tmp", ".DS_Store"],
)
@pytest.mark.parametrize("commit", [True, False])
def test_what_editors_leave_beside_a_file_is_no_problem(
    repo: Path, ws: Workspace, name: str, commit: bool
) -> None:
    put(repo, f"issues/2026-11/{name}", "title: a: b\n", commit=commit)
    assert check(ws) == []


def test_an_editors_dangling_lock_link_is_no_record(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue())
    (repo / "issues/2026-11/.#7k3q9d2m-login.md").symlink_to("ana@host.1234")
    assert codes(ws) in ([], ["symlink"])


def test_names_that_differ_in_case_or_normal_form_alone_are_twins(repo: Path, ws: Workspace) -> None:
    put(repo, "notes/Read.md", "x")
    put(repo, "notes/read.md", "x")
    put(repo, "skills/a/caf\u00e9.md", "x")
    put(repo, "skills/a/cafe\u0301.md", "x")
    put(repo, "skills/a/SKILL.md", "---\nname: a\ndescription: x\n---\n")
    found = {(problem.path, problem.code) for problem in check(ws)}
    assert ("notes/read.md", "name-twins") in found
    assert ("skills/a/caf\u00e9.md", "name-twins") in found
    assert ("skills/a/cafe\u0301.md", "bad-name") in found


def test_folders_can_be_twins_too(repo: Path, ws: Workspace) -> None:
    put(repo, "notes/a.md", "x")
    put(repo, "Notes/b.md", "x")
    assert told(only(ws)) == ("notes", "name-twins", 0)


def test_only_the_two_links_to_the_skills_are_allowed(repo: Path, ws: Workspace) -> None:
    for path, target in {
        ".agents/skills": "../skills",
        ".claude/skills": "/etc",
        "issues/passwd.md": "/etc/passwd",
        "notes/link": "a.md",
    }.items():
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).symlink_to(target)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "links")
    found = {(problem.path, problem.code) for problem in check(ws)}
    assert found == {(path, "symlink") for path in (".claude/skills", "issues/passwd.md", "notes/link")}
    assert not any("root:" in problem.message for problem in check(ws))


def test_a_repository_below_a_record_folder_is_told(repo: Path, ws: Workspace) -> None:
    inner = repo / "issues" / "inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    put(inner, "a.md", "# x\n")
    assert told(only(ws)) == ("issues/inner", "other-repository", 0)


def test_an_id_that_is_taken_twice_names_both_files(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue())
    put(repo, "issues/2026-11/copy.md", issue())
    found = check(ws)
    assert [told(problem) for problem in found] == [
        (ISSUE, "double-id", 2),
        ("issues/2026-11/copy.md", "double-id", 2),
    ]
    assert "copy.md" in found[0].message


def test_a_circle_is_told_once_with_its_members(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", issue("aaaaaaaa", "blocked_by: [issue:bbbbbbbb]\n"))
    put(repo, "issues/b.md", issue("bbbbbbbb", "blocked_by: [issue:cccccccc, dddddddd]\n"))
    put(repo, "issues/c.md", issue("cccccccc", "blocked_by: [issue:aaaaaaaa]\nparent: dddddddd\n"))
    put(repo, "issues/d.md", issue("dddddddd", "parent: issue:cccccccc\n"))
    first, second = check(ws)
    assert told(first) == ("issues/a.md", "circle", 6)
    assert "aaaaaaaa → bbbbbbbb → cccccccc → aaaaaaaa" in first.message
    assert told(second) == ("issues/c.md", "circle", 7)


def test_a_long_chain_is_no_circle(repo: Path, ws: Workspace) -> None:
    for n in range(1500):
        put(
            repo,
            f"issues/{n:08}.md",
            issue(f"{n:08}".replace("l", "0"), f'parent: "{n + 1:08}"\n'),
            commit=False,
        )
    found = check(ws)
    assert [problem.code for problem in found] == ["dangling-ref"]


def test_a_reference_that_leads_nowhere_offers_the_nearest(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue())
    put(repo, OTHER, issue("4h2m8xq0", "parent: issue:7k3q9d2\n"))
    problem = only(ws)
    assert (problem.code, problem.severity) == ("dangling-ref", Severity.ERROR)
    assert problem.hint == "write: parent: issue:7k3q9d2m"


def test_a_task_may_name_its_issue_by_a_prefix_that_fits_one(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue())
    put(repo, "queue/x.yaml", "issue: 7k\n")
    assert check(ws) == []
    put(repo, "issues/2026-11/7kaaaaaa.md", issue("7kaaaaaa"))
    assert told(only(ws)) == ("queue/x.yaml", "ambiguous-ref", 1)


def test_a_closed_issue_may_outlive_what_it_names(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue(more="status: done\ncontext_refs: [knowledge:workspace/gone]\n"))
    assert only(ws).severity is Severity.WARNING


def test_addresses_and_skills_of_libraries_are_not_looked_up(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue(more="context_refs:\n  - https://example.org/x\n  - skill:platform/retry\n"))
    assert check(ws) == []


def test_paths_choose_what_is_shown(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, "---\ntitle: Fix: this\n---\n")
    put(repo, "queue/x.yaml", "agent: a\n")
    assert codes(ws, "issues") == codes(ws, "issues/") == codes(ws, ISSUE) == ["unquoted-colon"]
    assert set(codes(ws, "queue", ISSUE)) == {"missing-key", "dangling-ref", "unquoted-colon"}
    for path in ("issues/gone.md", "../x", "/etc"):
        with pytest.raises(NotFoundError):
            check(ws, [path])


def test_a_foreign_merge_that_doubles_keys_is_found(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, issue())
    git(repo, "checkout", "-q", "-b", "theirs")
    put(repo, ISSUE, issue().replace("title:", "status: todo\ntitle:"))
    git(repo, "checkout", "-q", "main")
    put(repo, ISSUE, issue().replace("created_by:", "status: done\ncreated_by:"))
    git(repo, "merge", "-q", "-m", "merge", "theirs")
    problem = only(ws)
    assert (problem.code, problem.hint) == (
        "duplicate-key",
        "keep one of the lines 3 and 6 and remove the other",
    )


# fix


def test_a_hand_written_issue_gets_the_id_it_is_known_by_and_keeps_its_text(
    repo: Path, ws: Workspace
) -> None:
    put(repo, "members/ana.md", "---\nemails: [ana@example.org]\n---\n")
    put(repo, "issues/by-hand.md", "---\n# mine\ntitle: 'Fix it'   # soon\nmy_key: 1\n---\nText.\n")
    authored = git(repo, "log", "-1", "--format=%ad", "--date=format-local:%Y-%m-%dT%H:%M:%SZ").strip()
    with Reader(ws) as reader:
        known = reader.issues()[0].id
    done = mend(ws)
    assert done is not None
    assert done.paths == ("issues/by-hand.md",)
    text = (repo / "issues/by-hand.md").read_text()
    assert "# mine\ntitle: 'Fix it'   # soon\n" in text
    assert text.endswith("my_key: 1\n---\nText.\n")
    fields = parse(text.encode(), "issues/by-hand.md").fields
    assert is_id(known)
    assert fields["id"] == known
    assert (fields["created"], fields["created_by"]) == (authored, "member:ana")
    assert (fields["assignee"], fields["labels"], fields["status"]) == (None, [], "todo")
    assert [problem.code for problem in check(ws)] == ["unknown-key"]
    assert git(repo, "status", "--porcelain") == ""
    assert f"Gitmem-Issue: {known}" in git(repo, "log", "-1", "--format=%B")
    assert mend(ws) is None


def test_a_file_that_is_not_committed_is_taken_in_with_the_fix(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/new.md", "# Only a heading\r\n\r\nText", commit=False)
    put(repo, "issues/draft.txt", "mine", commit=False)
    done = mend(ws)
    assert done is not None
    assert done.paths == ("issues/new.md",)
    data = (repo / "issues/new.md").read_bytes()
    assert data.endswith(b"---\r\n# Only a heading\r\n\r\nText")
    fields = parse(data, "issues/new.md").fields
    assert (fields["created"], fields["created_by"]) == ("2026-11-30T22:19:00Z", "member:ana")
    assert git(repo, "status", "--porcelain") == "?? issues/draft.txt\n"


def test_missing_quotes_are_set_in_one_commit_with_the_rest(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "---\ntitle: Fix: this\n---\n")
    put(repo, "queue/a.yaml", "issue: x\nrequested_by: null\nsession_id: a: b\n")
    put(repo, "issues/b.md", "# B\n")
    before = git(repo, "rev-list", "--count", "HEAD").strip()
    done = mend(ws)
    assert done is not None
    assert set(done.paths) == {"issues/a.md", "queue/a.yaml", "issues/b.md"}
    assert int(git(repo, "rev-list", "--count", "HEAD")) == int(before) + 1
    assert parse((repo / "issues/a.md").read_bytes(), "issues/a.md").fields["title"] == "Fix: this"
    assert (repo / "queue/a.yaml").read_text() == 'issue: x\nrequested_by: null\nsession_id: "a: b"\n'


def test_what_needs_judgement_is_left_alone(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, "---\ntitle: x\ntitle: y\n---\n")
    put(repo, "issues/open.md", '---\ntitle: "never closed\n---\n')
    put(repo, "issues/none.md", "")
    put(repo, OTHER, issue("4h2m8xq0", "status: Done\nparent: issue:00000000\n"))
    assert mend(ws) is None


def test_a_file_that_is_in_error_even_with_quotes_stops_no_other(repo: Path, ws: Workspace) -> None:
    put(repo, "queue/a.yaml", "issue: x\nagent: @claude\n")
    put(repo, "issues/new.md", "---\nstatus: Done\n---\n# New\n", commit=False)
    put(repo, "issues/b.md", "# B\n")
    done = mend(ws)
    assert done is not None
    assert done.paths == ("issues/b.md",)


def test_an_issue_with_another_error_is_filled_in_where_it_is_committed(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "---\nstatus: Done\n---\n# A\n")
    assert mend(ws) is not None
    assert codes(ws) == ["unknown-value"]


def test_a_link_in_the_place_of_an_issue_stops_no_fix(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "# A\n")
    (repo / "issues/link.md").symlink_to("a.md")
    (repo / "issues/new.md").symlink_to("a.md")
    git(repo, "add", "issues/link.md")
    git(repo, "commit", "-q", "-m", "link")
    done = mend(ws)
    assert done is not None
    assert done.paths == ("issues/a.md",)


def test_a_branch_that_is_not_checked_out_is_checked_and_mended_all_the_same(repo: Path) -> None:
    put(repo, "issues/a.md", "# A\n")
    put(repo, "queue/x.yaml", "agent: gone\n")
    git(repo, "checkout", "-q", "-b", "elsewhere")
    (repo / "queue/x.yaml").write_text("issue: nothing\n")
    with find(repo) as ws:
        assert codes(ws) == ["missing-key", "dangling-ref"]
        assert mend(ws) is not None
    assert (repo / "issues/a.md").read_text() == "# A\n"
    assert "id: " in git(repo, "show", "main:issues/a.md")


def test_the_workspaces_own_size_limit_holds(repo: Path) -> None:
    put(repo, "gitmem.yaml", (repo / "gitmem.yaml").read_text() + "\nlimits: {file_bytes: 200}\n")
    put(repo, ISSUE, issue() + "x" * 200)
    with find(repo) as ws:
        assert codes(ws) == ["too-large"]


def test_fix_keeps_to_the_paths_it_is_given(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "# A\n")
    put(repo, "issues/b.md", "# B\n")
    done = mend(ws, "issues/b.md")
    assert done is not None
    assert done.paths == ("issues/b.md",)
    assert (repo / "issues/a.md").read_text() == "# A\n"


def test_the_edits_of_a_person_survive_a_fix_of_the_same_file(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "---\ntitle: A\n---\n\nOne.\n\nTwo.\n\nThree.\n")
    put(repo, "issues/a.md", "---\ntitle: A\n---\n\nOne.\n\nTwo.\n\nThree, edited.\n", commit=False)
    assert mend(ws) is not None
    assert (repo / "issues/a.md").read_text().endswith("Three, edited.\n")
    assert "id: " in (repo / "issues/a.md").read_text()
    assert git(repo, "diff", "--stat").strip().startswith("issues/a.md | 2 +-")


def test_an_agents_commit_says_who_created_the_issue(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/a.md", "# A\n", commit=False)
    git(repo, "add", "issues")
    git(repo, "commit", "-q", "-m", "x\n\nGitmem-Actor: agent:claude")
    mend(ws)
    assert parse((repo / "issues/a.md").read_bytes(), "issues/a.md").fields["created_by"] == "agent:claude"
