"""Moving the workspace branch by one commit, with the user's work tree and index if it is checked out.

The order is git's own for a commit: lock the index, prepare the new one, move the ref,
put the new index in place. A kill before the ref moved leaves the old state, a kill after
it the new one; `journal.settle` makes either whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitmem.core.errors import ConflictError, GitmemError
from gitmem.store.busy import check_not_busy
from gitmem.store.checkout import Checkout, EntryChange, IndexUpdate, Staged, same
from gitmem.store.git import Git, ObjectBatch, RefTransaction, RefUpdate, blob_id
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

    @property
    def entry(self) -> Staged | None:
        return Staged(self.step.mode, self.step.index_after) if self.step.index_after else None

    @property
    def entry_change(self) -> EntryChange | None:
        """How the index entry changes; by its working file where that is exactly what goes in."""
        if self.step.index_before == self.step.index_after:
            return None
        # A carriage return could be converted on its way into the index: name the blob instead.
        from_file = self.step.file_after == self.step.index_after and b"\r" not in (self.data or b"")
        return EntryChange(self.step.path, self.entry, from_file)


class BranchMove:
    """A move of the workspace branch, from before it is planned until it has landed.

    The git processes that it will need are started first and read the index while the change
    is being planned; `update-ref` inherits our lock, so that even if we are killed nobody
    else acts before it has ended.
    """

    def __init__(self, workspace: Workspace, paths: list[str], message: str, lock: int) -> None:
        self._workspace = workspace
        self._paths = paths
        self._message = "gitmem: " + message.split("\n", 1)[0]
        self._lock = lock
        places = workspace.checkout
        self._checkout = Checkout(places) if places else None
        self._index: IndexUpdate | None = None
        self._stack = ExitStack()

    def __enter__(self) -> BranchMove:
        with ExitStack() as stack:
            if self._checkout is not None:
                stack.enter_context(self._checkout.index_lock())
                self._index = stack.enter_context(IndexUpdate(self._checkout, self._paths))
            check_not_busy(self._workspace.git.places, self._workspace.branch)
            transaction = self._workspace.git.ref_transaction(self._message, keep=[self._lock])
            self._refs = stack.enter_context(transaction)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def land(self, updates: Sequence[RefUpdate], moves: Sequence[PathMove], batch: ObjectBatch) -> list[str]:
        """Move the refs, the first of which is the workspace branch; returns warnings for people.

        Raises ConflictError (a staged edit that cannot be merged, or a ref moved first),
        LockedError or StorageError; then nothing has changed.
        """
        if self._checkout is None or self._index is None:
            batch.flush()
            move_refs(self._refs, updates)
            return []
        git, checkout = self._workspace.git, self._checkout
        plans = _plan_all(git, checkout, self._index.staged(), moves, batch)
        steps = tuple(plan.step for plan in plans)
        journal = Journal(updates[0].name, updates[0].new, str(checkout.git_dir), steps)
        write_journal(git, journal)
        try:
            write_files(checkout, plans)
            self._index.begin(plan.entry_change for plan in plans)
            batch.flush()
            self._finish_index(plans)
            move_refs(self._refs, updates)
        except BaseException:
            # Even an interrupt can come after the ref has moved: ask the branch, not the exception.
            _end(git, checkout, journal, landed=has_landed(git, journal))
            raise
        _end(git, checkout, journal, landed=True)
        return [plan.warning for plan in plans if plan.warning]

    def with_old_paths(self, tip: str, moves: Sequence[PathMove]) -> list[PathMove]:
        """The moves, and the removal of the path that a file taken in had before the user renamed it."""
        taken = [move for move in moves if move.taken is not None]
        if not taken or self._checkout is None or self._index is None:
            return list(moves)
        from gitmem.store.renames import old_paths  # late: yaml, only where an uncommitted file is taken in

        removed = {}
        for move in taken:
            for old in old_paths(self._workspace.git, self._checkout, tip, move.path, move.taken or b""):
                removed[old.path] = PathMove(old.path, old.mode, old.oid, None)
        for move in moves:
            removed.pop(move.path, None)
        if removed:
            self._index.widen([*self._paths, *removed])
        return [*moves, *removed.values()]

    def unseen(self, path: str, transform: Callable[[bytes], bytes]) -> str | None:
        """A warning where the branch needs no change by `transform`, but the user's copy would."""
        if self._checkout is None or self._checkout.is_blocked(path):
            return None
        have = self._checkout.read(path)
        if have is None:
            return None  # removed, or never wanted (sparse): nobody sees another value
        with suppress(GitmemError):  # a copy that cannot be edited as it stands is told of, too
            if transform(have) == have:
                return None
        return f"{path}: your working copy has other edits; left as it is, the branch has the change already"

    def _finish_index(self, plans: Sequence[Planned]) -> None:
        """Wait for the new index; a file that an editor saved meanwhile is entered as ours all the same."""
        assert self._checkout is not None
        assert self._index is not None
        for plan in plans:
            if (
                plan.step.file_after == plan.step.index_after
                and self._checkout.read(plan.step.path) != plan.data
            ):
                self._index.correct(plan.step.path, plan.entry)
        self._index.finish()


def move_refs(refs: RefTransaction, updates: Sequence[RefUpdate]) -> None:
    """The instant at which the change happens."""
    refs.commit(updates)


def _end(git: Git, checkout: Checkout, journal: Journal, *, landed: bool) -> None:
    """The new index in place, or the working files back as they were; then the journal is done with."""
    if landed:
        checkout.adopt_index()
    else:
        for step in journal.steps:
            settle_file(git, checkout, step, landed=False)
    journal_path(git).unlink(missing_ok=True)


def _plan_all(
    git: Git,
    checkout: Checkout,
    staged: Mapping[str, Staged],
    moves: Sequence[PathMove],
    batch: ObjectBatch,
) -> list[Planned]:
    plans = [_plan(git, checkout, move, staged.get(move.path), batch) for move in moves]
    if any(plan.step.file_before not in {None, move.old} for plan, move in zip(plans, moves, strict=True)):
        batch.flush()  # what the user has must be readable before we write over it
    return plans


def _plan(git: Git, checkout: Checkout, move: PathMove, entry: Staged | None, batch: ObjectBatch) -> Planned:
    index_before = entry.oid if entry else None
    index_after = _plan_entry(git, move, index_before, batch)
    have = checkout.read(move.path)
    data, warning = _plan_file(git, checkout, move, have)
    if have is None and entry is not None and entry.is_skipped:
        data = warning = None  # nobody removed it: the user has told git to do without the file
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


def _plan_entry(git: Git, move: PathMove, staged: str | None, batch: ObjectBatch) -> str | None:
    """What the index is to hold: our blob, or our change merged into what the user has staged."""
    if staged in {move.old, move.new} or (staged is None and move.taken is not None):
        return move.new
    if move.taken is not None and staged == blob_id(move.taken):
        return move.new
    merged = None
    if staged and move.old and move.data is not None:
        merged = git.merge_bytes(git.blob(move.old), git.blob(staged), move.data)
    if merged is None:
        raise ConflictError(
            f"{move.path} has staged changes that this change cannot be merged into",
            f"commit them, or unstage them with `git restore --staged {move.path}`; then try again",
        )
    return batch.blob(merged)


def _plan_file(
    git: Git, checkout: Checkout, move: PathMove, have: bytes | None
) -> tuple[bytes | None, str | None]:
    """(the working file's new bytes, a warning where it is left as the user has it)."""
    if checkout.is_blocked(move.path):
        return None, f"{move.path}: not a plain file in your working copy; left as it is"
    if same(have, move.old) or have == move.data or (have is not None and have == move.taken):
        return move.data, None
    if have is not None and move.old is not None and move.data is not None:
        merged = git.merge_bytes(git.blob(move.old), have, move.data)
        if merged is not None:
            return merged, None
    gone = "your working copy has removed it" if have is None else "your working copy has other edits"
    return have, f"{move.path}: {gone}; left as it is, the change is in the commit"


def write_files(checkout: Checkout, plans: Sequence[Planned]) -> None:
    for plan in plans:
        if not plan.step.writes_file:
            continue
        if plan.data is None:
            checkout.remove(plan.step.path)
        else:
            checkout.write(plan.step.path, plan.data, plan.step.mode)
