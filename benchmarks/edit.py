"""One field of one issue changed, as one commit, in a warm process: what a runner does all day."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Case, interleaved, timed
from benchmarks.options import Options
from benchmarks.report import Line
from benchmarks.workspaces import Made, make
from gitmem.core.ids import parse_actor
from gitmem.store import document, trees
from gitmem.store.change import Change
from gitmem.store.git import Git, Signature, TreeEntry
from gitmem.store.workspace import Workspace, find

TITLE = "One-field edit, committed"
_ANA = Signature("Ana", "ana@example.org")


def lines(options: Options, folder: Path) -> list[Line]:
    made = make(folder / "checked-out", options.issues)
    # Elsewhere only the branch is different: HEAD stands on another one, with the same files.
    apart = make(folder / "elsewhere", options.issues)
    Git.discover(apart.root).run("checkout", "-q", "-b", "other")
    peer, plain = make(folder / "peer", options.issues), make(folder / "plain", options.issues)
    with (
        find(made.root) as here,
        find(apart.root) as elsewhere,
        Git.discover(made.root) as git,
        Git.discover(plain.root) as checked_out,
    ):
        medians = interleaved(
            {
                "floor": timed(_floor(git, made, "refs/heads/floor")),
                "with files": timed(_with_files(checked_out, plain)),
                "ours": timed(_ours(here, made)),
                "elsewhere": timed(_ours(elsewhere, apart)),
                "gitpython": _gitpython(peer),
            },
            options.rounds,
        )
        _check_clean(here.git)
    return _table({name: seconds * 1000 for name, seconds in medians.items()})


def _table(ms: dict[str, float]) -> list[Line]:
    floor = Line("floor: blob, trees, commit, one `git update-ref`", ms["floor"], "ms", short="floor")
    ours = Line("gitmem, branch checked out", ms["ours"], "ms", floor, at_most=2, short="gitmem")
    return [
        floor,
        Line("the same, the file written and one `git update-index`", ms["with files"], "ms", floor),
        ours,
        Line("gitmem, branch not checked out", ms["elsewhere"], "ms", floor, at_most=2),
        Line("GitPython `index.add` and `index.commit`", ms["gitpython"], "ms", ours, at_least=5),
    ]


def _paths(made: Made) -> Iterator[str]:
    """The paths of issues, in random order, for ever."""
    return itertools.cycle(random.Random(2).sample([path for _, path in made.issues], len(made.issues)))


def _flipped(data: bytes) -> bytes:
    """The issue with another status, without any YAML."""
    old = b"status: todo" if b"\nstatus: todo\n" in data else b"status: " + _status(data)
    return data.replace(old, b"status: backlog" if old.endswith(b"todo") else b"status: todo", 1)


def _status(data: bytes) -> bytes:
    return data.split(b"\nstatus: ", 1)[1].split(b"\n", 1)[0]


def _ours(workspace: Workspace, made: Made) -> Callable[[], object]:
    paths = _paths(made)

    def run() -> object:
        path = next(paths)
        change = Change(
            workspace,
            actor=parse_actor("member:ana"),
            action="issue.edit",
            now=datetime.now(UTC),
            trace="0" * 32,
        )

        def set_status(data: bytes) -> bytes:
            return document.edit(data, path, {"status": "backlog" if _status(data) == b"todo" else "todo"})

        change.edit(path, set_status)
        return change.commit("issue: todo -> backlog")

    return run


def _floor(git: Git, made: Made, ref: str) -> Callable[[], tuple[str, bytes]]:
    """The least that makes such a commit safely; gives the path and the file's new bytes."""
    paths = _paths(made)
    git.run("update-ref", ref, "refs/heads/main")

    def run() -> tuple[str, bytes]:
        path, tip = next(paths), git.ref(ref)
        assert tip is not None
        entry = git.entry(tip, path)
        assert entry is not None
        batch = git.batch()
        data = _flipped(git.blob(entry.oid))
        blob = batch.blob(data)
        tree = trees.rewrite(git, batch, git.tree_of(tip), {path: TreeEntry(path, entry.mode, blob)})
        oid = batch.commit(tree, [tip], "edit\n", author=_ANA, committer=_ANA, epoch_s=int(time.time()))
        batch.flush()
        git.run("update-ref", ref, oid, tip)
        return path, data

    return run


def _with_files(git: Git, made: Made) -> Callable[[], object]:
    """What is due on top where the branch is checked out; nothing of the user's is looked after."""
    commit = _floor(git, made, "refs/heads/main")

    def run() -> None:
        path, data = commit()
        (made.root / path).write_bytes(data)
        git.run("update-index", "--", path)

    return run


def _gitpython(made: Made) -> Case:
    import git as gitpython  # late: 80 ms that only this peer needs

    paths = _paths(made)
    repo = gitpython.Repo(made.root)

    def run() -> None:
        path = next(paths)
        file = made.root / path
        file.write_bytes(_flipped(file.read_bytes()))
        repo.index.add([path])
        repo.index.commit("edit")

    return timed(run)


def _check_clean(git: Git) -> None:
    """A fast commit that leaves the work tree behind would be no commit at all."""
    left = git.uncommitted()
    if left:
        raise RuntimeError(f"the work tree is not clean: {left[:3]}")
