"""Keeping what a run saw: its snapshot as a commit, on one chain of commits per runner and month.

One ref per run would slow every fetch once there are tens of thousands; a chain keeps them all
reachable through a single ref.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from gitmem.core.clock import stamp
from gitmem.core.errors import ConflictError, GitError
from gitmem.core.ids import Entropy, new_id
from gitmem.store import document, trees
from gitmem.store.git import EMPTY_TREE, FILE, ZERO, Git, RefMovedError, RefUpdate, Signature, TreeEntry
from gitmem.store.workspace import Workspace, write_aside

MANIFEST = "manifest.yaml"
_ROUNDS_MAX = 20


def runner_name(workspace: Workspace, entropy: Entropy) -> str:
    """This clone's name as a runner: made once, kept beside the repository's other state."""
    file = workspace.git.state_dir / "runner"
    try:
        known = file.read_text(encoding="utf-8").strip()
    except OSError:
        known = ""
    if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}", known):
        return known
    host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:40] or "host"
    name = f"{host}-{new_id(entropy)[:4]}"
    write_aside(file, name.encode())
    return name


def chain_ref(kind: str, runner: str, now: datetime) -> str:
    return f"refs/gitmem/{kind}/{runner}/{stamp(now)[:7]}"


def pin(
    workspace: Workspace,
    runner: str,
    run: str,
    entries: Iterable[tuple[str, str, str]],
    manifest: bytes,
    now: datetime,
) -> str:
    """Commit a snapshot of (path, mode, blob id) entries and its manifest; returns the commit.

    Only the manifest is a new blob: what the branch holds already costs nothing again.
    """
    git = workspace.git
    ref = chain_ref("snapshots", runner, now)
    system = Signature("runner", f"system+runner@{workspace.config.id}.gitmem.invalid")
    for _ in range(_ROUNDS_MAX):
        batch = git.batch()
        files = {path: TreeEntry(path, mode, oid) for path, mode, oid in entries}
        files[MANIFEST] = TreeEntry(MANIFEST, FILE, batch.blob(manifest))
        tree = trees.rewrite(git, batch, EMPTY_TREE, files)
        previous = git.ref(ref)
        oid = batch.commit(
            tree,
            [previous] if previous else [],
            f"snapshot for run {run}\n\nGitmem-Run: {run}\n",
            author=system,
            committer=git.identity() or system,
            epoch_s=int(now.timestamp()),
        )
        batch.flush()
        try:
            git.update_refs([RefUpdate(ref, oid, previous or ZERO)])
        except RefMovedError:
            continue
        return oid
    raise ConflictError(f"{ref} keeps moving", "try again in a moment")


def read_manifest(git: Git, snapshot: str | None) -> dict[str, Any]:
    """The manifest of a pinned snapshot; empty where there is none to be read."""
    try:
        entry = git.entry(snapshot, MANIFEST) if snapshot else None
        data = git.blob(entry.oid) if entry else b""
    except GitError:
        return {}
    return document.parse(data, MANIFEST, whole_yaml=True).fields
