"""A new root tree from an old one and the paths that change: only the folders on the way are rewritten."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.core.errors import ConflictError
from gitmem.store.git import EMPTY_TREE, FOLDER, Git, ObjectBatch, TreeEntry


def rewrite(git: Git, batch: ObjectBatch, root: str, changes: Mapping[str, TreeEntry | None]) -> str:
    """The id of the tree `root` with each path set to its entry, or removed where that is None.

    Raises ConflictError where a file stands in the place of a folder or the other way round.
    """
    by_parts = {tuple(path.split("/")): entry for path, entry in changes.items()}
    return _rewrite(git, batch, _entries(git, batch, root), by_parts, "")


def _entries(git: Git, batch: ObjectBatch, oid: str) -> list[TreeEntry]:
    """A tree that is in the repository, or still only in the batch."""
    return batch.trees[oid] if oid in batch.trees else git.tree(oid)


def _rewrite(
    git: Git,
    batch: ObjectBatch,
    entries: list[TreeEntry],
    changes: Mapping[tuple[str, ...], TreeEntry | None],
    prefix: str,
) -> str:
    here = {entry.path: entry for entry in entries}
    below: dict[str, dict[tuple[str, ...], TreeEntry | None]] = {}
    for parts, entry in changes.items():
        if len(parts) > 1:
            below.setdefault(parts[0], {})[parts[1:]] = entry
        elif entry is None:
            here.pop(parts[0], None)
        else:
            _check_kind(here.get(parts[0]), is_folder=False, path=prefix + parts[0])
            here[parts[0]] = TreeEntry(parts[0], entry.mode, entry.oid)
    for name, inner in below.items():
        folder = here.get(name)
        _check_kind(folder, is_folder=True, path=prefix + name)
        inside = _entries(git, batch, folder.oid) if folder else []
        oid = _rewrite(git, batch, inside, inner, f"{prefix}{name}/")
        if oid == EMPTY_TREE:
            here.pop(name, None)
        else:
            here[name] = TreeEntry(name, FOLDER, oid)
    return batch.tree(here.values())


def _check_kind(entry: TreeEntry | None, *, is_folder: bool, path: str) -> None:
    if entry is not None and (entry.mode == FOLDER) != is_folder:
        have = "folder" if entry.mode == FOLDER else "file"
        raise ConflictError(f"{path} is a {have} already", "give it another name")
