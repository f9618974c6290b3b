"""Git's objects as values and as bytes: ids, trees, commits, and writing new ones durably.

Objects are named in memory first and written in one go, so that an id is known before
anything is on disk; gitdb writes them, and each is flushed before a ref may point at it.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from gitmem.core.errors import StorageError

ZERO = "0" * 40
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
FILE, EXECUTABLE, SYMLINK, FOLDER, SUBMODULE = "100644", "100755", "120000", "040000", "160000"


class Signature(NamedTuple):
    name: str
    email: str


class TreeEntry(NamedTuple):
    path: str
    mode: str
    oid: str


class TreeChange(NamedTuple):
    """One path that differs between two trees; None stands for absent."""

    path: str
    old: str | None
    new: str | None
    mode: str | None


class CommitInfo(NamedTuple):
    oid: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    authored: str
    committer: Signature
    committed: str
    message: str


class RefUpdate(NamedTuple):
    """Move `name` from `old` to `new`; ZERO as old creates it, ZERO as new deletes it."""

    name: str
    new: str
    old: str


def blob_id(data: bytes) -> str:
    """The id that git gives to a file with these bytes (SHA-1 object format)."""
    return object_id("blob", data)


def object_id(kind: str, data: bytes) -> str:
    import hashlib  # late: 2 ms, and most reading commands name no object

    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


class ObjectBatch:
    """Objects that are named at once and written by `flush`, each durable before it returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pending: dict[str, tuple[str, bytes]] = {}
        self.trees: dict[str, list[TreeEntry]] = {}

    def blob(self, data: bytes) -> str:
        return self._add("blob", data)

    def tree(self, entries: Iterable[TreeEntry]) -> str:
        """One tree from entries whose `path` is a plain name, in git's order."""
        ordered = sorted(entries, key=lambda e: encode_path(e.path) + (b"/" if e.mode == FOLDER else b""))
        data = b"".join(
            f"{int(e.mode, 8):o} ".encode() + encode_path(e.path) + b"\0" + bytes.fromhex(e.oid)
            for e in ordered
        )
        oid = self._add("tree", data)
        self.trees[oid] = ordered
        return oid

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        *,
        author: Signature,
        committer: Signature,
        epoch_s: int,
    ) -> str:
        """A commit; `epoch_s` is seconds since 1970, recorded as UTC."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {_ident(author, epoch_s)}", f"committer {_ident(committer, epoch_s)}"]
        return self._add("commit", ("\n".join(lines) + "\n\n" + message).encode("utf-8", "surrogateescape"))

    def _add(self, kind: str, data: bytes) -> str:
        oid = object_id(kind, data)
        self._pending[oid] = (kind, data)
        return oid

    def flush(self) -> None:
        """Write what is pending. Raises StorageError where the disk is full or read-only."""
        if not self._pending:
            return
        from gitdb import IStream, LooseObjectDB  # late: 28 ms, and reading commands never write

        database = LooseObjectDB(str(self._folder))
        try:
            fresh = [oid for oid in self._pending if not self._path(oid).exists()]
            for oid in fresh:
                kind, data = self._pending[oid]
                database.store(IStream(kind, len(data), BytesIO(data)))
            for oid in fresh:
                _make_durable(self._path(oid))
        except OSError as error:
            raise StorageError(
                f"cannot write to {self._folder}: {error.strerror or error}",
                "nothing was changed; make room or get write permission, then try again",
            ) from error
        self._pending.clear()

    def _path(self, oid: str) -> Path:
        return self._folder / oid[:2] / oid[2:]


def _make_durable(path: Path) -> None:
    """Flush a new object to the disk: a ref must never outlive what it points at."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def parse_tree(data: bytes) -> Iterator[TreeEntry]:
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        mode = data[at:space].decode().rjust(6, "0")
        yield TreeEntry(decode_path(data[space + 1 : end]), mode, data[end + 1 : end + 21].hex())
        at = end + 21


def decode_path(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def encode_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _ident(who: Signature, epoch_s: int) -> str:
    def plain(text: str) -> str:
        return "".join(c for c in text if c not in "<>\n\0").strip() or "unknown"

    return f"{plain(who.name)} <{plain(who.email)}> {epoch_s} +0000"
