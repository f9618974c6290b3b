"""The audit log of one record, one path, or everything."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from gitmem.core.errors import NotFoundError
from gitmem.core.ids import ActorKind, Ref, is_id, parse_ref
from gitmem.ops.refs import actor_named
from gitmem.ops.view import View
from gitmem.store.history import Event, events
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace


def log(
    ws: Workspace,
    view: View,
    target: str | None = None,
    *,
    actor: str | None = None,
    action: str | None = None,
    trace: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> Iterator[Event]:
    """The events that fit, newest first, as they are read.

    `target` is a record, a path, or the id or path of what is gone. An agent is told of what it may
    read. `actor` is an actor or the bare name of one. Raises NotFoundError, also for an actor that is
    not there and did nothing, AmbiguousError.
    """
    ref, path = subject_of(ws, view.reader, target) if target else (None, None)
    found = events(
        ws,
        ref=ref,
        path=path,
        action=action,
        since=since,
    )
    if actor is not None:
        found = _by(view.reader, actor, found)
    wanted = (event for event in found if trace in (None, event.trace) and view.may_read_about(event.refs))
    return islice(wanted, limit)


def _by(reader: Reader, actor: str, found: Iterator[Event]) -> Iterator[Event]:
    """What one actor did, who may have no file any more; who did nothing must have one."""
    names = {actor} if ":" in actor else {f"{kind}:{actor}" for kind in ActorKind}
    count = 0
    for event in found:
        if event.actor in names:
            count += 1
            yield event
    if not count and not actor.startswith("unknown:"):
        actor_named(reader, actor)


def subject_of(ws: Workspace, reader: Reader, target: str) -> tuple[Ref | None, str | None]:
    """What to ask history for: a record that is there has both a reference and a path."""
    try:
        record = reader.resolve(target)
    except NotFoundError:
        ref = parse_ref(target)
        if ref is not None:
            return ref, None
        if is_id(target):
            return Ref("task", target), None  # an ended task has no file any more
        if ws.git.entry(reader.commit, target) is None and not _was_there(ws, target):
            raise
        return None, target
    return Ref(record.kind, record.id), record.path


def _was_there(ws: Workspace, path: str) -> bool:
    return next(iter(events(ws, path=path, limit=1)), None) is not None
