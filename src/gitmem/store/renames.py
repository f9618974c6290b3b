"""A record file that the user has renamed and not committed yet.

Its new path is taken into a commit as it stands; were the old one left at the tip, two files
would hold the same id until the user commits the other half of the rename.
"""

from __future__ import annotations

from gitmem.core.layout import kind_of
from gitmem.core.record import Kind
from gitmem.store.checkout import Checkout
from gitmem.store.git import EXECUTABLE, FILE, Git, TreeEntry
from gitmem.store.git_objects import decode_path
from gitmem.store.index_rows import own_id, parse


def old_paths(git: Git, checkout: Checkout, tip: str, path: str, data: bytes) -> list[TreeEntry]:
    """The files at `tip` that hold the record of the uncommitted `path` and are gone from the work tree."""
    kind = kind_of(path)
    wanted = _id(kind, path, data) if kind else None
    if kind is None or wanted is None:
        return []
    options = ("-z", "--name-only", "--no-renames", "--diff-filter=D")
    out = git.run("diff-index", *options, tip, "--", path.split("/")[0], cwd=checkout.root)
    gone = (git.entry(tip, path) for path in map(decode_path, out.split(b"\0")[:-1]))
    files = [entry for entry in gone if entry and entry.mode in {FILE, EXECUTABLE}]
    return [
        entry
        for entry in files
        if checkout.read(entry.path) is None
        and not checkout.is_blocked(entry.path)
        and _holds(git, kind, entry, wanted)
    ]


def _holds(git: Git, kind: Kind, entry: TreeEntry, wanted: str) -> bool:
    data = git.blob(entry.oid)
    if kind_of(entry.path) is not kind or (wanted not in entry.path and wanted.encode() not in data):
        return False  # at first sight: thousands can be gone, and parsing is slow
    return _id(kind, entry.path, data) == wanted


def _id(kind: Kind, path: str, data: bytes) -> str | None:
    return own_id(kind, path, parse(path, data, limit=max(len(data), 1)))
