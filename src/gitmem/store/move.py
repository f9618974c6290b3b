"""Moving the workspace branch by one commit, with the user's work tree and index if it is checked out.

The order is git's own for a commit: lock the index, prepare the new one, move the ref,
put the new index in place. A kill before the ref moved leaves the old state, a kill after
it the new one; `journal.settle` makes either whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.core.errors import ConflictError
from gitmem.store.checkout import Checkout, PreparedIndex, Staged, same
from gitmem.store.git import ObjectBatch, RefUpdate, blob_id
from gitmem.store.journal import Journal, Step, has_landed, journal_path, settle_file, write_journal

if TYPE_CHECKING:
    from gitmem.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PathMove:
    """One path of a commit: the blob on the branch before (None: absent) and its new bytes."""

    path: str
    mode: str
    old: str | None
    data: bytes | None
    # The working file was taken in as it stands (a hand-dropped, uncommitted file).
    taken: bytes | None = None

    @property
    def new(self) -> str | None:
        return blob_id(self.data) if self.data is not None else None


@dataclass(frozen=True, slots=True)
class Planned:
    step: Step
    data: bytes | None  # the working file's new bytes
    warning: str | None = None


def move_branch(
    workspace: Workspace,
    updates: Sequence[RefUpdate],
    commit: str,
    moves: Sequence[PathMove],
    batch: ObjectBatch,
    message: str,
) -> list[str]:
    """Move the refs, the first of which is the workspace branch; returns warnings for people.

    Raises ConflictError (a staged edit that cannot be merged, or a ref moved first),
    LockedError or StorageError; then nothing has changed.
    """
    places = workspace.checkout
    if places is None:
        batch.flush()
        workspace.git.update_refs(updates, message)
        return []
    checkout = Checkout(workspace.git, places)
    with checkout.index_lock():
        plans = _plan_all(workspace, checkout, moves, batch)
        steps = tuple(plan.step for plan in plans)
        journal = Journal(updates[0].name, commit, str(places.git_dir), steps)
        write_journal(workspace.git, journal)
        try:
            prepared = _write_files(checkout, plans)
            batch.flush()
            _finish_index(checkout, plans, prepared)
            move_refs(workspace, updates, message)
        except BaseException:
            # Even an interrupt can come after the ref has moved: ask the branch, not the exception.
            _end(workspace, checkout, journal, landed=has_landed(workspace.git, journal))
            raise
        _end(workspace, checkout, journal, landed=True)
    return [plan.warning for plan in plans if plan.warning]


def move_refs(workspace: Workspace, updates: Sequence[RefUpdate], message: str) -> None:
    """The instant at which the change happens."""
    workspace.git.update_refs(updates, message)


def _end(workspace: Workspace, checkout: Checkout, journal: Journal, *, landed: bool) -> None:
    """The new index in place, or the working files back as they were; then the journal is done with."""
    if landed:
        checkout.adopt_index()
    else:
        for step in journal.steps:
            settle_file(workspace.git, checkout, step, landed=False)
    journal_path(workspace.git).unlink(missing_ok=True)


def _plan_all(
    workspace: Workspace, checkout: Checkout, moves: Sequence[PathMove], batch: ObjectBatch
) -> list[Planned]:
    staged = checkout.staged([move.path for move in moves])
    plans = [_plan(workspace, checkout, move, staged.get(move.path), batch) for move in moves]
    if any(plan.step.file_before not in {None, move.old} for plan, move in zip(plans, moves, strict=True)):
        batch.flush()  # what the user has must be readable before we write over it
    return plans


def _plan(
    workspace: Workspace, checkout: Checkout, move: PathMove, entry: Staged | None, batch: ObjectBatch
) -> Planned:
    index_before = entry.oid if entry else None
    index_after = _plan_entry(workspace, move, index_before, batch)
    have = checkout.read(move.path)
    data, warning = _plan_file(workspace, checkout, move, have)
    step = Step(
        path=move.path,
        mode=move.mode,
        file_before=batch.blob(have) if have is not None and not same(have, move.old) else _oid(have),
        file_after=batch.blob(data) if data is not None and data != move.data else _oid(data),
        index_before=index_before,
        index_after=index_after,
    )
    return Planned(step, data, warning)


def _oid(data: bytes | None) -> str | None:
    return blob_id(data) if data is not None else None


def _plan_entry(workspace: Workspace, move: PathMove, staged: str | None, batch: ObjectBatch) -> str | None:
    """What the index is to hold: our blob, or our change merged into what the user has staged."""
    if staged in {move.old, move.new} or (staged is None and move.taken is not None):
        return move.new
    if move.taken is not None and staged == blob_id(move.taken):
        return move.new
    merged = None
    if staged and move.old and move.data is not None:
        git = workspace.git
        merged = git.merge_bytes(git.blob(move.old), git.blob(staged), move.data)
    if merged is None:
        raise ConflictError(
            f"{move.path} has staged changes that this change cannot be merged into",
            f"commit them, or unstage them with `git restore --staged {move.path}`; then try again",
        )
    return batch.blob(merged)


def _plan_file(
    workspace: Workspace, checkout: Checkout, move: PathMove, have: bytes | None
) -> tuple[bytes | None, str | None]:
    """(the working file's new bytes, a warning where it is left as the user has it)."""
    if checkout.is_blocked(move.path):
        return None, f"{move.path}: not a plain file in your working copy; left as it is"
    if same(have, move.old) or have == move.data or (have is not None and have == move.taken):
        return move.data, None
    if have is not None and move.old is not None and move.data is not None:
        merged = workspace.git.merge_bytes(workspace.git.blob(move.old), have, move.data)
        if merged is not None:
            return merged, None
    gone = "your working copy has removed it" if have is None else "your working copy has other edits"
    return have, f"{move.path}: {gone}; left as it is, the change is in the commit"


def _write_files(checkout: Checkout, plans: Sequence[Planned]) -> PreparedIndex:
    """Write the working files and start writing the index that goes with them."""
    fresh: list[str] = []
    entries: dict[str, Staged | None] = {}
    for plan in plans:
        step = plan.step
        if step.writes_file:
            write_working_file(checkout, step.path, plan.data, step.mode)
        if step.index_before == step.index_after:
            continue
        # A carriage return could be converted on its way into the index: name the blob instead.
        if step.file_after == step.index_after and b"\r" not in (plan.data or b""):
            fresh.append(step.path)
        else:
            entries[step.path] = _staged(step)
    return checkout.prepare_index(fresh, entries)


def write_working_file(checkout: Checkout, path: str, data: bytes | None, mode: str) -> None:
    if data is None:
        checkout.remove(path)
    else:
        checkout.write(path, data, mode)


def _staged(step: Step) -> Staged | None:
    return Staged(step.mode, step.index_after) if step.index_after else None


def _finish_index(checkout: Checkout, plans: Sequence[Planned], prepared: PreparedIndex) -> None:
    """Wait for the new index; a file that an editor saved meanwhile is entered as ours all the same."""
    for plan in plans:
        if plan.step.file_after == plan.step.index_after and checkout.read(plan.step.path) != plan.data:
            prepared.correct(plan.step.path, _staged(plan.step))
    prepared.wait()
