"""One unit of work = one commit, on the workspace branch, made of named paths only.

A change is collected first and computed against the branch's tip under our lock; if somebody
else's git moves the branch meanwhile it is computed again, so an `edit` is a pure function of
the bytes it is given. Every record that results is validated before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from gitmem.core.errors import ConflictError, IdentityError, InvalidDocumentError, NotFoundError
from gitmem.core.ids import Actor, ActorKind, Ref
from gitmem.core.layout import kind_of, path_problem
from gitmem.core.record import Problem, Severity
from gitmem.store import trees
from gitmem.store.checkout import Checkout
from gitmem.store.git import (
    EXECUTABLE,
    FILE,
    ZERO,
    ObjectBatch,
    RefMovedError,
    RefUpdate,
    Signature,
    TreeEntry,
)
from gitmem.store.journal import lock_path, settle
from gitmem.store.lock import exclusive
from gitmem.store.move import BranchMove, PathMove

if TYPE_CHECKING:
    from gitmem.store.workspace import Workspace

# Each round is lost only to another commit that won; so many in a row do not happen by chance.
ROUNDS_MAX = 50


class _Verb(StrEnum):
    CREATE = "create"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class _Intent:
    verb: _Verb
    transform: Callable[[bytes], bytes] = bytes
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class _Branch:
    ref: str
    files: Mapping[str, tuple[bytes, bool]]
    subject: str


@dataclass(frozen=True, slots=True)
class _Head:
    """What the parts of one commit have in common."""

    author: Signature
    committer: Signature
    message: str
    trailers: str


@dataclass(frozen=True, slots=True)
class Committed:
    """What a change became; `oid` is the tip unchanged where there was nothing to do."""

    oid: str
    paths: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class Change:
    """Collect what is to change, then `commit()` it once."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        actor: Actor,
        action: str,
        now: datetime,
        trace: str,
        author: Signature | None = None,
    ) -> None:
        self._workspace = workspace
        self._actor = actor
        self._action = action
        self._now = now
        self._trace = trace
        self._author = author
        self._intents: dict[str, _Intent] = {}
        self._guards: list[Callable[[str], None]] = []
        self._updates: list[Callable[[], RefUpdate]] = []
        self._branches: list[_Branch] = []

    def create(self, path: str, data: bytes, *, executable: bool = False) -> None:
        """Add a new file; ConflictError at commit where the path is taken."""
        self._intend(path, _Intent(_Verb.CREATE, lambda _: data, EXECUTABLE if executable else FILE))

    def write(self, path: str, data: bytes, *, executable: bool | None = None) -> None:
        """Add or replace a file; its mode stays where `executable` is None."""
        mode = None if executable is None else EXECUTABLE if executable else FILE
        self._intend(path, _Intent(_Verb.WRITE, lambda _: data, mode))

    def edit(self, path: str, transform: Callable[[bytes], bytes]) -> None:
        """Change the file's bytes on the branch by a pure function, which may be called again.

        A file that is only in the working copy yet is taken in as it stands, with the edit.
        """
        before = self._intents.get(path)
        if before is not None and before.verb is not _Verb.DELETE:
            first = before.transform
            self._intents[path] = _Intent(before.verb, lambda data: transform(first(data)), before.mode)
        else:
            self._intend(path, _Intent(_Verb.EDIT, transform))

    def delete(self, path: str) -> None:
        """Remove the file; NotFoundError at commit where there is none."""
        self._intend(path, _Intent(_Verb.DELETE))

    def guard(self, check: Callable[[str], None]) -> None:
        """Let `check(tip)` raise if the change must not go on top of that commit."""
        self._guards.append(check)

    def also_move(self, update: Callable[[], RefUpdate]) -> None:
        """Move another ref in the same step as the branch: both happen or neither."""
        self._updates.append(update)

    def also_branch(self, ref: str, files: Mapping[str, tuple[bytes, bool]], subject: str) -> None:
        """Put `files` on a new branch, one commit on top of this change, in the same step.

        Each is given as (bytes, executable).
        """
        self._branches.append(_Branch(ref, dict(files), subject))

    def _intend(self, path: str, intent: _Intent) -> None:
        reason = path_problem(path)
        if reason and intent.verb in {_Verb.CREATE, _Verb.WRITE}:
            raise InvalidDocumentError(f"{path}: {reason}", "use a name that every system can hold")
        self._intents[path] = intent

    def commit(
        self,
        subject: str,
        body: str = "",
        *,
        refs: Sequence[Ref] = (),
    ) -> Committed:
        """Make the commit. `refs` become trailers `Gitmem-Issue`, `Gitmem-Task`, `Gitmem-Run`, …

        Raises ConflictError, NotFoundError, InvalidDocumentError, LockedError, StorageError or
        IdentityError; then nothing has changed.
        """
        head = self._head(subject, body, refs)
        for _ in range(ROUNDS_MAX):
            with exclusive(lock_path(self._workspace.git)) as lock:
                settle(self._workspace)
                self._workspace.forget_checkout()  # another branch may have been checked out
                with BranchMove(self._workspace, list(self._intents), head.message, lock) as move:
                    tip = self._workspace.tip()
                    try:
                        return self._commit_once(move, tip, head)
                    except RefMovedError:
                        if self._workspace.git.ref(self._workspace.ref) == tip:
                            raise  # another ref of the same step was moved, not the branch
        raise ConflictError("the workspace branch keeps moving", "try again in a moment")

    def _commit_once(self, move: BranchMove, tip: str, head: _Head) -> Committed:
        for check in self._guards:
            check(tip)
        steps = [self._plan(tip, path, intent) for path, intent in self._intents.items()]
        moves = move.with_old_paths(tip, [step for step in steps if step])
        updates = [update() for update in self._updates]
        unseen = self._unseen({step.path for step in moves}, move)
        if not moves and not updates:
            return Committed(tip, (), unseen)
        batch = self._workspace.git.batch()
        changes = {
            m.path: TreeEntry(m.path, m.mode, batch.blob(m.data)) if m.data is not None else None
            for m in moves
        }
        tree = trees.rewrite(self._workspace.git, batch, self._workspace.git.tree_of(tip), changes)
        oid = self._commit_object(batch, tree, tip, head, head.message)
        for branch in self._branches:
            updates.append(self._branch_update(batch, branch, tree, oid, head))
        warnings = move.land([RefUpdate(self._workspace.ref, oid, tip), *updates], moves, batch)
        return Committed(oid, tuple(step.path for step in moves), (*warnings, *unseen))

    def _unseen(self, moved: Collection[str], move: BranchMove) -> tuple[str, ...]:
        """Warnings where the branch has what was asked for, but the user's own copy says otherwise."""
        found = []
        for path, intent in self._intents.items():
            if path not in moved:
                warning = move.unseen(path, intent.transform)
                found += [warning] if warning else []
        return tuple(found)

    def _branch_update(
        self, batch: ObjectBatch, branch: _Branch, tree: str, parent: str, head: _Head
    ) -> RefUpdate:
        files = {
            path: TreeEntry(path, EXECUTABLE if executable else FILE, batch.blob(data))
            for path, (data, executable) in branch.files.items()
        }
        tree = trees.rewrite(self._workspace.git, batch, tree, files)
        oid = self._commit_object(batch, tree, parent, head, f"{branch.subject}\n\n{head.trailers}\n")
        return RefUpdate(branch.ref, oid, ZERO)

    def _commit_object(self, batch: ObjectBatch, tree: str, parent: str, head: _Head, message: str) -> str:
        return batch.commit(
            tree,
            [parent],
            message,
            author=head.author,
            committer=head.committer,
            epoch_s=int(self._now.timestamp()),
        )

    def _plan(self, tip: str, path: str, intent: _Intent) -> PathMove | None:
        """What the intent means on top of `tip`; None where it changes nothing."""
        git = self._workspace.git
        entry = git.entry(tip, path)
        if entry is not None and entry.mode not in {FILE, EXECUTABLE}:
            raise InvalidDocumentError(f"{path} is not a plain file", "replace the link or folder by a file")
        if intent.verb is _Verb.CREATE and (entry is not None or self._in_the_way(path)):
            raise ConflictError(
                f"{path} exists already", "choose another name or edit the file that is there"
            )
        taken = None
        base = git.blob(entry.oid) if entry else None
        if base is None and intent.verb in {_Verb.EDIT, _Verb.DELETE}:
            base = taken = self._working_bytes(path)
            if base is None:
                raise NotFoundError(f"{path} is not there any more", "run the command again", path=path)
        data = None if intent.verb is _Verb.DELETE else intent.transform(base or b"")
        mode = intent.mode or (entry.mode if entry else FILE)
        if entry is not None and data == base and mode == entry.mode:
            return None
        if data is not None:
            _validate(path, base if entry else None, data)
        return PathMove(path, mode, entry.oid if entry else None, data, taken)

    def _working_bytes(self, path: str) -> bytes | None:
        places = self._workspace.checkout
        return Checkout(places).read(path) if places else None

    def _in_the_way(self, path: str) -> bool:
        root = self._workspace.root
        return root is not None and (root / path).exists()

    def _head(self, subject: str, body: str, refs: Sequence[Ref]) -> _Head:
        committer = self._workspace.git.identity()
        if committer is None:
            raise IdentityError(
                "git does not know who you are",
                'git config --global user.name "Your Name" && git config --global user.email you@example.org',
            )
        author = self._author or author_of(self._actor, self._workspace.config.id) or committer
        trailers = "\n".join(
            [
                f"Gitmem-Action: {self._action}",
                f"Gitmem-Actor: {self._actor}",
                f"Gitmem-Trace: {self._trace}",
                *(f"Gitmem-{ref.kind.capitalize()}: {ref.name}" for ref in dict.fromkeys(refs)),
            ]
        )
        parts = [" ".join(subject.split()), body.strip(), trailers]
        return _Head(author, committer, "\n\n".join(part for part in parts if part) + "\n", trailers)


def author_of(actor: Actor, workspace_id: str) -> Signature | None:
    """The signature of an agent or a part of the system; None for a member, who has one of their own."""
    if actor.kind is ActorKind.MEMBER:
        return None
    return Signature(actor.name, f"{actor.kind}+{actor.name}@{workspace_id}.gitmem.invalid")


def _validate(path: str, before: bytes | None, data: bytes) -> None:
    """Raise InvalidDocumentError where the record has errors that it did not have before."""
    problems = _errors(path, data)
    if problems and before is not None:
        known = {(problem.code, problem.message) for problem in _errors(path, before)}
        problems = [problem for problem in problems if (problem.code, problem.message) not in known]
    if problems:
        first = problems[0]
        raise InvalidDocumentError(
            f"{path}:{first.line}:{first.column}: {first.message}", first.hint, problems=problems
        )


def _errors(path: str, data: bytes) -> list[Problem]:
    from gitmem.store import document, schema  # late: yaml and jsonschema, only for what is written

    kind = kind_of(path)
    if kind is None:
        return []
    parsed = document.parse(data, path, whole_yaml=path.endswith(".yaml"))
    found = [*parsed.problems, *schema.problems(kind, parsed, path)]
    return [problem for problem in found if problem.severity is Severity.ERROR]
