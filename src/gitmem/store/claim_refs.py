"""Where claims are kept, and which tasks have one: apart from `claims`, because lists ask only this."""

from __future__ import annotations

from gitmem.store.git import Git

PREFIX = "refs/gitmem/claims/"


def claim_refs(git: Git) -> dict[str, str]:
    """Task → object id of its claim."""
    return {name.removeprefix(PREFIX): oid for name, oid in git.refs(PREFIX.rstrip("/")).items()}


def claimed(git: Git) -> frozenset[str]:
    """The ids of the tasks that a runner has claimed: `running` never stands in a file."""
    return frozenset(claim_refs(git))
