"""Ids, actors and typed references.

An id is 8 characters of Crockford base32 in lower case: 40 random bits, so that among
100,000 records a new one meets an old one with probability 10⁻⁷, and no counter is shared.
"""

import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from gitmem.core.errors import AmbiguousError, NotFoundError, UsageError

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base32: no i, l, o, u
ID_LENGTH = 8
ID_PATTERN = re.compile(rf"[{ALPHABET}]{{{ID_LENGTH}}}")

# Gives n random bytes: `os.urandom` in the program, a seeded source in tests.
Entropy = Callable[[int], bytes]


def new_id(entropy: Entropy) -> str:
    """A fresh id from 40 bits of `entropy`."""
    return _encode(entropy(5))


def derived_id(*parts: str) -> str:
    """The id of a record that does not say its own: the same on every machine for the same parts."""
    import hashlib  # late: 2 ms, for files without an id only

    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return _encode(digest[:5])


def is_id(text: str) -> bool:
    return ID_PATTERN.fullmatch(text) is not None


def _encode(five_bytes: bytes) -> str:
    number = int.from_bytes(five_bytes, "big")
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(35, -1, -5))


class ActorKind(StrEnum):
    MEMBER = "member"
    AGENT = "agent"
    SYSTEM = "system"


_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Actor(NamedTuple):
    """Who did a thing: `member:<handle>`, `agent:<name>` or `system:<part>`."""

    kind: ActorKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def parse_actor(text: str) -> Actor:
    """The actor that `text` names.

    Raises UsageError where it is not `member:…`, `agent:…` or `system:…`.
    """
    kind, _, name = text.partition(":")
    if kind not in set(ActorKind) or not _NAME.fullmatch(name):
        raise UsageError(
            f"{text!r} is not an actor", "write member:<handle>, agent:<name> or system:<part>, in lower case"
        )
    return Actor(ActorKind(kind), name)


class Ref(NamedTuple):
    """A typed reference such as `issue:7k3q9d2m` or `knowledge:workspace/auth-decisions`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


REF_KINDS = frozenset({"issue", "skill", "knowledge", "agent", "member", "run", "task", "comment"})


def parse_ref(text: str) -> Ref | None:
    """The typed reference in `text`, or None where it is a bare id, a path or free text."""
    kind, colon, name = text.partition(":")
    if colon and kind in REF_KINDS and name.strip():
        return Ref(kind, name.strip())
    return None


def bare_id(text: str, kind: str = "issue") -> str:
    """`issue:7k3q9d2m` or `7k3q9d2m` → `7k3q9d2m`; other kinds of reference stay as they are."""
    ref = parse_ref(text)
    return ref.name if ref and ref.kind == kind else text


def match_prefix(prefix: str, candidates: Iterable[str], what: str) -> str:
    """The one candidate that is `prefix` or starts with it.

    Raises NotFoundError (with the nearest names) and AmbiguousError (with the candidates).
    """
    names = sorted(set(candidates))
    if prefix in names:
        return prefix
    hits = [name for name in names if prefix and name.startswith(prefix)]
    if len(hits) == 1:
        return hits[0]
    if hits:
        shown = ", ".join(hits[:8]) + (", …" if len(hits) > 8 else "")
        raise AmbiguousError(
            f"{what} {prefix!r} is ambiguous: {shown}", "type more characters of the id", candidates=hits
        )
    raise not_found(what, prefix, names)


# What to type to see the names of a kind.
_LISTED_BY = {
    "adapter": "gitmem doctor",
    "issue": "gitmem issue list -s all",
    "comment": "gitmem issue view ISSUE shows its comments",
    "task": "gitmem queue list",
    "run": "gitmem runs list",
    "skill": "gitmem skill list",
    "agent": "gitmem agent list",
    "member": "gitmem member list",
    "agent or member": "gitmem agent list and gitmem member list show them",
    "record": "give an id, the beginning of one, <kind>:<name>, or a path; gitmem issue list -s all",
    "repository": "gitmem.yaml lists the repositories, and so far none",
}
_NAMED_MAX = 8


def not_found(what: str, name: str, known: Iterable[str]) -> NotFoundError:
    """A NotFoundError that offers the nearest known names, else how to see them all."""
    import difflib  # late: 6 ms, only on this path

    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if near:
        hint: str | None = f"did you mean {', '.join(near)}?"
    elif names and len(names) <= _NAMED_MAX:
        hint = f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
    else:
        hint = _LISTED_BY.get(what)
    return NotFoundError(f"no {what} {name!r}", hint, nearest=near)
