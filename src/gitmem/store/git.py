"""The only door to git.

Refs and HEAD are read from git's plain files, objects through one long-lived `git cat-file
--batch`, new objects are written in process by gitdb and made durable before the ref moves,
and refs move only through `git update-ref --stdin` with the old value: measured for this
project, that is the one way that is both fast and never admits two winners.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import GitError
from gitmem.store import git_files, git_process, git_status
from gitmem.store.git_objects import EMPTY_TREE as EMPTY_TREE
from gitmem.store.git_objects import EXECUTABLE as EXECUTABLE
from gitmem.store.git_objects import FILE as FILE
from gitmem.store.git_objects import FOLDER as FOLDER
from gitmem.store.git_objects import SUBMODULE as SUBMODULE
from gitmem.store.git_objects import SYMLINK as SYMLINK
from gitmem.store.git_objects import ZERO as ZERO
from gitmem.store.git_objects import CommitInfo as CommitInfo
from gitmem.store.git_objects import ObjectBatch as ObjectBatch
from gitmem.store.git_objects import RefUpdate as RefUpdate
from gitmem.store.git_objects import Signature as Signature
from gitmem.store.git_objects import TreeChange as TreeChange
from gitmem.store.git_objects import TreeEntry as TreeEntry
from gitmem.store.git_objects import blob_id as blob_id
from gitmem.store.git_objects import decode_path, parse_tree
from gitmem.store.git_process import RefMovedError as RefMovedError
from gitmem.store.git_status import Look as Look

if TYPE_CHECKING:
    import subprocess


class RefTransaction:
    """Ref updates that happen all or not at all; leaving it without `commit` moves nothing."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def commit(self, updates: Iterable[RefUpdate]) -> None:
        """Move the refs. Raises RefMovedError where one is not at its old value."""
        git_process.feed(self._process, b"".join(map(_update_line, updates)))
        git_process.finish(self._process)

    def __enter__(self) -> RefTransaction:
        return self

    def __exit__(self, *_: object) -> None:
        git_process.abandon(self._process)


def _update_line(update: RefUpdate) -> bytes:
    if update.new == ZERO:
        return f"delete {update.name}\0{update.old}\0".encode()
    if update.old == ZERO:
        return f"create {update.name}\0{update.new}\0".encode()
    return f"update {update.name}\0{update.new}\0{update.old}\0".encode()


class Git:
    """A repository. Cheap to make; starts git only when asked something that needs it."""

    def __init__(self, places: git_files.Places) -> None:
        self.places = places
        self.git_dir = places.git_dir
        self.common_dir = places.common_dir
        self.worktree = places.worktree
        self.state_dir = places.common_dir / "gitmem"
        self._objects = git_process.ObjectReader(self.cwd)
        self._trees: dict[str, list[TreeEntry]] = {}

    @classmethod
    def discover(cls, path: Path) -> Git:
        """The repository that holds `path`; raises GitError where there is none."""
        return cls(git_files.find_places(path.resolve()))

    @property
    def cwd(self) -> Path:
        return self.worktree or self.git_dir

    def close(self) -> None:
        self._objects.close()

    def __enter__(self) -> Git:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(
        self,
        *args: str,
        data: bytes = b"",
        env: Mapping[str, str] | None = None,
        ok: Container[int] = (0,),
        cwd: Path | None = None,
    ) -> bytes:
        """Run `git args…` here and return its output; raises as `git_process.run` does."""
        return git_process.run(args, cwd=cwd or self.cwd, data=data, env=env, ok=ok)

    def start(
        self, *args: str, env: Mapping[str, str] | None = None, keep: Iterable[int] = ()
    ) -> subprocess.Popen[bytes]:
        """Start `git args…` beside us; end it with `git_process.finish`."""
        return git_process.start(args, cwd=self.cwd, env=env, keep=keep)

    # -- refs

    def ref(self, name: str) -> str | None:
        """The oid that a full ref name (or `HEAD`) points at, or None."""
        try:
            return git_files.read_ref(self.places, name)
        except LookupError:
            out = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, ok=(0, 1))
            return out.decode().strip() or None

    def refs(self, prefix: str) -> dict[str, str]:
        """Full name → oid of every ref below the folder `prefix`, such as `refs/heads`."""
        try:
            return git_files.read_refs(self.places, prefix)
        except LookupError:
            out = self.run("for-each-ref", "--format=%(objectname) %(refname)", f"{prefix}/").decode()
            return {name: oid for oid, name in (line.split(" ", 1) for line in out.splitlines())}

    def head_branch(self) -> str | None:
        return git_files.head_branch(self.git_dir)

    def update_refs(self, updates: Iterable[RefUpdate], message: str = "gitmem") -> None:
        """Move all the refs or none. Raises RefMovedError where one is not at its old value."""
        with self.ref_transaction(message) as transaction:
            transaction.commit(updates)

    def ref_transaction(self, message: str, keep: Iterable[int] = ()) -> RefTransaction:
        """A `git update-ref` that is ready and waits to be told what to move."""
        return RefTransaction(self.start("update-ref", "-m", message, "--stdin", "-z", keep=keep))

    # -- reading objects

    def blob(self, oid: str) -> bytes:
        return self._read(oid, "blob")

    def _read(self, oid: str, kind: str) -> bytes:
        found, content = self._objects.read(oid)
        if found != kind:
            raise GitError(f"object {oid} is a {found}, not a {kind}")
        return content

    def blobs(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(oid, bytes) of each, in order, through one process."""
        return self._objects.read_many(oids)

    def tree_of(self, commit: str) -> str:
        """The root tree of a commit."""
        content = self._read(commit, "commit")
        return content.split(b"\n", 1)[0][5:].decode()

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of one tree (names, not paths), folders included."""
        if oid == EMPTY_TREE:
            return []
        if oid not in self._trees:
            if len(self._trees) > 2000:
                self._trees.clear()
            self._trees[oid] = list(parse_tree(self._read(oid, "tree")))
        return self._trees[oid]

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """The entry at `path` in a commit, file or folder."""
        found = TreeEntry("", FOLDER, self.tree_of(commit))
        for part in path.split("/"):
            if found.mode != FOLDER:
                return None
            here = next((e for e in self.tree(found.oid) if e.path == part), None)
            if here is None:
                return None
            found = here
        return TreeEntry(path, found.mode, found.oid)

    def ls_tree(self, treeish: str, *paths: str) -> list[TreeEntry]:
        """Every file (not folder) of a commit or tree, below `paths` where given."""
        out = self.run("ls-tree", "-r", "-z", "--full-tree", treeish, "--", *paths)
        entries = []
        for line in out.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _kind, oid = head.decode().split()
            entries.append(TreeEntry(decode_path(path), mode, oid))
        return entries

    def diff_tree(self, old: str, new: str) -> list[TreeChange]:
        """The paths that differ between two commits or trees; renames are a removal and an addition."""
        out = self.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--end-of-options", old, new)
        fields = out.split(b"\0")[:-1]
        changes = []
        for head, path in zip(fields[::2], fields[1::2], strict=True):
            _, mode, before, after, status = head.decode().split()
            changes.append(
                TreeChange(
                    decode_path(path),
                    None if status == "A" else before,
                    None if status == "D" else after,
                    None if status == "D" else mode,
                )
            )
        return changes

    def log(self, *options: str, paths: Sequence[str] = ()) -> Iterator[CommitInfo]:
        """The commits that `git log options… -- paths…` lists, newest first, as they come."""
        process = self.start(
            "log", "-z", f"--format={_LOG_FORMAT}", _DATE, *options, "--", *paths, env={"TZ": "UTC"}
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            rest = b""
            while chunk := process.stdout.read1(65536):  # type: ignore[attr-defined]
                *whole, rest = (rest + chunk).split(b"\0")
                yield from map(_parse_log, whole)
            if rest:
                yield _parse_log(rest)
            assert process.stderr is not None
            words = process.stderr.read().decode("utf-8", "replace")
            if process.wait() != 0:
                raise git_process.failure(["git", "log"], process.returncode, words)
        finally:
            git_process.abandon(process)

    # -- writing objects

    def store_blob(self, data: bytes) -> str:
        """Write one durable blob and return its id."""
        batch = self.batch()
        oid = batch.blob(data)
        batch.flush()
        return oid

    def batch(self) -> ObjectBatch:
        """New objects, named at once and written together."""
        return ObjectBatch(self.common_dir / "objects")

    # -- the work tree

    def identity(self) -> Signature | None:
        """The user's name and address as git knows them, or None where either is missing."""
        return self._identity

    @cached_property
    def _identity(self) -> Signature | None:
        name, email = os.environ.get("GIT_AUTHOR_NAME"), os.environ.get("GIT_AUTHOR_EMAIL")
        if not (name and email):
            out = self.run("config", "-z", "--get-regexp", r"^user\.(name|email)$", ok=(0, 1))
            said = dict(line.split("\n", 1) for line in out.decode().split("\0") if "\n" in line)
            name, email = name or said.get("user.name"), email or said.get("user.email")
        return Signature(name, email) if name and email else None

    def look(self, *prefixes: str) -> Look:
        """Start looking for uncommitted files below `prefixes`; `uncommitted` gives them."""
        try:
            return Look(str(self.cwd), prefixes)
        except FileNotFoundError:
            raise git_process.not_started(self.cwd) from None

    def uncommitted(self, *prefixes: str, look: Look | None = None) -> list[str]:
        """The paths that are modified, staged, untracked or deleted in the work tree.

        `look` is one at the same prefixes that is under way already.
        """
        looking = look or self.look(*prefixes)
        out = looking.output()
        if out is None:  # once more, to be told why
            out = self.run(*git_status.ARGV, *prefixes)
        return [decode_path(line[3:]) for line in out.split(b"\0") if line]

    def merge_bytes(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
        """The line-wise three-way merge, or None where both sides changed the same lines."""
        import tempfile  # late: 3 ms, rare

        with tempfile.TemporaryDirectory(prefix="gitmem-merge-") as folder:
            files = [Path(folder) / name for name in ("ours", "base", "theirs")]
            for file, data in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(data)
            try:
                return self.run("merge-file", "-p", "-q", *map(str, files))
            except GitError as error:
                if 0 < error.details.get("status", 255) < 128:  # the number of conflicts
                    return None
                raise


# NUL ends each record (-z), so fields are split by a byte that no name, date or message line holds.
_LOG_FORMAT = "%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ad%x1f%cn%x1f%ce%x1f%cd%x1f%B"


_DATE = "--date=format-local:%Y-%m-%dT%H:%M:%SZ"


def _parse_log(record: bytes) -> CommitInfo:
    oid, tree, parents, an, ae, ad, cn, ce, cd, message = record.decode("utf-8", "replace").split("\x1f", 9)
    return CommitInfo(
        oid.strip(), tree, tuple(parents.split()), Signature(an, ae), ad, Signature(cn, ce), cd, message
    )
