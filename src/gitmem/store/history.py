"""History: commits and their trailers as events, and what an edit changed, field by field.

Trailers are read, never subjects. A commit without them is an event too: somebody edited by
hand, and the address of its author says who.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

from gitmem.core.clock import stamp
from gitmem.core.ids import REF_KINDS, Ref

if TYPE_CHECKING:
    from gitmem.store.git import CommitInfo, Git
    from gitmem.store.workspace import Workspace

BODY = "body"  # the key under which `field_changes` tells changes of the text

_TRAILER = re.compile(r"([A-Za-z0-9-]+)[ \t]*:[ \t]*(.*)")
_OURS = "gitmem-"


class ByHand(StrEnum):
    """The action of a commit that gitmem did not make."""

    EDIT = "edit"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Event:
    """One commit. `actor` is an actor, or `unknown:<address>`; `time` is when it was committed."""

    commit: str
    time: str
    actor: str
    action: str
    trace: str | None
    refs: tuple[Ref, ...]
    subject: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One key of a file that one commit changed; None is a key, or a file, that was not there."""

    event: Event
    key: str
    old: Any
    new: Any


def events(
    workspace: Workspace,
    *,
    ref: Ref | None = None,
    path: str | None = None,
    actor: str | None = None,
    action: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
) -> Iterator[Event]:
    """The commits of the workspace branch as events, newest first, as they are read.

    `ref` keeps those whose trailers name it and, for an issue, that touch its comments or a
    file that begins with its id; `path` those that touch that file or folder. With both, either.
    """
    options = [workspace.tip()] if since is None else [f"--since={stamp(since)}", workspace.tip()]
    found = (event for _, event in _events(workspace, _commits(workspace.git, options, ref, path)))
    if actor is not None:
        found = (event for event in found if event.actor == actor)
    if action is not None:
        found = (event for event in found if event.action == action)
    return islice(found, limit)


def _commits(git: Git, options: Sequence[str], ref: Ref | None, path: str | None) -> Iterator[CommitInfo]:
    paths = _paths(ref, path)
    if ref is None:
        return git.log(*options, paths=paths)
    said = re.escape(ref.name)
    named = git.log(*options, "-E", "-i", f"--grep=^Gitmem-{ref.kind}: *({ref.kind}:)?{said}$")
    streams: list[Iterator[CommitInfo]] = [
        (commit for commit in named if ref in _refs(trailers(commit.message)))
    ]
    if paths:
        streams.append(git.log(*options, paths=paths))
    return _merged(streams)


def _paths(ref: Ref | None, path: str | None) -> list[str]:
    """What git calls pathspecs."""
    found = [f":(top,literal){path}"] if path is not None else []
    if ref is not None and ref.kind == "issue" and re.fullmatch(r"[a-z0-9._-]+", ref.name):
        found += [f":(top,glob)issues/**/{ref.name}-*.md", f":(top,glob)comments/*/{ref.name}/**"]
    return found


def _merged(streams: Sequence[Iterator[CommitInfo]]) -> Iterator[CommitInfo]:
    """Streams that are newest first as one, each commit once."""
    seen = set()
    for commit in heapq.merge(*streams, key=lambda commit: commit.committed, reverse=True):
        if commit.oid not in seen:
            seen.add(commit.oid)
            yield commit


def _events(workspace: Workspace, commits: Iterator[CommitInfo]) -> Iterator[tuple[CommitInfo, Event]]:
    people: Mapping[str, str] | None = None
    for commit in commits:
        said = trailers(commit.message)
        who = said.get("actor", [""])[-1]
        if not who:
            people = _members(workspace) if people is None else people
            who = _author(commit.author.email, people, workspace.config.id)
        by_hand = ByHand.MERGE if len(commit.parents) > 1 else ByHand.EDIT
        yield (
            commit,
            Event(
                commit=commit.oid,
                time=commit.committed,
                actor=who,
                action=said.get("action", [by_hand])[-1],
                trace=said.get("trace", [None])[-1],
                refs=_refs(said),
                subject=commit.message.lstrip("\n").split("\n", 1)[0],
            ),
        )


def trailers(message: str) -> dict[str, list[str]]:
    """Our trailers: `Gitmem-Action: x` as `{"action": ["x"]}`.

    They are the last paragraph, where every line is one, as `git interpret-trailers` demands of
    a paragraph that no tool has made: text in a body that looks like one is not taken for it.
    """
    head, _, last = message.rstrip().rpartition("\n\n")
    found: dict[str, list[str]] = {}
    if not head.strip():
        return {}
    for line in last.splitlines():
        match = _TRAILER.fullmatch(line)
        if match is None and not line.startswith((" ", "\t", "(cherry picked from commit")):
            return {}
        if match is not None and match[1].lower().startswith(_OURS):
            found.setdefault(match[1].lower().removeprefix(_OURS), []).append(match[2].strip())
    return found


def _refs(said: Mapping[str, Sequence[str]]) -> tuple[Ref, ...]:
    return tuple(
        Ref(kind, name.removeprefix(f"{kind}:"))
        for kind, names in said.items()
        if kind in REF_KINDS
        for name in names
        if name
    )


def _members(workspace: Workspace) -> dict[str, str]:
    """Address → `member:<handle>`."""
    from gitmem.store.reader import Reader  # late: only where a commit was made by hand

    with Reader(workspace) as reader:
        return {
            email.casefold(): f"member:{member.handle}"
            for member in reader.members()
            for email in member.emails
        }


def _author(email: str, people: Mapping[str, str], workspace_id: str) -> str:
    made = re.fullmatch(rf"(agent|system)\+(.+)@{re.escape(workspace_id)}\.gitmem\.invalid", email)
    if made:
        return f"{made[1]}:{made[2]}"
    return people.get(email.casefold(), f"unknown:{email}")


def field_changes(workspace: Workspace, path: str, *, limit: int | None = None) -> Iterator[FieldChange]:
    """What each commit changed in the record at `path`, newest first; the body is the key `body`.

    A merge is compared with its first parent. A file that was moved here begins with the move.
    """
    git = workspace.git
    commits = git.log(workspace.tip(), paths=_paths(None, path))
    return islice(_field_changes(workspace, git, commits, path), limit)


def _field_changes(
    workspace: Workspace, git: Git, commits: Iterator[CommitInfo], path: str
) -> Iterator[FieldChange]:
    for commit, event in _events(workspace, commits):
        new = _said(git, commit.oid, path)
        old = _said(git, commit.parents[0], path) if commit.parents else {}
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) != new.get(key):
                yield FieldChange(event, key, old.get(key), new.get(key))


def _said(git: Git, commit: str, path: str) -> dict[str, Any]:
    """Every key of the file and its body; empty where it was not there or not readable."""
    from gitmem.store import document  # late: imports yaml

    entry = git.entry(commit, path)
    if entry is None or entry.mode not in {"100644", "100755"}:
        return {}
    parsed = document.parse(git.blob(entry.oid), path, whole_yaml=path.endswith(".yaml"))
    return {**parsed.fields, BODY: parsed.body} if parsed.body else dict(parsed.fields)
