"""What can be wrong with the machine and the repository around a workspace; `check` is for its files."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from gitmem.core.errors import GitError, GitmemError, LockedError
from gitmem.core.record import Severity
from gitmem.ops.identity import NO_IDENTITY_HINT, handle_for
from gitmem.ops.template import public_url
from gitmem.store import claims, git_files, git_process
from gitmem.store.checkout import is_our_lock
from gitmem.store.git import Git
from gitmem.store.journal import journal_path, lock_path
from gitmem.store.lock import exclusive
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

GIT_MINIMUM = (2, 34)
FREE_BYTES_MIN = 10 * 1000**3  # RUNNER, "Code repositories": no claim below this
WATCHES_MIN = 1024  # a workspace's record folders, with room for the user's editor


class Health(StrEnum):
    OK = "ok"
    WARN = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `cure` is what to do about it."""

    name: str
    status: Health
    message: str
    cure: str | None = None


def ok(name: str, message: str) -> Check:
    return Check(name, Health.OK, message)


def warn(name: str, message: str, cure: str) -> Check:
    return Check(name, Health.WARN, message, cure)


def error(name: str, message: str, cure: str | None) -> Check:
    return Check(name, Health.ERROR, message, cure)


def machine(cwd: Path, runs: Path) -> Iterator[Check]:
    """What holds with or without a workspace; `runs` is where run directories are made."""
    yield _git_version(cwd)
    yield ok("python", ".".join(map(str, sys.version_info[:3])))
    yield _watcher(Path("/proc/sys/fs/inotify/max_user_watches"))
    yield _disk(runs)


def repository(ws: Workspace, now: datetime) -> Iterator[Check]:
    """What holds for the workspace's repository. Never raises: a check that cannot be made is an error."""
    checks: list[Callable[[], Check]] = [
        lambda: _identity(ws),
        lambda: _branch(ws),
        lambda: _operation(ws),
        lambda: _index_locks(ws),
        lambda: _journal(ws.git),
        lambda: _lock(ws.git),
        lambda: _claims(ws.git, now),
        lambda: _remote(ws.git),
        lambda: _index(ws),
    ]
    for check in checks:
        try:
            yield check()
        except GitmemError as failed:
            yield error("repository", failed.message, failed.hint)


def _git_version(cwd: Path) -> Check:
    try:
        said = git_process.run(["--version"], cwd=cwd).decode()
    except GitError as failed:
        return error("git", failed.message, failed.hint)
    found = re.search(r"\d+(\.\d+)+", said)
    version = tuple(int(part) for part in found.group().split(".")) if found else ()
    if version[:2] < GIT_MINIMUM:
        wanted = ".".join(map(str, GIT_MINIMUM))
        return error("git", said.strip(), f"install git {wanted} or newer")
    return ok("git", said.strip().removeprefix("git version "))


def _watcher(limit: Path) -> Check:
    try:
        watches = int(limit.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ok("watcher", "no inotify here; the runner's timer finds what the bell misses")
    if watches < WATCHES_MIN:
        return warn(
            "watcher",
            f"only {watches} files can be watched; the runner falls back to its timer",
            f"raise fs.inotify.max_user_watches to {WATCHES_MIN} or more",
        )
    return ok("watcher", f"inotify, {watches} watches")


def _disk(runs: Path) -> Check:
    place = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    words = f"{free / 1000**3:.0f} GB free for run directories in {runs}"
    if free < FREE_BYTES_MIN:
        return warn("disk", words, f"make room: a runner claims nothing below {FREE_BYTES_MIN // 1000**3} GB")
    return ok("disk", words)


def _identity(ws: Workspace) -> Check:
    me = ws.git.identity()
    if me is None:
        return error("identity", "git does not know who you are", NO_IDENTITY_HINT)
    with Reader(ws) as reader:
        member = reader.member_by_email(me.email)
    if member is None:
        handle = handle_for(me)
        return warn(
            "identity",
            f"{me.name} <{me.email}> is in no file of members/; you act as member:{handle}",
            f"gitmem member create {handle} --email {me.email}",
        )
    return ok("identity", f"member:{member.handle}, {me.name} <{me.email}>")


def _branch(ws: Workspace) -> Check:
    tip = ws.tip()
    for git_dir in git_files.lost_worktrees(ws.git.places):
        if git_files.head_branch(git_dir) == ws.branch:
            return warn(
                "workspace",
                f"branch {ws.branch} is checked out in a work tree that cannot be found from here "
                f"(its git directory is {git_dir}); gitmem waits with changes",
                "run gitmem in that work tree, or check out another branch there",
            )
    where = f"checked out in {ws.root}" if ws.root else "not checked out; the branch is read all the same"
    return ok("workspace", f"{ws.config.name} on branch {ws.branch} at {tip[:10]}, {where}")


def _operation(ws: Workspace) -> Check:
    for tree in git_files.worktrees(ws.git.places):
        unfinished = git_files.operation(tree.git_dir)
        if unfinished:
            return warn(
                "operation",
                f"a {unfinished} is unfinished in {tree.worktree}; gitmem waits with changes",
                f"end the {unfinished}",
            )
    return ok("operation", "no merge or rebase is unfinished")


def _index_locks(ws: Workspace) -> Check:
    for tree in git_files.worktrees(ws.git.places):
        lock = tree.git_dir / "index.lock"
        if is_our_lock(lock):
            return warn(
                "index.lock",
                f"{lock} is gitmem's own: a change is being made, or was killed",
                "nothing: the next gitmem command of any kind removes one that was left over",
            )
        if lock.exists():
            return warn(
                "index.lock",
                f"{lock} is there: a git is at work, or one was killed",
                "wait until it has ended; if none runs, the file is left over and may be removed",
            )
    return ok("index.lock", "none left over")


def _journal(git: Git) -> Check:
    if journal_path(git).exists():
        return warn(
            "journal",
            "a change was interrupted between moving the branch and refreshing the files",
            "nothing: the next command that changes something finishes it",
        )
    return ok("journal", "no interrupted change")


def _lock(git: Git) -> Check:
    if not lock_path(git).exists():
        return ok("lock", "free")
    try:
        with exclusive(lock_path(git), wait_s=0):
            return ok("lock", "free")
    except LockedError as held:
        return warn("lock", held.message, held.hint or "wait until it has ended")


def _claims(git: Git, now: datetime) -> Check:
    held = claims.read_all(git)
    me = claims.this_process("doctor")
    lost = [claim for claim in held if claims.is_abandoned(claim, me, now)]
    if lost:
        named = ", ".join(f"{claim.task} ({claim.holder.runner})" for claim in lost)
        return warn("claims", f"runners died with these tasks: {named}", "gitmem run")
    return ok("claims", f"{len(held)} held" if held else "none")


def _remote(git: Git) -> Check:
    said = git.run("config", "--get-regexp", r"^remote\..*\.url$", ok=(0, 1)).decode()
    urls = [line.split(" ", 1) for line in said.splitlines() if " " in line]
    if not urls:
        return ok("remote", "none: this workspace lives on one machine")
    return ok("remote", ", ".join(f"{key.split('.', 1)[1][:-4]} {public_url(url)}" for key, url in urls))


def _index(ws: Workspace) -> Check:
    with Reader(ws) as reader:
        if reader.commit != ws.tip():
            return warn("index", "the branch moves while it is read", "gitmem doctor")
        broken = {p.path for p in reader.problems() if p.severity is Severity.ERROR}
    if broken:
        return warn("index", f"up to date; {len(broken)} files have errors", "gitmem check")
    size = ws.index_path.stat().st_size if ws.index_path.exists() else 0
    return ok("index", f"up to date, {size / 1_000_000:.1f} MB")
