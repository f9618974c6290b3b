"""The user's work tree and index, while the branch that is checked out moves under them.

For each path three versions matter: `old` and `new` on the branch, and what the user has
(in the working file, and staged). Where the user has `old`, they get `new`; where they have
edits, our change is merged into them; where that cannot be done cleanly, theirs stays.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import LockedError, StorageError
from gitmem.store import git_process
from gitmem.store.git import EXECUTABLE, FILE, blob_id
from gitmem.store.git_files import Places

if TYPE_CHECKING:
    import subprocess

INDEX_WAIT_S = 5.0
# What we put into `index.lock` while we hold it; git never reads that file.
LOCK_MARK = b"gitmem\n"
SKIP = "--skip-worktree"
ASSUME = "--assume-unchanged"


@dataclass(frozen=True, slots=True)
class Staged:
    """An index entry; `marks` are the options of `update-index` that the user has set on it."""

    mode: str
    oid: str
    marks: tuple[str, ...] = ()

    @property
    def is_skipped(self) -> bool:
        """True where the user has told git to do without the working file (a sparse checkout too)."""
        return SKIP in self.marks


class Checkout:
    """One work tree. Every path given to it is relative to its root and uses `/`."""

    def __init__(self, places: Places) -> None:
        assert places.worktree is not None
        self._index = places.git_dir / "index"
        self._copy = places.git_dir / "index.gitmem"
        self.root: Path = places.worktree
        self.git_dir = places.git_dir

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

    def adopt_index(self) -> None:
        """Put the updated copy in the place of the real index."""
        self._copy.replace(self._index)

    def copy_index(self) -> None:
        """Start from the real index; what an earlier crash left of a copy goes first."""
        self._copy.with_name("index.gitmem.lock").unlink(missing_ok=True)
        self._copy.unlink(missing_ok=True)
        try:
            if self._index.exists():
                shutil.copyfile(self._index, self._copy)
        except OSError as error:
            raise StorageError(
                f"cannot write {self._copy}: {error.strerror}", "nothing was changed"
            ) from error

    def start_listing(self, paths: Iterable[str]) -> subprocess.Popen[bytes]:
        specs = [f":(literal,top){path}" for path in paths]
        options = ("ls-files", "-s", "-v", "-z", "--full-name")
        return git_process.start([*options, "--", *specs], cwd=self.root)

    def start_update(self, *options: str) -> subprocess.Popen[bytes]:
        env = {"GIT_INDEX_FILE": str(self._copy)}
        plain = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
        return git_process.start([*plain, "update-index", "-z", *options], cwd=self.root, env=env)


@dataclass(frozen=True, slots=True)
class EntryChange:
    """A new index entry, None to remove it; `from_file` where the working file is exactly that."""

    path: str
    entry: Staged | None
    from_file: bool


class IndexUpdate:
    """A new index in the making, beside the real one; the caller holds the index lock.

    Both processes read the index while the caller is still planning. Entries whose working
    file is exactly what goes in are taken from it, so that their stat data is recorded too.
    Not so marked ones: for them git would not look at the file, and drop a skipped entry.
    """

    def __init__(self, checkout: Checkout, paths: list[str]) -> None:
        self._checkout = checkout
        self._entries: dict[str, Staged | None] = {}
        self._marks: dict[str, tuple[str, ...]] = {}
        checkout.copy_index()
        self._listing = checkout.start_listing(paths) if paths else None
        self._update = checkout.start_update("--add", "--remove", "--stdin")

    def __enter__(self) -> IndexUpdate:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._listing, self._update):
            if process is not None:
                git_process.abandon(process)

    def staged(self) -> dict[str, Staged]:
        """The index entries of the paths; an unmerged path has none."""
        found: dict[str, Staged] = {}
        out = git_process.finish(self._listing) if self._listing else b""
        for line in out.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            tag, mode, oid, stage = head.decode().split()
            if stage == "0":
                found[path.decode("utf-8", "surrogateescape")] = Staged(mode, oid, _marks(tag))
        self._marks = {path: entry.marks for path, entry in found.items() if entry.marks}
        return found

    def widen(self, paths: list[str]) -> None:
        """List the entries of these paths instead; before `staged` is asked for."""
        if self._listing is not None:
            git_process.abandon(self._listing)
        self._listing = self._checkout.start_listing(paths)

    def begin(self, changes: Iterable[EntryChange | None]) -> None:
        """Tell git what to enter; it works beside us until `finish`."""
        fresh = []
        for change in changes:
            if change is None:
                continue
            if change.from_file and change.path not in self._marks:
                fresh.append(change.path)
            else:
                self._entries[change.path] = change.entry
        git_process.feed(self._update, b"".join(_bytes(path) + b"\0" for path in fresh))

    def correct(self, path: str, entry: Staged | None) -> None:
        """The working file has changed meanwhile: name its entry by id instead."""
        self._entries[path] = entry

    def finish(self) -> None:
        git_process.finish(self._update)
        if self._entries:
            lines = [_index_line(path, entry) for path, entry in self._entries.items()]
            self._run(b"".join(lines), "--add", "--index-info")
        for mark in (SKIP, ASSUME):
            marked = [
                path for path, entry in self._entries.items() if entry and mark in self._marks.get(path, ())
            ]
            if marked:
                self._run(b"".join(_bytes(path) + b"\0" for path in marked), mark, "--stdin")

    def _run(self, data: bytes, *options: str) -> None:
        self._update = self._checkout.start_update(*options)
        git_process.feed(self._update, data)
        git_process.finish(self._update)


def _marks(tag: str) -> tuple[str, ...]:
    """What the tag that `ls-files -v` prints before an entry says."""
    return (SKIP,) * (tag in {"S", "s"}) + (ASSUME,) * tag.islower()


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
            raise _cannot_lock(lock, error) from error
        else:
            break
    try:
        os.write(handle, LOCK_MARK)
    except OSError as error:
        lock.unlink()
        raise _cannot_lock(lock, error) from error
    finally:
        os.close(handle)


def _cannot_lock(lock: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {lock}: {error.strerror}", "nothing was changed")


def is_our_lock(lock: Path) -> bool:
    """True where the `index.lock` is one that gitmem holds, or held when it was killed."""
    try:
        return lock.read_bytes() == LOCK_MARK
    except FileNotFoundError:
        return False


def drop_our_lock(index: Path) -> None:
    """Remove an `index.lock` that a crashed gitmem left; anybody else's stays."""
    lock = index.with_name("index.lock")
    if is_our_lock(lock):
        lock.unlink(missing_ok=True)


def mode_of(entry_mode: str | None) -> str:
    return entry_mode if entry_mode in {FILE, EXECUTABLE} else FILE


def same(data: bytes | None, oid: str | None) -> bool:
    """True where a file's bytes are the blob `oid`; absent is the same as absent."""
    return (blob_id(data) if data is not None else None) == oid
