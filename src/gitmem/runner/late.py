"""Results that came too late: kept beside the branch, never put over what won."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitmem.core.clock import parse_stamp
from gitmem.core.layout import run_path
from gitmem.core.states import Outcome, Reason
from gitmem.runner.ended import Delivered, Ended
from gitmem.runner.produce import Product
from gitmem.store import trees
from gitmem.store.change import author_of
from gitmem.store.claims import read
from gitmem.store.git import FILE, ZERO, RefUpdate, TreeEntry

if TYPE_CHECKING:
    from gitmem.store.workspace import Workspace

PREFIX = "refs/gitmem/late/"


def keep(workspace: Workspace, ended: Ended, products: Sequence[Product], record: bytes) -> Delivered:
    """Put the whole result on `refs/gitmem/late/<run>` as a commit on top of the branch's tip."""
    attempt, git = ended.attempt, workspace.git
    tip = workspace.tip()
    batch = git.batch()
    files = {product.path: product.data for product in products}
    files[run_path(attempt.run, attempt.started)] = record
    entries = {path: TreeEntry(path, FILE, batch.blob(data)) for path, data in files.items()}
    when = parse_stamp(ended.at)
    assert when is not None
    author = author_of(attempt.actor, workspace.config.id)
    assert author is not None
    oid = batch.commit(
        trees.rewrite(git, batch, git.tree_of(tip), entries),
        [tip],
        f"run {attempt.run}: came too late\n\nGitmem-Run: {attempt.run}\nGitmem-Task: {attempt.task.id}\n",
        author=author,
        committer=git.identity() or author,
        epoch_s=int(when.timestamp()),
    )
    batch.flush()
    updates = [RefUpdate(PREFIX + attempt.run, oid, ZERO)]
    held = read(git, attempt.task.id)
    if held is not None and held.oid == attempt.claim.oid:
        updates.append(attempt.claim.deletion())
    git.update_refs(updates)
    return Delivered(Outcome.FAILED, Reason.LATE, oid, None, tuple(files), late=True)
