"""`policy.yaml` as a value: roles, what actors are granted, what lands, who is trusted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from gitmem.core.ids import Actor, ActorKind
from gitmem.core.record import Kind, enum_or, mapping, text, texts


class Level(StrEnum):
    """Sensitivity, from least to most."""

    PUBLIC = "public"
    INTERNAL = "internal"
    CONFIDENTIAL = "confidential"
    SECRET = "secret"


LEVEL_RANK = {level: rank for rank, level in enumerate(Level)}


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    RUN = "run"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which items a rule is about; an empty part means all."""

    kinds: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()

    def covers(self, kind: str, path: str) -> bool:
        by_kind = not self.kinds or kind in self.kinds or kind.split(".")[0] in self.kinds
        return by_kind and (not self.paths or any(path_matches(glob, path) for glob in self.paths))


@dataclass(frozen=True, slots=True)
class Denial:
    may: frozenset[Right]
    scope: Scope


@dataclass(frozen=True, slots=True)
class Role:
    """A set of rights; `projects` None means that the role says nothing about projects."""

    may: frozenset[Right]
    scope: Scope = Scope()
    projects: frozenset[str] | None = None
    deny: tuple[Denial, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """What the policy says of one actor."""

    role: str | None = None
    projects: frozenset[str] | None = None
    deny: tuple[Denial, ...] = ()


@dataclass(frozen=True, slots=True)
class LandRule:
    """`by`: any, member, agent, an actor or a role; `as_status`: the status a skill or note lands with."""

    scope: Scope
    by: str
    as_status: str | None = None


def _role(*may: Right, kinds: Iterable[Kind] = ()) -> Role:
    return Role(frozenset(may), Scope(frozenset(str(kind) for kind in kinds)))


BUILT_IN_ROLES: Mapping[str, Role] = {
    "owner": _role(*Right),
    "maintainer": _role(Right.READ, Right.WRITE, Right.REVIEW, Right.RUN),
    "planner": _role(Right.READ, Right.WRITE),
    "coder": _role(Right.READ, Right.WRITE),
    "reviewer": _role(Right.READ, Right.WRITE, Right.REVIEW),
    "observer": _role(Right.READ),
    "orchestrator": _role(Right.READ, Right.WRITE, Right.RUN),
    "system": _role(*Right),
}

# Where policy.yaml has no `land:` (docs/running.md, "What lands, and what waits for you").
DEFAULT_LAND = (
    LandRule(Scope(frozenset({"comment", "run", "issue.status", "issue.new"})), "any"),
    LandRule(Scope(frozenset({"skill", "knowledge"})), "any", "candidate"),
)

# These steer every later run, so no rule lets a delivery change them without a person.
ALWAYS_REVIEWED = frozenset({Kind.AGENT, Kind.MEMBER, Kind.CONTEXT, Kind.POLICY, Kind.CONFIG, Kind.LIBRARIES})


@dataclass(frozen=True, slots=True)
class Policy:
    """`policy.yaml`, read leniently. `declared_roles` come from the files of members and agents."""

    roles: Mapping[str, Role] = field(default_factory=lambda: dict(BUILT_IN_ROLES))
    actors: Mapping[str, Grant] = field(default_factory=dict)
    land: tuple[LandRule, ...] = DEFAULT_LAND
    trusted: frozenset[str] = frozenset()
    require_sandbox: Level | None = None
    declared_roles: Mapping[str, str] = field(default_factory=dict)

    def grant(self, actor: Actor) -> Grant:
        return self.actors.get(str(actor), Grant())

    def role_name(self, actor: Actor) -> str:
        """The actor's role: what the policy says, else its own file, else the default of its kind.

        Where the policy names no actors at all, the workspace is one person's own and members are owners.
        """
        if actor.kind is ActorKind.SYSTEM:
            return "system"
        said = self.grant(actor).role or self.declared_roles.get(str(actor))
        if said:
            return said
        if actor.kind is ActorKind.AGENT:
            return "coder"
        return "maintainer" if self.actors else "owner"


def policy_of(fields: Mapping[str, Any], declared_roles: Mapping[str, str] | None = None) -> Policy:
    """The policy in the fields of `policy.yaml`; empty fields (no such file) give the defaults."""
    roles = {name: _role_of(value) for name, value in mapping(fields.get("roles")).items()}
    land = fields.get("land")
    level = fields.get("require_sandbox")
    return Policy(
        roles={**BUILT_IN_ROLES, **roles},
        actors={name: _grant_of(value) for name, value in mapping(fields.get("actors")).items()},
        land=tuple(map(_land_of, _mappings(land))) if isinstance(land, list) else DEFAULT_LAND,
        trusted=frozenset(texts(fields.get("trusted"))),
        require_sandbox=level_of(level) if text(level) else None,
        declared_roles=declared_roles or {},
    )


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _rights(value: Any) -> frozenset[Right]:
    return frozenset(Right(word) for word in texts(value) if word in set(Right))


def _scope_of(fields: Mapping[str, Any]) -> Scope:
    return Scope(frozenset(texts(fields.get("kinds"))), texts(fields.get("paths")))


def _projects_of(fields: Mapping[str, Any]) -> frozenset[str] | None:
    return frozenset(texts(fields["projects"])) if fields.get("projects") is not None else None


def _denials_of(value: Any) -> tuple[Denial, ...]:
    # A denial that names no right denies all of them.
    return tuple(
        Denial(_rights(item.get("may")) or frozenset(Right), _scope_of(item)) for item in _mappings(value)
    )


def _role_of(value: Any) -> Role:
    fields = mapping(value)
    return Role(
        _rights(fields.get("may")), _scope_of(fields), _projects_of(fields), _denials_of(fields.get("deny"))
    )


def _grant_of(value: Any) -> Grant:
    fields = mapping(value)
    return Grant(text(fields.get("role")), _projects_of(fields), _denials_of(fields.get("deny")))


def _land_of(fields: Mapping[str, Any]) -> LandRule:
    return LandRule(_scope_of(fields), text(fields.get("by")) or "any", text(fields.get("as")))


def level_of(value: Any) -> Level:
    """The level that a file names: nothing is internal, a word we do not know is secret."""
    return enum_or(Level, value, Level.SECRET) if value is not None else Level.INTERNAL


def highest(levels: Iterable[Level]) -> Level:
    """The level that something made from items of these levels inherits."""
    return max(levels, key=LEVEL_RANK.__getitem__, default=Level.PUBLIC)


def path_matches(pattern: str, path: str) -> bool:
    """Glob of whole paths: `*` and `?` stay within a folder, `**` crosses folders."""
    return _glob(pattern).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    regex = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(regex.get(part, re.escape(part)) for part in parts), re.DOTALL)
