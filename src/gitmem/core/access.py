"""Who may see and change what, and what a delivery may put on the branch: the rules over a `Policy`.

Every rule that can refuse is asked, and one refusal is enough ("deny wins"), so the order of
the checks decides only which reason is told. What the policy does not know is refused: an
undefined role, an unknown sensitivity level.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gitmem.core.ids import Actor, ActorKind
from gitmem.core.policy import ALWAYS_REVIEWED, Level, Policy, Right, level_of
from gitmem.core.record import Kind, Record, mapping, text, texts


@dataclass(frozen=True, slots=True)
class Item:
    """The attributes of a record that access depends on.

    `by_people`: a skill or note that no run has made, which automation never changes.
    """

    kind: Kind
    name: str
    path: str
    level: Level = Level.INTERNAL
    project: str | None = None
    creator: str | None = None
    allowed: frozenset[str] = frozenset()
    quarantined: bool = False
    by_people: bool = False


def item_of(record: Record) -> Item:
    """The access attributes of a record: its front matter, for skills `gitmem-…` in its metadata."""
    if record.kind is Kind.SKILL:
        return _skill_item(record)
    fields = record.fields
    return Item(
        kind=record.kind,
        name=record.id,
        path=record.path,
        level=level_of(fields.get("sensitivity")),
        project=text(fields.get("project")),
        creator=text(fields.get("created_by")) or text(fields.get("author")),
        allowed=frozenset(texts(fields.get("allowed"))),
        quarantined=fields.get("trust") == "quarantined",
        by_people=record.kind is Kind.KNOWLEDGE and not _made_by_run(texts(fields.get("sources"))),
    )


def _made_by_run(sources: Collection[str]) -> bool:
    return any(source.startswith("run:") for source in sources)


def _skill_item(record: Record) -> Item:
    metadata = mapping(record.fields.get("metadata"))
    allowed = text(metadata.get("gitmem-allowed")) or ""
    return Item(
        kind=record.kind,
        name=record.id,
        path=record.path,
        level=level_of(metadata.get("gitmem-sensitivity")),
        project=text(metadata.get("gitmem-project")),
        creator=text(metadata.get("gitmem-creator")),
        allowed=frozenset(allowed.replace(";", " ").split()),
        quarantined=metadata.get("gitmem-trust") == "quarantined",
        by_people=not metadata.get("gitmem-run"),
    )


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str


def decide(
    policy: Policy, actor: Actor, item: Item, right: Right = Right.READ, *, working_on: str | None = None
) -> Decision:
    """May `actor` do `right` to `item`? `working_on`: the project of the issue that an agent has in hand."""
    refusal = (
        _denied(policy, actor, item, right)
        or _quarantined(actor, item)
        or _not_granted(policy, actor, item, right)
        or _other_agents_own(actor, item)
        or _level_refuses(policy, actor, item, working_on)
    )
    if refusal:
        return Decision(False, refusal)
    return Decision(True, f"{item.level}; role {policy.role_name(actor)} may {right} {item.kind}")


def _denied(policy: Policy, actor: Actor, item: Item, right: Right) -> str | None:
    role = policy.roles.get(policy.role_name(actor))
    for denial in (*policy.grant(actor).deny, *(role.deny if role else ())):
        if right in denial.may and denial.scope.covers(item.kind, item.path):
            return f"the policy denies {actor} to {right} {item.path}"
    return None


def _quarantined(actor: Actor, item: Item) -> str | None:
    if item.quarantined and actor.kind is ActorKind.AGENT:
        return "quarantined until a person releases it"
    return None


def _not_granted(policy: Policy, actor: Actor, item: Item, right: Right) -> str | None:
    name = policy.role_name(actor)
    role = policy.roles.get(name)
    if role is None:
        return f"role {name!r} is not defined"
    if right is Right.READ and _told_to_all(actor, item):
        return None
    if right not in role.may:
        return f"role {name} may not {right}"
    if not role.scope.covers(item.kind, item.path):
        return f"role {name} may not {right} {item.kind} {item.path}"
    return None


def _told_to_all(actor: Actor, item: Item) -> bool:
    """context.md is what every agent is told, and an agent's own file is its instructions."""
    return item.kind is Kind.CONTEXT or (item.kind is Kind.AGENT and str(actor) == f"agent:{item.name}")


def _other_agents_own(actor: Actor, item: Item) -> str | None:
    """`knowledge/agent-<name>/` is one agent's own memory."""
    scope = item.name.partition("/")[0]
    if item.kind is not Kind.KNOWLEDGE or not scope.startswith("agent-") or actor.kind is not ActorKind.AGENT:
        return None
    return None if scope == f"agent-{actor.name}" else f"{scope.replace('-', ':', 1)}'s own memory"


def _level_refuses(policy: Policy, actor: Actor, item: Item, working_on: str | None) -> str | None:
    if item.level is Level.PUBLIC or actor.kind is ActorKind.SYSTEM or str(actor) == item.creator:
        return None
    role = policy.role_name(actor)
    if item.level is Level.SECRET:
        return None if role == "orchestrator" else "secret: for its creator and orchestrators"
    if item.level is Level.CONFIDENTIAL:
        named = str(actor) in item.allowed or role in item.allowed
        return None if named else f"confidential: {actor} is not among those it allows"
    return _project_refuses(policy, actor, item, working_on)


def _project_refuses(policy: Policy, actor: Actor, item: Item, working_on: str | None) -> str | None:
    if item.project is None:
        return None
    projects = _projects(policy, actor, working_on)
    if projects is None or item.project in projects:
        return None
    return f"internal to project {item.project}"


def _projects(policy: Policy, actor: Actor, working_on: str | None) -> frozenset[str] | None:
    """The actor's projects; None is all of them.

    A member for whom none are named sees all: whoever holds the clone can. An agent for which none
    are named sees the project of the issue in hand, so that one project's notes do not reach another's.
    """
    role = policy.roles.get(policy.role_name(actor))
    said = [p for p in (policy.grant(actor).projects, role.projects if role else None) if p is not None]
    if said:
        return frozenset.intersection(*said)
    if actor.kind is ActorKind.AGENT:
        return frozenset({working_on} if working_on else ())
    return None


def trusted(policy: Policy, actor: Actor) -> bool:
    """May what this actor wrote be run as a runbook or a `check:`? Only members, only by name."""
    return actor.kind is ActorKind.MEMBER and str(actor) in policy.trusted


@dataclass(frozen=True, slots=True)
class Landing:
    """Whether a delivered change goes on the branch at once, and with which status."""

    lands: bool
    status: str | None
    reason: str


def landing(policy: Policy, kind: str, actor: Actor, path: str, existing: Item | None = None) -> Landing:
    """Does a delivered change land, or wait for review?

    `kind` is a record kind, for issues `issue.new`, `issue.status` or `issue.edit`; a rule that names
    `issue` means all three. `existing` is what stands at `path` now.
    """
    if kind in ALWAYS_REVIEWED:
        return Landing(False, None, f"a change to {kind} always waits for a person")
    if existing and existing.by_people and kind in {Kind.SKILL, Kind.KNOWLEDGE}:
        return Landing(False, None, f"{kind} {existing.name} was written by people")
    for rule in policy.land:
        if rule.scope.covers(kind, path) and _is_by(policy, actor, rule.by):
            return Landing(True, rule.as_status, f"policy: {kind} by {rule.by} lands")
    return Landing(False, None, f"policy: no rule lets {kind} by {actor} land")


def _is_by(policy: Policy, actor: Actor, by: str) -> bool:
    return by in {"any", str(actor.kind), str(actor), policy.role_name(actor)}
