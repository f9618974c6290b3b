"""Agents and members: one file each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.core.errors import UsageError
from gitmem.core.ids import Ref
from gitmem.core.layout import agent_path, is_made_name, member_path
from gitmem.core.model import Agent, Member, agent_of, member_of
from gitmem.core.record import Kind, Record
from gitmem.ops.desk import Desk, Done
from gitmem.store import document
from gitmem.store.git import blob_id

# FORMAT, "Agent": what an unattended agent may spend before a person is asked.
DEFAULT_BUDGET = {"runs_per_issue_day": 3, "tokens_per_day": 2_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    name: str
    adapter: str
    model: str | None = None
    command: Sequence[str] = ()
    skills: Sequence[str] = ()
    env: Sequence[str] = ()
    instructions: str = ""


def create_agent(desk: Desk, new: NewAgent) -> Done[Agent]:
    """Add an agent. Raises UsageError for an unfit name, NotFoundError for a skill, ConflictError."""
    path = agent_path(clean_name(new.name))
    with desk.reader() as reader:
        skills = sorted({reader.skill(name).name for name in new.skills})
    fields = agent_fields(new, skills)
    data = agent_file(new, skills)
    change = desk.change("agent.create")
    change.create(path, data)
    committed = change.commit(f"agent {new.name}: added", refs=[Ref("agent", new.name)])
    record = Record(Kind.AGENT, new.name, path, blob_id(data), fields, new.instructions)
    return Done(agent_of(record), committed)


def agent_file(new: NewAgent, skills: Sequence[str]) -> bytes:
    body = new.instructions.strip("\n")
    return document.render(agent_fields(new, skills), f"{body}\n" if body else "")


def agent_fields(new: NewAgent, skills: Sequence[str]) -> dict[str, Any]:
    """Every common key of an agent, so that two clones' later edits do not meet."""
    return {
        "name": new.name,
        "adapter": new.adapter,
        "model": new.model,
        "command": list(new.command) or None,
        "skills": list(skills),
        "role": "coder",
        "max_concurrent": 2,
        "home": "real",
        "account": None,
        "timeout_s": 5400,
        "idle_timeout_s": 900,
        "budget": dict(DEFAULT_BUDGET),
        "review": "auto",
        "env": sorted(set(new.env)),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMember:
    handle: str
    name: str | None = None
    emails: Sequence[str] = ()
    role: str | None = None
    body: str = ""


def create_member(desk: Desk, new: NewMember) -> Done[Member]:
    """Add a person. Raises UsageError for an unfit handle or an address that another member has."""
    path = member_path(clean_name(new.handle))
    with desk.reader() as reader:
        for email in new.emails:
            other = reader.member_by_email(email)
            if other is not None:
                raise UsageError(f"{email} is the address of member:{other.handle}")
    data = member_file(new)
    change = desk.change("member.create")
    change.create(path, data)
    committed = change.commit(f"member {new.handle}: added", refs=[Ref("member", new.handle)])
    record = Record(Kind.MEMBER, new.handle, path, blob_id(data), member_fields(new), new.body)
    return Done(member_of(record), committed)


def member_file(new: NewMember) -> bytes:
    body = new.body.strip("\n")
    return document.render(member_fields(new), f"{body}\n" if body else "")


def member_fields(new: NewMember) -> dict[str, Any]:
    return {
        "handle": new.handle,
        "name": new.name,
        "emails": sorted(set(new.emails)),
        "role": new.role,
    }


def clean_name(name: str) -> str:
    """A name that every system can hold as a file name; UsageError says which characters may be used."""
    if not is_made_name(name) or len(name) > 64:
        raise UsageError(
            f"{name!r} is no name", "use a-z, 0-9, '.', '_' and '-', at most 64, a letter or digit first"
        )
    return name
