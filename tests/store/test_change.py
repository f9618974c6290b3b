"""A change is one commit, and whatever the user is in the middle of survives it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.core.errors import (
    ConflictError,
    IdentityError,
    InvalidDocumentError,
    LockedError,
    NotFoundError,
    StorageError,  # noqa: F401 -- for the programs below
)
from gitmem.core.ids import Ref, parse_actor
from gitmem.store import document
from gitmem.store.change import Change, Committed
from gitmem.store.git import ZERO, RefUpdate
from gitmem.store.workspace import Workspace, find
from tests.conftest import NOW, git, put

ISSUE = "issues/2026-11/7k3q9d2m-x.md"
TEXT = "---\nid: 7k3q9d2m\n\ntitle: Fix it\n\nstatus: todo\n\npriority: none\n---\nBody.\n\nEnd.\n"


def change(ws: Workspace, action: str = "issue.edit", actor: str = "member:ana") -> Change:
    return Change(ws, actor=parse_actor(actor), action=action, now=NOW, trace="0" * 32)


def swap(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old.encode(), new.encode())


def start(ws: Workspace, path: str = ISSUE) -> Committed:
    edit = change(ws)
    edit.edit(path, swap("status: todo", "status: in_progress"))
    return edit.commit("issue 7k3q9d2m: todo -> in_progress", refs=[Ref("issue", "7k3q9d2m")])


def show(repo: Path, path: str = ISSUE, at: str = "main") -> str:
    return git(repo, "show", f"{at}:{path}")


def clean(repo: Path) -> bool:
    return git(repo, "status", "--porcelain") == ""


def test_a_change_is_one_commit_with_trailers_and_a_clean_tree(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    before = ws.tip()
    done = start(ws)
    assert git(repo, "rev-parse", "main~1").strip() == before
    assert done.oid == ws.tip()
    assert git(repo, "diff-tree", "-r", "--name-only", "main~1", "main").split() == [ISSUE]
    trailers = git(repo, "log", "-1", "--format=%(trailers:only)").split("\n")
    assert trailers[:4] == [
        "Gitmem-Action: issue.edit",
        "Gitmem-Actor: member:ana",
        f"Gitmem-Trace: {'0' * 32}",
        "Gitmem-Issue: 7k3q9d2m",
    ]
    assert clean(repo)
    assert "in_progress" in (repo / ISSUE).read_text()
    assert git(repo, "diff-index", "HEAD", ok=False) == ""  # stat data too: plumbing sees a clean tree
    git(repo, "fsck", "--strict")
    git(repo, "revert", "--no-edit", "HEAD")
    assert show(repo) == TEXT


def test_an_agents_commit_is_authored_by_the_agent_and_committed_by_the_user(
    repo: Path, ws: Workspace
) -> None:
    put(repo, ISSUE, TEXT)
    edit = change(ws, actor="agent:claude")
    edit.edit(ISSUE, swap("Body", "Text"))
    edit.commit("x")
    said = git(repo, "log", "-1", "--format=%an <%ae> %cn").strip()
    assert said == "claude <agent+claude@k3v9x2m7.gitmem.invalid> Ana"


def test_creating_writing_and_deleting_reach_the_working_copy(repo: Path, ws: Workspace) -> None:
    put(repo, "skills/a-skill/run.sh", "#!/bin/sh\n")
    both = change(ws)
    both.create("skills/b-skill/run.sh", b"#!/bin/sh\necho\n", executable=True)
    both.delete("skills/a-skill/run.sh")
    both.commit("x")
    assert not (repo / "skills/a-skill").exists()
    assert os.access(repo / "skills/b-skill/run.sh", os.X_OK)
    assert clean(repo)


def test_nothing_to_change_makes_no_commit(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    before = ws.tip()
    edit = change(ws)
    edit.edit(ISSUE, bytes)
    assert edit.commit("x") == Committed(before, ())


def test_nothing_to_change_is_told_apart_where_the_working_copy_says_otherwise(
    repo: Path, ws: Workspace
) -> None:
    put(repo, ISSUE, TEXT.replace("todo", "in_progress"))
    mine = TEXT.replace("todo", "blocked")
    (repo / ISSUE).write_text(mine)
    before = ws.tip()
    edit = change(ws)
    edit.edit(ISSUE, lambda data: document.edit(data, ISSUE, {"status": "in_progress"}))
    done = edit.commit("x")
    assert (done.oid, done.paths) == (before, ())
    assert ["your working copy has other edits" in warning for warning in done.warnings] == [True]
    assert (repo / ISSUE).read_text() == mine


def test_edits_that_have_nothing_to_do_with_the_change_are_not_warned_of(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).write_text(TEXT.replace("End.", "My end."))
    edit = change(ws)
    edit.edit(ISSUE, lambda data: document.edit(data, ISSUE, {"status": "todo"}))
    assert edit.commit("x") == Committed(ws.tip(), ())


def test_an_edit_of_an_edit_in_one_change_adds_up(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    edit = change(ws)
    edit.edit(ISSUE, swap("todo", "done"))
    edit.edit(ISSUE, swap("Body", "Text"))
    edit.commit("x")
    assert "status: done" in show(repo)
    assert "Text." in show(repo)


def test_unsaved_edits_elsewhere_in_the_file_are_kept_and_stay_uncommitted(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).write_text(TEXT.replace("End.", "My end."))
    assert start(ws).warnings == ()
    assert "My end." not in show(repo)
    assert (repo / ISSUE).read_text() == show(repo).replace("End.", "My end.")
    assert git(repo, "status", "--porcelain").split() == ["M", ISSUE]


def test_unsaved_edits_of_the_same_field_are_left_alone_and_told(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    mine = TEXT.replace("status: todo", "status: blocked")
    (repo / ISSUE).write_text(mine)
    done = start(ws)
    assert [ISSUE in warning for warning in done.warnings] == [True]
    assert (repo / ISSUE).read_text() == mine
    assert "in_progress" in show(repo)


def test_staged_edits_stay_staged_and_their_commit_does_not_revert_ours(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).write_text(TEXT.replace("End.", "Staged end."))
    git(repo, "add", ISSUE)
    (repo / ISSUE).write_text(TEXT.replace("End.", "Staged end.").replace("Body.", "Unstaged body."))
    put(repo, "notes.txt", "mine", commit=False)
    git(repo, "add", "notes.txt")
    start(ws)
    assert "Staged end." not in show(repo)
    git(repo, "commit", "-q", "-m", "theirs")
    assert "in_progress" in show(repo)
    assert "Staged end." in show(repo)
    assert "Unstaged body." not in show(repo)
    assert "Unstaged body." in (repo / ISSUE).read_text()


def test_a_staged_edit_of_the_same_field_refuses_the_change_whole(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).write_text(TEXT.replace("status: todo", "status: blocked"))
    git(repo, "add", ISSUE)
    before = (ws.tip(), git(repo, "status", "--porcelain"), (repo / ISSUE).read_text())
    with pytest.raises(ConflictError, match="staged"):
        start(ws)
    assert (ws.tip(), git(repo, "status", "--porcelain"), (repo / ISSUE).read_text()) == before
    assert not (repo / ".git/index.lock").exists()


def test_a_file_the_user_removed_stays_removed(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).unlink()
    done = start(ws)
    assert len(done.warnings) == 1
    assert not (repo / ISSUE).exists()
    assert "in_progress" in show(repo)


def test_a_hand_dropped_file_is_taken_in_as_it_stands(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT, commit=False)
    start(ws)
    assert "in_progress" in show(repo)
    assert clean(repo)


def test_a_hand_dropped_and_staged_file_is_taken_in_too(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT, commit=False)
    git(repo, "add", ISSUE)
    start(ws)
    assert clean(repo)


@pytest.mark.parametrize("rename", ["git mv", "mv"])
def test_a_rename_that_is_not_committed_yet_goes_into_the_commit_whole(
    repo: Path, ws: Workspace, rename: str
) -> None:
    put(repo, ISSUE, TEXT)
    subprocess.run([*rename.split(), ISSUE, "issues/renamed.md"], cwd=repo, check=True)
    put(repo, "theirs.txt", "x", commit=False)
    git(repo, "add", "theirs.txt")
    done = start(ws, "issues/renamed.md")
    assert done.warnings == ()
    assert git(repo, "ls-tree", "-r", "--name-only", "main", "issues").split() == ["issues/renamed.md"]
    git(repo, "commit", "-q", "-m", "the user's next ordinary commit")
    assert git(repo, "diff", "--name-only", done.oid, "main").split() == ["theirs.txt"]
    assert clean(repo)


def test_deleting_a_renamed_file_does_not_bring_its_old_path_back(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "mv", ISSUE, "issues/renamed.md")
    gone = change(ws)
    gone.delete("issues/renamed.md")
    gone.commit("x")
    assert git(repo, "ls-tree", "-r", "--name-only", "main", "issues") == ""
    assert clean(repo)


def test_a_new_file_beside_a_removed_one_of_another_id_is_no_rename(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).unlink()
    put(repo, "issues/new.md", TEXT.replace("7k3q9d2m", "8k3q9d2m"), commit=False)
    start(ws, "issues/new.md")
    assert show(repo) == TEXT
    assert git(repo, "status", "--porcelain").split() == ["D", ISSUE]


def test_an_untracked_file_in_the_way_is_never_overwritten(repo: Path, ws: Workspace) -> None:
    put(repo, "members/x.md", "mine", commit=False)
    make = change(ws)
    make.create("members/x.md", b"---\nemails: []\n---\n")
    with pytest.raises(ConflictError):
        make.commit("x")
    assert (repo / "members/x.md").read_text() == "mine"


def test_stash_head_other_branches_and_hooks_are_untouched(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    (repo / ISSUE).write_text(TEXT + "stashed\n")
    git(repo, "stash", "-q")
    git(repo, "branch", "side")
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    refs = git(repo, "for-each-ref", "refs/stash", "refs/heads/side")
    start(ws)
    assert git(repo, "for-each-ref", "refs/stash", "refs/heads/side") == refs
    assert git(repo, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    git(repo, "stash", "pop", "-q")
    assert (repo / ISSUE).read_text() == show(repo) + "stashed\n"


def test_on_another_branch_only_the_workspace_branch_moves(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "-b", "feature")
    start(ws)
    assert (repo / ISSUE).read_text() == TEXT
    assert clean(repo)
    assert "in_progress" in show(repo)
    assert "todo" in show(repo, at="feature")


def test_with_a_detached_head_only_the_workspace_branch_moves(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "--detach")
    start(ws)
    assert clean(repo)
    assert "in_progress" in show(repo)


def test_a_branch_checked_out_in_a_linked_work_tree_is_refreshed_there(
    repo: Path, ws: Workspace, tmp_path: Path
) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "-b", "feature")
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    start(ws)
    assert "in_progress" in (tmp_path / "linked" / ISSUE).read_text()
    assert clean(tmp_path / "linked")
    assert clean(repo)


def test_a_bare_clone_can_be_written(repo: Path, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    with find(tmp_path / "bare.git") as bare:
        start(bare)
    assert "in_progress" in show(tmp_path / "bare.git")


def test_in_the_middle_of_a_merge_we_wait(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "-b", "side")
    put(repo, "a.txt", "side")
    git(repo, "checkout", "-q", "main")
    put(repo, "a.txt", "main")
    git(repo, "merge", "side", ok=False)
    with pytest.raises(LockedError, match="merge is unfinished"):
        start(ws)
    git(repo, "merge", "--abort")
    start(ws)


def test_in_the_middle_of_a_rebase_of_the_branch_we_wait(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "branch", "side")
    put(repo, "a.txt", "main")
    git(repo, "checkout", "-q", "side")
    put(repo, "a.txt", "side")
    git(repo, "checkout", "-q", "main")
    git(repo, "rebase", "side", ok=False)
    with pytest.raises(LockedError, match="rebase is unfinished"):
        start(ws)
    git(repo, "rebase", "--abort")
    start(ws)


def test_while_a_commit_message_is_open_we_wait(repo: Path, ws: Workspace, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    put(repo, "a.txt", "x", commit=False)
    git(repo, "add", "a.txt")
    opened, go = tmp_path / "opened", tmp_path / "go"
    os.mkfifo(opened)
    os.mkfifo(go)
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho open > {opened}\nread _ < {go}\necho message > "$1"\n')
    editor.chmod(0o755)
    env = {**os.environ, "GIT_EDITOR": str(editor)}
    committing = subprocess.Popen(["git", "commit", "-q"], cwd=repo, env=env)
    opened.read_text()
    with pytest.raises(LockedError, match="editor"):
        start(ws)
    go.write_text("go\n")
    assert committing.wait() == 0
    start(ws)
    assert show(repo, "a.txt") == "x"


def test_a_foreign_index_lock_is_respected(
    repo: Path, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo, ISSUE, TEXT)
    monkeypatch.setattr("gitmem.store.checkout.INDEX_WAIT_S", 0.0)
    (repo / ".git/index.lock").write_text("theirs")
    before = ws.tip()
    with pytest.raises(LockedError, match=r"index\.lock"):
        start(ws)
    assert (repo / ".git/index.lock").read_text() == "theirs"
    assert ws.tip() == before


def test_a_foreign_index_lock_that_is_released_is_waited_for(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    lock = repo / ".git/index.lock"
    lock.write_text("theirs")
    releasing = threading.Timer(0.1, lock.unlink)
    releasing.start()
    start(ws)
    releasing.join()
    assert "in_progress" in show(repo)


def test_a_commit_of_the_user_in_between_is_built_upon(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    git(repo, "checkout", "-q", "--detach")
    seen: list[str] = []

    def user_moves_the_branch(tip: str) -> None:
        if not seen:
            put(repo, ISSUE, TEXT.replace("Body.", "Their body."))
            git(repo, "update-ref", "refs/heads/main", "HEAD")
        seen.append(tip)

    edit = change(ws)
    edit.edit(ISSUE, swap("status: todo", "status: done"))
    edit.guard(user_moves_the_branch)
    edit.commit("x")
    assert len(seen) == 2
    assert "Their body." in show(repo)
    assert "status: done" in show(repo)


def test_a_guard_that_refuses_changes_nothing(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)

    def no(_: str) -> None:
        raise ConflictError("fenced")

    edit = change(ws)
    edit.edit(ISSUE, swap("todo", "done"))
    edit.guard(no)
    before = ws.tip()
    with pytest.raises(ConflictError, match="fenced"):
        edit.commit("x")
    assert ws.tip() == before


def test_an_invalid_result_is_refused_before_anything_is_written(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    edit = change(ws)
    edit.edit(ISSUE, swap("status: todo", "status: finished"))
    before = ws.tip()
    with pytest.raises(InvalidDocumentError) as told:
        edit.commit("x")
    assert told.value.exit_code == 12
    assert ws.tip() == before
    assert clean(repo)


def test_a_fault_that_was_there_before_does_not_block_an_edit(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT.replace("priority: none", "priority: asap"))
    start(ws)
    assert "priority: asap" in show(repo)


def test_a_missing_file_and_a_missing_identity_are_told(repo: Path, ws: Workspace, hermetic: Path) -> None:
    with pytest.raises(NotFoundError):
        start(ws)
    put(repo, ISSUE, TEXT)
    (hermetic / ".gitconfig").unlink()
    with find(repo) as nameless, pytest.raises(IdentityError) as told:
        start(nameless)
    assert "git config" in (told.value.hint or "")


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x", "issues/con.md", "issues/a:b.md", "issues/x ", ".git/x"]
)
def test_a_path_that_some_system_cannot_hold_is_refused(ws: Workspace, path: str) -> None:
    with pytest.raises(InvalidDocumentError):
        change(ws).create(path, b"x")


def test_a_symbolic_link_in_the_way_is_never_followed(repo: Path, ws: Workspace, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / Path(ISSUE).name).write_text(TEXT)
    folder = (repo / ISSUE).parent
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    done = start(ws)
    assert len(done.warnings) == 1
    assert (outside / Path(ISSUE).name).read_text() == TEXT


def test_line_endings_survive_whatever_the_user_configured(repo: Path, ws: Workspace) -> None:
    git(repo, "config", "core.autocrlf", "true")
    crlf = TEXT.replace("\n", "\r\n")
    make = change(ws)
    make.create(ISSUE, crlf.encode())
    make.commit("x")
    assert (repo / ISSUE).read_bytes() == crlf.encode()
    assert (
        subprocess.run(["git", "show", f"main:{ISSUE}"], cwd=repo, capture_output=True).stdout
        == crlf.encode()
    )
    assert clean(repo)


def test_parallel_processes_lose_no_change(repo: Path) -> None:
    put(repo, ISSUE, TEXT)
    code = (
        "import sys; from pathlib import Path; from tests.store.test_change import *\n"
        "n = sys.argv[2]\n"
        "with find(Path(sys.argv[1])) as ws:\n"
        "    for i in range(5):\n"
        "        c = change(ws); c.create(f'notes/{n}-{i}.txt', b'x'); c.commit(f'{n} {i}')\n"
    )
    top = Path(__file__).parents[2]
    argv = [sys.executable, "-c", code, str(repo)]
    crowd = [subprocess.Popen([*argv, str(n)], cwd=top) for n in range(4)]
    assert [process.wait() for process in crowd] == [0] * 4
    assert len(git(repo, "ls-tree", "-r", "--name-only", "main", "notes/").split()) == 20
    assert int(git(repo, "rev-list", "--count", "main")) == 22
    assert clean(repo)


def test_a_file_size_limit_loses_nothing(repo: Path) -> None:
    """The disk is full, as far as a process can tell: RLIMIT_FSIZE makes writes fail half-way."""
    put(repo, ISSUE, TEXT)
    before = git(repo, "rev-parse", "main")
    code = (
        "import resource, signal, sys; from pathlib import Path; from tests.store.test_change import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "with find(Path(sys.argv[1])) as ws:\n"
        "    ws.git.blob(ws.git.entry(ws.tip(), ISSUE).oid)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n"
        "    c = change(ws); c.write('notes/big.txt', __import__('os').urandom(5000))\n"
        "    try: c.commit('x')\n"
        "    except StorageError as error: print(error.message); sys.exit(7)\n"
    )
    top = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(repo)], cwd=top, capture_output=True)
    assert done.returncode == 7, done.stderr.decode()
    assert git(repo, "rev-parse", "main") == before
    assert clean(repo)
    with find(repo) as ws:
        start(ws)
    assert clean(repo)


def test_a_branch_for_review_is_made_in_the_same_step_on_top_of_the_change(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    edit = change(ws)
    edit.edit(ISSUE, swap("status: todo", "status: in_review"))
    edit.also_branch("refs/heads/gitmem/run/r1", {"skills/a/SKILL.md": (b"waits", False)}, "run r1: skill a")
    done = edit.commit("x")
    assert git(repo, "rev-parse", "gitmem/run/r1~1").strip() == done.oid
    assert show(repo, "skills/a/SKILL.md", at="gitmem/run/r1") == "waits"
    assert "in_review" in show(repo, at="gitmem/run/r1")
    assert not (repo / "skills").exists()
    assert "Gitmem-Trace" in git(repo, "log", "-1", "--format=%B", "gitmem/run/r1")
    git(repo, "fsck", "--strict")


def test_another_ref_that_was_moved_first_aborts_the_whole_step(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    before = ws.tip()
    edit = change(ws)
    edit.edit(ISSUE, swap("status: todo", "status: done"))
    edit.also_move(lambda: RefUpdate("refs/gitmem/claims/t1", ZERO, before))
    with pytest.raises(ConflictError):
        edit.commit("x")
    assert ws.tip() == before
    assert clean(repo)
    assert (repo / ISSUE).read_text() == TEXT
