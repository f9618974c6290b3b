"""The index is never a truth: whatever happens to it, the answers stay the same."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.core.record import Kind
from gitmem.store import index_schema
from gitmem.store.index import Index
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace, find
from tests.conftest import git, put
from tests.support.index_views import answers, files_of, remove, rows

READ = "tests.support.index_views:read"
TITLES = [
    "Fix the login test",
    "Login page is slow",
    "Retry with a fake clock",
    "登录测试失败",
    "Crème brûlée",
]


def issue(id_: str | None, title: str, body: str = "Body.\n", **fields: str) -> str:
    keys = {"id": id_, "title": title, "status": "todo", "priority": "none"} | fields
    lines = "\n\n".join(f"{key}: {value}" for key, value in keys.items() if value is not None)
    return f"---\n{lines}\n---\n{body}"


def id_at(number: int) -> str:
    return f"{number:08d}".translate(str.maketrans("0123456789", "abcdefghjk"))


@pytest.fixture
def filled(repo: Path, ws: Workspace) -> Workspace:
    for number, title in enumerate(TITLES):
        put(repo, f"issues/2026-11/{id_at(number)}-x.md", issue(id_at(number), title), commit=False)
    put(repo, "issues/by-hand.md", "# Written by hand\n", commit=False)
    put(repo, "queue/night.yaml", "issue: issue:aaaaaaaa\n", commit=False)
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "fill")
    put(repo, "issues/draft.md", "# Draft\n", commit=False)
    return ws


def test_a_deleted_index_changes_nothing(filled: Workspace) -> None:
    before = answers(filled)
    remove(filled)
    assert answers(filled) == before
    assert filled.index_path.exists()


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 5000, 12288])
def test_a_truncated_index_changes_nothing(filled: Workspace, size: int) -> None:
    before = answers(filled)
    with filled.index_path.open("r+b") as file:
        file.truncate(size)
    assert answers(filled) == before
    assert answers(filled) == before


def test_garbage_in_the_place_of_the_index_changes_nothing(filled: Workspace) -> None:
    before = answers(filled)
    filled.index_path.write_bytes(random.Random(1).randbytes(50_000))
    assert answers(filled) == before
    assert filled.index_path.read_bytes().startswith(b"SQLite format 3"), "the next start is fast again"


@pytest.mark.parametrize("seed", range(12))
def test_overwritten_pages_change_nothing(filled: Workspace, seed: int) -> None:
    before = answers(filled)
    chance = random.Random(seed)
    data = bytearray(filled.index_path.read_bytes())
    for _ in range(3):
        start = chance.randrange(100, len(data))
        data[start : start + 300] = chance.randbytes(len(data[start : start + 300]))
    filled.index_path.write_bytes(data)
    with Reader(filled) as reader:
        assert reader.records(Kind.ISSUE) == before[1 + list(Kind).index(Kind.ISSUE)]


def test_a_row_that_was_overwritten_in_place_is_noticed_and_the_file_made_anew(filled: Workspace) -> None:
    before = answers(filled)
    data = filled.index_path.read_bytes()
    assert data.count(b"Fix the login test") > 1
    filled.index_path.write_bytes(data.replace(b"Fix the login test", b"Fix the logout tes"))
    assert answers(filled)[1] == before[1]
    assert b"logout" not in filled.index_path.read_bytes()


def test_an_index_damaged_while_it_is_read_changes_nothing(filled: Workspace) -> None:
    before = answers(filled)
    with Reader(filled) as reader:
        with filled.index_path.open("r+b") as file:
            file.truncate(4096)
        assert reader.records(Kind.ISSUE) == before[1]
        assert reader.issues() == before[1 + len(Kind)]


def test_an_index_deleted_while_it_is_read_changes_nothing(filled: Workspace) -> None:
    before = answers(filled)
    with Reader(filled) as reader:
        remove(filled)
        assert reader.records(Kind.ISSUE) == before[1]


@pytest.mark.parametrize("kind", ["file in the place of the folder", "folder in the place of the file"])
def test_where_no_index_can_be_written_it_is_kept_in_memory(filled: Workspace, kind: str) -> None:
    before = answers(filled)
    remove(filled)
    state = filled.git.state_dir
    if kind == "folder in the place of the file":
        filled.index_path.mkdir()
    else:
        for path in state.iterdir():
            path.unlink()
        state.rmdir()
        state.write_text("")
    assert answers(filled) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_in_a_read_only_repository_the_index_is_kept_in_memory(repo: Path, filled: Workspace) -> None:
    before = answers(filled)
    state = filled.git.state_dir
    state.chmod(0o555)
    try:
        assert answers(filled) == before
        put(repo, "issues/later.md", "# Later\n")
        with Reader(filled) as reader:
            assert "Later" in [issue.title for issue in reader.issues()]
    finally:
        state.chmod(0o755)


def test_an_index_of_another_version_is_replaced(filled: Workspace) -> None:
    before = answers(filled)
    with sqlite3.connect(filled.index_path) as db:
        db.execute("PRAGMA user_version = 999")
        db.execute("CREATE TABLE of_the_future (x)")
    db.close()
    assert answers(filled) == before
    with sqlite3.connect(filled.index_path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (index_schema.VERSION,)
    db.close()


def test_an_index_at_a_commit_that_is_gone_is_built_again(repo: Path, filled: Workspace) -> None:
    answers(filled)
    git(repo, "commit", "-q", "--amend", "-m", "rewritten")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    before = rows(filled)
    remove(filled)
    assert rows(filled) == before


def test_a_warm_start_imports_no_yaml_and_no_gitpython(filled: Workspace) -> None:
    answers(filled)
    code = (
        "import sys, pathlib\n"
        "from gitmem.store.workspace import find\n"
        "from gitmem.store.reader import Reader\n"
        "with find(pathlib.Path(sys.argv[1])) as ws, Reader(ws) as reader:\n"
        "    reader.issues(limit=3); reader.issue('aaaaaaaa'); reader.comments('aaaaaaaa'); reader.tasks()\n"
        "print(sorted({'yaml', 'jsonschema', 'git', 'gitdb', 'watchdog', 'click'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(filled.root)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_bytes_that_were_read_before_are_not_read_again(repo: Path, filled: Workspace) -> None:
    answers(filled)
    git(repo, "add", "issues/draft.md")
    git(repo, "commit", "-qm", "commit the draft")
    (repo / "issues/2026-12").mkdir()
    git(repo, "mv", "issues/2026-11/aaaaaaaa-x.md", "issues/2026-12/aaaaaaaa-x.md")
    git(repo, "commit", "-qm", "move")
    code = (
        "import sys, pathlib\n"
        "from gitmem.store.workspace import find\n"
        "from gitmem.store.reader import Reader\n"
        "with find(pathlib.Path(sys.argv[1])) as ws, Reader(ws) as reader:\n"
        "    print(len(reader.issues()), 'yaml' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(repo)], capture_output=True, text=True, check=True)
    assert done.stdout == "7 False\n"


def test_progress_is_told_of_every_file_that_is_read(filled: Workspace) -> None:
    told: list[tuple[int, int]] = []
    Reader(filled, lambda done, total: told.append((done, total))).close()
    assert told[-1] == (8, 8)  # six issues, a task and gitmem.yaml; the draft is read beside them
    told.clear()
    Reader(filled, lambda done, total: told.append((done, total))).close()
    assert told == []


def test_processes_that_update_at_once_all_get_the_right_answer(repo: Path, filled: Workspace) -> None:
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "clean")
    program = "from tests.support.index_views import read; read()"
    for round_ in range(3):
        if round_ == 1:
            filled.index_path.write_bytes(b"garbage " * 4096)
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(repo)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=Path(__file__).parents[2],
                text=True,
            )
            for _ in range(6)
        ]
        put(repo, f"issues/more-{round_}.md", f"# More {round_}\n")
        told = [process.communicate() for process in readers]
        assert [words for _, words in told] == [""] * 6
        counts = {int(out.split()[1]) for out, _ in told}
        assert counts <= {7 + round_, 8 + round_}
        with Reader(filled) as reader:
            assert len(reader.issues()) == 8 + round_


def test_a_reader_sees_one_state_whatever_others_write(repo: Path, filled: Workspace) -> None:
    with Reader(filled) as early:
        before = early.issues()
        put(repo, "issues/new.md", "# New\n")
        with Reader(filled) as late:
            assert len(late.issues()) == len(before) + 1
            assert late.commit != early.commit
        assert early.issues() == before


def test_a_writer_that_holds_the_lock_does_not_hold_up_a_warm_reader(filled: Workspace) -> None:
    before = answers(filled)
    db = index_schema.connect(filled.index_path)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM doc")
    assert answers(filled) == before
    db.execute("ROLLBACK")
    db.close()


def test_where_the_lock_stays_taken_the_answer_comes_from_memory(
    repo: Path, filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(filled)
    monkeypatch.setattr(index_schema, "BUSY_WAIT_S", 0.01)
    db = index_schema.connect(filled.index_path)
    db.execute("BEGIN IMMEDIATE")
    put(repo, "issues/new.md", "# New\n")
    with Reader(filled) as reader:
        assert "New" in [issue.title for issue in reader.issues()]
    db.execute("ROLLBACK")
    db.close()


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize(
    "where",
    [
        "gitmem.store.index_schema:connect",
        "gitmem.store.index_rows:row",
        "gitmem.store.index_build:set_meta",
        "gitmem.store.index_build:update",
        "gitmem.store.index:Index._update",
    ],
)
def test_a_kill_in_the_middle_of_an_update_leaves_a_good_index(
    repo: Path, filled: Workspace, where: str, begun: bool
) -> None:
    if begun:
        answers(filled)
    put(repo, "issues/one.md", "# One\n")
    put(repo, "issues/2026-11/aaaaaaaa-x.md", issue("aaaaaaaa", "Changed"))
    mark = repo.parent / "mark"
    subprocess.run(
        [sys.executable, "-m", "tests.support.crash", where, str(mark), READ, str(repo)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert mark.exists(), "the kill was reached"
    after = rows(filled)
    remove(filled)
    assert rows(filled) == after


def test_the_branch_is_read_from_anywhere_with_the_edits_of_the_one_place_it_is_checked_out(
    repo: Path, filled: Workspace, tmp_path: Path
) -> None:
    answers(filled)
    git(repo, "worktree", "add", "-q", str(tmp_path / "feature"), "-b", "feature")
    put(tmp_path / "feature", "issues/elsewhere.md", "# Not on the workspace branch\n")
    with find(tmp_path / "feature") as other:
        assert rows(other) == rows(filled)
        assert "Draft" in [row for _ in rows(other)["rows"] for row in _]


def test_without_a_checkout_only_what_is_committed_is_read(repo: Path, filled: Workspace) -> None:
    git(repo, "checkout", "-q", "--detach")
    with find(repo) as ws, Reader(ws) as reader:
        assert ws.root is None
        assert "Draft" not in [issue.title for issue in reader.issues()]
        assert not reader.uncommitted


def test_a_closed_index_leaves_no_process_and_one_file(filled: Workspace) -> None:
    index = Index(filled)
    index.close()
    index.close()
    assert files_of(filled) == [filled.index_path]
