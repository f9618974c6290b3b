"""When the user is in the middle of something that a moving branch would spoil.

Git refuses their commit with `cannot lock ref 'HEAD'` if the branch moves while their
commit message is open in an editor, and a rebase ends by moving the branch from where it
began. So we wait for both.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitmem.core.errors import LockedError
from gitmem.store import git_files
from gitmem.store.git_files import Places


def check_not_busy(places: Places, branch: str) -> None:
    """Raise LockedError where a user's unfinished operation holds the branch, or a work tree out of reach.

    There neither the working files nor the index could follow the branch, and the user's next
    commit would take back everything that we did.
    """
    for git_dir in git_files.lost_worktrees(places):
        if branch in {git_files.head_branch(git_dir), git_files.rebased_branch(git_dir)}:
            raise LockedError(
                f"branch {branch} is checked out in a work tree that cannot be found from here "
                f"(its git directory is {git_dir})",
                "run the command in that work tree, or check out another branch there",
            )
    for tree in git_files.worktrees(places):
        unfinished = git_files.operation(tree.git_dir)
        here = git_files.head_branch(tree.git_dir) == branch
        if unfinished and (here or git_files.rebased_branch(tree.git_dir) == branch):
            raise LockedError(
                f"a {unfinished} is unfinished in {tree.worktree}",
                f"end the {unfinished} first, then try again",
            )
        if here and _editor_is_open(tree):
            raise LockedError(
                f"a commit message is open in an editor in {tree.worktree}",
                "finish or abandon that commit first, then try again",
            )


def _editor_is_open(tree: Places) -> bool:
    """True while a `git commit` of this work tree waits for its message.

    The message file is newer than the last movement of HEAD only while a commit is being
    written or after one was abandoned; a living process tells the two apart. Where there is
    no /proc to ask, an abandoned commit is assumed, since holding back for ever is worse.
    """
    message = tree.git_dir / "COMMIT_EDITMSG"
    try:
        newer = message.stat().st_mtime_ns > (tree.git_dir / "logs" / "HEAD").stat().st_mtime_ns
    except OSError:
        return False
    return newer and any(_has_open(pid, tree, message) for pid in _processes())


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _has_open(pid: str, tree: Places, message: Path) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if os.fsencode(message) in words:
            return True
        if b"commit" not in words or not words[0].endswith(b"git"):
            return False
        cwd = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return False
    return tree.worktree is not None and cwd.is_relative_to(tree.worktree)
