"""The journal of a branch move, and what a crash in the middle of one leaves to be done.

Measured: a kill between `update-ref` and the refresh of the index makes the user's next
ordinary commit silently revert ours. So before anything moves, the journal says what every
working file and index entry was and is to be; `settle` brings all of them to the side that
the branch is on, again and again if it is itself interrupted, and touches nothing that
is neither what was there nor what we wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import GitError, LockedError, StorageError
from gitmem.store import git_files
from gitmem.store.checkout import Checkout, EntryChange, IndexUpdate, Staged, drop_our_lock, mode_of, same
from gitmem.store.lock import exclusive

if TYPE_CHECKING:
    from gitmem.store.git import Git
    from gitmem.store.workspace import Workspace


RECOVERY_WAIT_S = 2.0


@dataclass(frozen=True, slots=True)
class Step:
    """One path of a move, as blob ids (None: absent); `file_…` is the working file's content.

    `file_after` equal to `file_before` means that the working file is left alone.
    """

    path: str
    mode: str
    file_before: str | None
    file_after: str | None
    index_before: str | None
    index_after: str | None

    @property
    def writes_file(self) -> bool:
        return self.file_before != self.file_after


@dataclass(frozen=True, slots=True)
class Journal:
    ref: str
    commit: str
    git_dir: str
    steps: tuple[Step, ...]


def journal_path(git: Git) -> Path:
    return git.state_dir / "journal.json"


def lock_path(git: Git) -> Path:
    return git.state_dir / "lock"


def write_journal(git: Git, journal: Journal) -> None:
    """Make the journal durable, before the first thing it speaks of is touched."""
    path = journal_path(git)
    temporary = path.with_suffix(".new")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(asdict(journal), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror}", "nothing was changed") from error


def read_journal(git: Git) -> Journal | None:
    """The journal of an unfinished move; an unreadable one was never complete and says nothing."""
    try:
        said = json.loads(journal_path(git).read_bytes())
        steps = tuple(Step(**step) for step in said.pop("steps"))
        return Journal(steps=steps, **said)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        return None


def recover(workspace: Workspace) -> None:
    """Finish or undo a move that a crash interrupted, if there was one.

    A living process that is in the middle of a move holds the lock, as does, for a moment, the
    `update-ref` of one that was killed; while it is held there is nothing to do. In a repository
    that cannot be written there is nothing that we could have begun.
    """
    with suppress(LockedError, StorageError), exclusive(lock_path(workspace.git), wait_s=RECOVERY_WAIT_S):
        settle(workspace)


def settle(workspace: Workspace) -> None:
    """Bring working files and index to the side that the branch is on. The caller holds the lock."""
    git = workspace.git
    for places in _checkouts(workspace):
        drop_our_lock(places.git_dir / "index")
    journal = read_journal(git)
    if journal is not None:
        if journal.git_dir in map(str, git_files.lost_worktrees(git.places)):
            return  # it stays for the next command in that work tree
        where = next((p for p in _checkouts(workspace) if str(p.git_dir) == journal.git_dir), None)
        if where is not None:
            _settle_checkout(git, Checkout(where), journal, has_landed(git, journal))
        journal_path(git).unlink(missing_ok=True)


def _checkouts(workspace: Workspace) -> list[git_files.Places]:
    return git_files.worktrees(workspace.git.places)


def has_landed(git: Git, journal: Journal) -> bool:
    """True where the branch holds the journal's commit."""
    tip = git.ref(journal.ref)
    if tip is None:
        return False
    if tip == journal.commit:
        return True
    try:
        git.run("merge-base", "--is-ancestor", journal.commit, tip)
    except GitError:  # not an ancestor, or an object that was never written
        return False
    return True


def _settle_checkout(git: Git, checkout: Checkout, journal: Journal, landed: bool) -> None:
    for step in journal.steps:
        settle_file(git, checkout, step, landed)
    with checkout.index_lock(), IndexUpdate(checkout, [step.path for step in journal.steps]) as update:
        update.begin(_entries_to_set(update.staged(), journal, landed))
        update.finish()
        checkout.adopt_index()


def settle_file(git: Git, checkout: Checkout, step: Step, landed: bool) -> None:
    """The working file of one step: ours goes forward or back, anything else stays."""
    was, wanted = (step.file_before, step.file_after) if landed else (step.file_after, step.file_before)
    if not step.writes_file or checkout.is_blocked(step.path):
        return
    if same(checkout.read(step.path), was):
        if wanted is None:
            checkout.remove(step.path)
        else:
            checkout.write(step.path, git.blob(wanted), step.mode)


def _entries_to_set(staged: Mapping[str, Staged], journal: Journal, landed: bool) -> Iterator[EntryChange]:
    for step in journal.steps:
        was, wanted = (
            (step.index_before, step.index_after) if landed else (step.index_after, step.index_before)
        )
        have = staged.get(step.path)
        if (have.oid if have else None) == was and was != wanted:
            yield EntryChange(
                step.path, Staged(mode_of(step.mode), wanted) if wanted else None, from_file=False
            )
