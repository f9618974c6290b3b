"""What people type to name things, as the typed references that files hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.core.config import WorkspaceConfig
from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.ids import Actor, ActorKind, bare_id, not_found, parse_actor
from gitmem.core.record import Kind
from gitmem.store.reader import Reader

# Typed instead of a value to take it away.
NONE = "none"

# What an issue may point at (FORMAT, "Issue": context_refs).
CONTEXT_KINDS = frozenset({Kind.ISSUE, Kind.SKILL, Kind.KNOWLEDGE, Kind.RUN, Kind.COMMENT})


def issue_ref(reader: Reader, text: str) -> str:
    """`issue:<id>` for an id, prefix, path or reference. Raises NotFoundError, AmbiguousError."""
    return f"issue:{reader.issue(text).id}"


def issue_refs(reader: Reader, items: Iterable[str]) -> list[str]:
    return sorted({issue_ref(reader, item) for item in items})


def context_ref(reader: Reader, text: str) -> str:
    """The typed reference to any record that can be context."""
    record = reader.resolve(text)
    if record.kind not in CONTEXT_KINDS:
        raise UsageError(
            f"{text} is of kind {record.kind}, which is no context",
            "refer to an issue, skill, knowledge, run or comment",
        )
    return f"{record.kind}:{record.id}"


def assignee_ref(reader: Reader, text: str, me: Actor) -> str | None:
    """The assignee that `text` names: `me`, `none`, a bare name or an actor.

    Raises NotFoundError with the nearest names where no such agent or member exists.
    """
    if text in {NONE, ""}:
        return None
    if text == "me" or text == str(me):
        return str(me)
    actor = actor_named(reader, text)
    if actor.kind is ActorKind.SYSTEM:
        raise UsageError("work is given to agents and members", "write agent:<name> or member:<handle>")
    return str(actor)


def actor_named(reader: Reader, text: str) -> Actor:
    """The actor that `text`, a bare name or an actor, names.

    Raises UsageError, and NotFoundError with the nearest names where no such agent or member exists.
    """
    agents = {agent.name for agent in reader.agents()}
    members = {member.handle for member in reader.members()}
    if ":" not in text:
        if text in agents:
            return Actor(ActorKind.AGENT, text)
        if text in members:
            return Actor(ActorKind.MEMBER, text)
        raise not_found("agent or member", text, agents | members)
    actor = parse_actor(text)
    known = {ActorKind.AGENT: agents, ActorKind.MEMBER: members}.get(actor.kind)
    if known is not None and actor.name not in known:
        raise not_found(actor.kind, actor.name, known)
    return actor


def repository_names(config: WorkspaceConfig, items: Iterable[str]) -> list[str]:
    """The names of code repositories, each known to `gitmem.yaml`."""
    known = [str(entry.get("name")) for entry in config.repositories]
    names = [name for name in items if name != NONE]
    for name in names:
        if name not in known:
            raise not_found("repository", name, known)
    return names


def same_ref(left: str, right: str) -> bool:
    """True where both name one record, whether written typed or as a bare id of an issue."""
    return bare_id(left) == bare_id(right)


def with_and_without(old: Sequence[str], add: Iterable[str], remove: Iterable[str]) -> list[str]:
    """`old` changed as a set; sorted if it was, so that two clones' additions seldom touch."""
    gone = list(remove)
    kept = [item for item in old if not any(same_ref(item, other) for other in gone)]
    new = [item for item in dict.fromkeys(add) if not any(same_ref(item, other) for other in kept)]
    if list(old) == sorted(old):
        return sorted([*kept, *new])
    return [*kept, *new]


def check_acyclic(reader: Reader, start: str, nexts: Iterable[str], relation: str) -> None:
    """Raise where following `relation` (`blocked_by` or `parent`) from `nexts` comes back to `start`."""
    seen: set[str] = set()
    todo = [bare_id(item) for item in nexts]
    while todo:
        here = todo.pop()
        if here == start:
            raise GitmemError(
                f"{relation} would form a circle through issue {start}", f"gitmem issue view {start}"
            )
        if here not in seen:
            seen.add(here)
            todo.extend(_following(reader, here, relation))


def _following(reader: Reader, issue_id: str, relation: str) -> list[str]:
    try:
        issue = reader.issue(issue_id)
    except GitmemError:
        return []  # a dangling reference; `gitmem check` shows it
    return [*issue.blocked_by] if relation == "blocked_by" else [issue.parent] if issue.parent else []
