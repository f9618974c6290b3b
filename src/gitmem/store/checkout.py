"""The user's work tree and index, while the branch that is checked out moves under them.

For each path three versions matter: `old` and `new` on the branch, and what the user has
(in the working file, and staged). Where the user has `old`, they get `new`; where they have
edits, our change is merged into them; where that cannot be done cleanly, theirs stays.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import LockedError, StorageError
from gitmem.store import git_process
from gitmem.store.git import EXECUTABLE, FILE, Git, blob_id
from gitmem.store.git_files import Places

if TYPE_CHECKING:
    import subprocess

INDEX_WAIT_S = 5.0
# What we put into `index.lock` while we hold it; git never reads that file.
LOCK_MARK = b"gitmem\n"


@dataclass(frozen=True, slots=True)
class Staged:
    mode: str
    oid: str


class Checkout:
    """One work tree. Every path given to it is relative to its root and uses `/`."""

    def __init__(self, git: Git, places: Places) -> None:
        assert places.worktree is not None
        self._git = git
        self._index = places.git_dir / "index"
        self._copy = places.git_dir / "index.gitmem"
        self.root: Path = places.worktree

    # -- working files

    def read(self, path: str) -> bytes | None:
        """The working file's bytes; None where there is no plain file or a link leads to it."""
        file = self._plain(path)
        if file is None:
            return None
        try:
            return file.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"cannot read {file}: {error.strerror}") from error

    def is_blocked(self, path: str) -> bool:
        """True where something that is not a plain file stands in the way of `path`."""
        file = self._plain(path)
        return file is None or (os.path.lexists(file) and not file.is_file())

    def _plain(self, path: str) -> Path | None:
        """The file's place, or None where a symbolic link is on the way: we never follow one."""
        place = self.root
        for part in path.split("/"):
            place = place / part
            if place.is_symlink():
                return None
        return place

    def write(self, path: str, data: bytes, mode: str) -> None:
        """Replace the working file whole; a reader sees the old bytes or the new ones."""
        file = self.root / path
        temporary = file.with_name(f".{file.name[:200]}.gitmem-{os.getpid()}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            if mode == EXECUTABLE:
                temporary.chmod(temporary.stat().st_mode | 0o111)
            elif file.exists():
                shutil.copymode(file, temporary)
            temporary.replace(file)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StorageError(f"cannot write {file}: {error.strerror}") from error

    def remove(self, path: str) -> None:
        """Remove the working file and the folders that it leaves empty, as git does."""
        file = self.root / path
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == self.root or any(folder.iterdir()):
                return
            folder.rmdir()

    # -- the index

    @contextmanager
    def index_lock(self) -> Iterator[None]:
        """Hold `index.lock`, as git does for a commit: no commit of the user can come between."""
        lock = self._index.with_name("index.lock")
        _take(lock)
        try:
            yield
        finally:
            self._copy.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)

    def staged(self, paths: Iterable[str]) -> dict[str, Staged]:
        """The index entries of the paths; an unmerged path has none."""
        specs = [f":(literal,top){path}" for path in paths]
        out = self._git.run("ls-files", "-s", "-z", "--full-name", "--", *specs, cwd=self.root)
        found = {}
        for line in out.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, oid, stage = head.decode().split()
            if stage == "0":
                found[path.decode("utf-8", "surrogateescape")] = Staged(mode, oid)
        return found

    def prepare_index(self, fresh: list[str], entries: Mapping[str, Staged | None]) -> PreparedIndex:
        """Start writing a new index beside the real one.

        `fresh` are paths whose working files are exactly what goes in (so that their stat data
        can be recorded too), `entries` are given by mode and id, None to remove.
        """
        if self._index.exists():
            shutil.copyfile(self._index, self._copy)
        return PreparedIndex(self, fresh, entries)

    def adopt_index(self) -> None:
        """Put the prepared index in the place of the real one."""
        self._copy.replace(self._index)

    def start_update(self, *options: str) -> subprocess.Popen[bytes]:
        env = {"GIT_INDEX_FILE": str(self._copy)}
        plain = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
        return git_process.start([*plain, "update-index", "-z", *options], cwd=self.root, env=env)


class PreparedIndex:
    """The new index while a git process writes it."""

    def __init__(self, checkout: Checkout, fresh: list[str], entries: Mapping[str, Staged | None]) -> None:
        self._checkout = checkout
        self._entries = dict(entries)
        self._process: subprocess.Popen[bytes] | None = None
        if fresh:
            self._process = checkout.start_update("--add", "--remove", "--stdin")
            git_process.feed(self._process, b"".join(_bytes(path) + b"\0" for path in fresh))

    def correct(self, path: str, entry: Staged | None) -> None:
        """The working file of a fresh path has changed meanwhile: name its entry by id instead."""
        self._entries[path] = entry

    def wait(self) -> None:
        if self._process is not None:
            git_process.finish(self._process)
        if self._entries:
            lines = [_index_line(path, entry) for path, entry in self._entries.items()]
            process = self._checkout.start_update("--add", "--index-info")
            git_process.feed(process, b"".join(lines))
            git_process.finish(process)


def _index_line(path: str, entry: Staged | None) -> bytes:
    head = f"{entry.mode} {entry.oid}" if entry else f"0 {'0' * 40}"
    return f"{head}\t".encode() + _bytes(path) + b"\0"


def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _take(lock: Path) -> None:
    deadline = time.monotonic() + INDEX_WAIT_S
    while True:
        try:
            handle = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"{lock} is held by another git process",
                    "wait until that git has ended; if none runs, `gitmem doctor` tells how old the lock is",
                ) from None
            time.sleep(0.005)
        except OSError as error:
            raise StorageError(f"cannot write {lock}: {error.strerror}", "nothing was changed") from error
        else:
            os.write(handle, LOCK_MARK)
            os.close(handle)
            return


def drop_our_lock(index: Path) -> None:
    """Remove an `index.lock` that a crashed gitmem left; anybody else's stays."""
    lock = index.with_name("index.lock")
    try:
        if lock.read_bytes() == LOCK_MARK:
            lock.unlink()
    except FileNotFoundError:
        return


def mode_of(entry_mode: str | None) -> str:
    return entry_mode if entry_mode in {FILE, EXECUTABLE} else FILE


def same(data: bytes | None, oid: str | None) -> bool:
    """True where a file's bytes are the blob `oid`; absent is the same as absent."""
    return (blob_id(data) if data is not None else None) == oid
