"""Uncommitted files are read as they lie in the work tree, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.core.errors import NotFoundError
from gitmem.core.ids import derived_id, parse_actor
from gitmem.core.record import Kind, Record
from gitmem.store.change import Change
from gitmem.store.git import blob_id
from gitmem.store.journal import Journal, Step, write_journal
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import NOW, git, put

ISSUE = "issues/2026-11/7k3q9d2m-x.md"


def text(title: str, id_: str = "7k3q9d2m") -> str:
    return f"---\nid: {id_}\n\ntitle: {title}\n---\nBody.\n"


def issues(ws: Workspace) -> dict[str, Record]:
    with Reader(ws) as reader:
        return {record.path: record for record in reader.records(Kind.ISSUE)}


def titles(ws: Workspace) -> list[tuple[str, bool]]:
    with Reader(ws) as reader:
        return sorted((issue.title, issue.uncommitted) for issue in reader.issues())


def test_an_edited_file_is_read_as_it_lies_there(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Old"))
    put(repo, ISSUE, text("New"), commit=False)
    assert titles(ws) == [("New", True)]
    git(repo, "checkout", "--", ISSUE)
    assert titles(ws) == [("Old", False)]


def test_two_quick_edits_of_the_same_length_are_both_seen(repo: Path, ws: Workspace) -> None:
    file = put(repo, ISSUE, text("Old"))
    for title in ("Abc", "Xyz"):
        file.write_text(text(title))
        os.utime(file, ns=(1, 1))
        assert titles(ws) == [(title, True)]


def test_a_staged_edit_is_uncommitted_too(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Old"))
    put(repo, ISSUE, text("New"), commit=False)
    git(repo, "add", ISSUE)
    assert titles(ws) == [("New", True)]
    put(repo, ISSUE, text("Old"), commit=False)
    assert titles(ws) == [("Old", False)], "only the index differs now"


def test_a_new_file_is_a_record_before_it_is_committed(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("New"), commit=False)
    assert titles(ws) == [("New", True)]
    put(repo, ISSUE, text("New"))
    assert titles(ws) == [("New", False)]


def test_a_deleted_file_is_gone_before_that_is_committed(repo: Path, ws: Workspace) -> None:
    file = put(repo, ISSUE, text("Old"))
    assert titles(ws) == [("Old", False)]
    file.unlink()
    assert titles(ws) == []


def test_a_file_that_is_ignored_is_no_record(repo: Path, ws: Workspace) -> None:
    put(repo, ".gitignore", "issues/private/\n")
    put(repo, "issues/private/x.md", "# Private\n", commit=False)
    assert titles(ws) == []


@pytest.mark.parametrize(
    "name", [".x.md.swp", ".#x.md", "#x.md#", "x.md~", "x.md.tmp", "x.md.bak", "#x.md", "x.md.swp", "4913"]
)
def test_what_an_editor_leaves_while_it_writes_is_no_record(repo: Path, ws: Workspace, name: str) -> None:
    put(repo, f"issues/{name}", "---\ntitle: Half wri", commit=False)
    put(repo, f"queue/{name}", "issue: iss", commit=False)
    with Reader(ws) as reader:
        assert reader.issues() == []
        assert reader.tasks() == []
        assert reader.problems() == []


def test_a_file_caught_half_written_is_shown_as_broken_and_then_as_it_is(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, "---\nid: 7k3q9d2m\n\ntitle: Half wri", commit=False)
    with Reader(ws) as reader:
        assert [(p.path, p.code) for p in reader.problems()] == [(ISSUE, "front-matter-unclosed")]
        assert [issue.id for issue in reader.issues()] == ["7k3q9d2m"]
    put(repo, ISSUE, text("Whole"), commit=False)
    assert titles(ws) == [("Whole", True)]


@pytest.mark.parametrize("commit", [True, False])
def test_a_symbolic_link_is_a_problem_and_is_never_followed(
    repo: Path, ws: Workspace, tmp_path: Path, commit: bool
) -> None:
    (tmp_path / "secret.md").write_text(text("Secret"))
    link = repo / ISSUE
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "secret.md")
    if commit:
        git(repo, "add", ".")
        git(repo, "commit", "-qm", "link")
    with Reader(ws) as reader:
        assert [(p.path, p.code) for p in reader.problems()] == [(ISSUE, "symlink")]
        assert [(i.id, i.body) for i in reader.issues()] == [("7k3q9d2m", "")]
        with pytest.raises(NotFoundError):
            reader.data(ISSUE)


def test_a_folder_that_became_a_link_hides_its_files(repo: Path, ws: Workspace, tmp_path: Path) -> None:
    put(repo, ISSUE, text("Inside"))
    (repo / "issues/2026-11").rename(tmp_path / "elsewhere")
    (repo / "issues/2026-11").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/7k3q9d2m-x.md").write_text(text("Outside"))
    assert titles(ws) == []


def test_a_link_with_the_bytes_of_a_known_file_is_not_taken_for_it(repo: Path, ws: Workspace) -> None:
    put(repo, "issues/plain.md", "target.md")
    (repo / "issues/link.md").symlink_to("target.md")
    put(repo, "issues/copy.md", "target.md", commit=False)
    with Reader(ws) as reader:
        assert [p.path for p in reader.problems()] == ["issues/link.md"]


def test_a_pipe_is_no_file(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Old"))
    (repo / ISSUE).unlink()
    os.mkfifo(repo / ISSUE)
    assert titles(ws) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_shown(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Old"), commit=False).chmod(0)
    with Reader(ws) as reader:
        assert [(p.path, p.code) for p in reader.problems()] == [(ISSUE, "unreadable")]


def test_a_name_that_is_no_utf8_is_shown_and_blocks_only_itself(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Good"))
    bad = os.fsencode(repo) + b"/issues/caf\xe9.md"
    Path(os.fsdecode(bad)).write_text(text("Bad", "aaaaaaaa"))
    for _ in range(2):
        with Reader(ws) as reader:
            assert [(p.path, p.code) for p in reader.problems()] == [
                ("issues/caf\\udce9.md", "not-utf8-name")
            ]
            assert reader.issue("7k3q9d2m").title == "Good"
        git(repo, "add", ".")
        git(repo, "commit", "-q", "--allow-empty", "-m", "bad name")


def test_the_id_of_a_file_without_one_comes_from_the_commit_that_added_it(repo: Path, ws: Workspace) -> None:
    path = "issues/by-hand.md"
    put(repo, path, "# By hand\n", commit=False)
    assert issues(ws)[path].id == derived_id("k3v9x2m7", path, "uncommitted")
    put(repo, path, "# By hand\n")
    added = git(repo, "rev-parse", "HEAD").strip()
    wanted = derived_id("k3v9x2m7", path, added)
    assert issues(ws)[path].id == wanted
    put(repo, path, "# By hand, edited\n", commit=False)
    assert (issues(ws)[path].id, issues(ws)[path].uncommitted) == (wanted, True)
    put(repo, path, "# By hand, edited\n")
    assert issues(ws)[path].id == wanted
    git(repo, "rm", "-q", path)
    git(repo, "commit", "-qm", "remove")
    put(repo, path, "# By hand\n", commit=False)
    git(repo, "add", path)
    later = {"GIT_COMMITTER_DATE": "2099-01-01T00:00:00Z"}
    ws.git.run("commit", "-qm", "another of that name", env=later)
    assert issues(ws)[path].id == derived_id("k3v9x2m7", path, git(repo, "rev-parse", "HEAD").strip())


def test_two_clones_derive_the_same_id(repo: Path, ws: Workspace, tmp_path: Path) -> None:
    put(repo, "issues/by-hand.md", "# By hand\n")
    put(repo, "issues/other.md", "# Other\n")
    from gitmem.store.workspace import find

    git(tmp_path, "clone", "-q", str(repo), "clone")
    with find(tmp_path / "clone") as clone:
        assert issues(clone) == issues(ws)


def test_what_a_branch_move_has_not_refreshed_yet_is_not_taken_for_an_edit(repo: Path, ws: Workspace) -> None:
    """The moment between the move of the branch and that of the working file, or a crash there."""
    put(repo, ISSUE, text("Old"))
    put(repo, ISSUE, text("New"))
    old, new = blob_id(text("Old").encode()), blob_id(text("New").encode())
    put(repo, ISSUE, text("Old"), commit=False)
    assert titles(ws) == [("Old", True)]
    step = Step(ISSUE, "100644", old, new, old, new)
    write_journal(ws.git, Journal(ws.ref, ws.tip(), str(ws.git.git_dir), (step,)))
    assert titles(ws) == [("New", False)]
    put(repo, ISSUE, text("Theirs"), commit=False)
    assert titles(ws) == [("Theirs", True)], "somebody's own edit is shown"


def test_our_own_change_is_read_as_committed_and_an_edit_under_it_stays(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Old"))
    put(repo, ISSUE, text("Old").replace("Body.", "Edited body."), commit=False)
    change = Change(ws, actor=parse_actor("member:ana"), action="issue.edit", now=NOW, trace="0" * 32)
    change.edit(ISSUE, lambda data: data.replace(b"title: Old", b"title: New"))
    change.commit("edit")
    record = issues(ws)[ISSUE]
    assert (record.fields["title"], record.body, record.uncommitted) == ("New", "Edited body.\n", True)


def test_data_gives_the_bytes_of_any_plain_file(repo: Path, ws: Workspace) -> None:
    put(repo, "skills/retry/SKILL.md", "---\nname: retry\n---\nText\n")
    put(repo, "skills/retry/scripts/run.sh", b"#!/bin/sh\nexit 0\n")
    put(repo, "skills/retry/notes.md", "Not yet\n", commit=False)
    put(repo, "skills/retry/SKILL.md", "---\nname: retry\n---\nEdited\n", commit=False)
    (repo / "skills/retry/link").symlink_to("/etc/hostname")
    with Reader(ws) as reader:
        assert reader.data("skills/retry/SKILL.md") == b"---\nname: retry\n---\nEdited\n"
        assert reader.data("skills/retry/scripts/run.sh") == b"#!/bin/sh\nexit 0\n"
        assert reader.data("skills/retry/notes.md") == b"Not yet\n"
        assert reader.files("skills/retry") == [
            "skills/retry/SKILL.md",
            "skills/retry/notes.md",
            "skills/retry/scripts/run.sh",
        ]
        assert reader.files("skills/none") == []
        for path in ("skills/retry/none", "skills/retry", "skills/retry/link", "../secret", "/etc/hostname"):
            with pytest.raises(NotFoundError):
                reader.data(path)


def test_a_file_over_the_limit_of_the_workspace_is_shown(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, text("Fine"))
    assert titles(ws) == [("Fine", False)]
    config = (repo / "gitmem.yaml").read_text()
    put(repo, "gitmem.yaml", f"{config}\nlimits:\n  file_bytes: 20\n", commit=False)
    from gitmem.store.workspace import find

    with find(repo) as again, Reader(again) as reader:
        assert [(p.path, p.code) for p in reader.problems()][-1:] == [(ISSUE, "too-large")]
