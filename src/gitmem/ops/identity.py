"""Who acts: the actor named by `--as`, else the member that git's own identity belongs to."""

from __future__ import annotations

from gitmem.core.errors import IdentityError, NotFoundError
from gitmem.core.ids import Actor, ActorKind, parse_actor
from gitmem.core.layout import slug
from gitmem.core.model import Member
from gitmem.ops.refs import actor_named
from gitmem.store.git import Git, Signature
from gitmem.store.reader import Reader

NO_IDENTITY_HINT = (
    'git config --global user.name "Your Name"\n      git config --global user.email you@example.org'
)


def who(git: Git, reader: Reader, named: str | None) -> Actor:
    """The acting actor.

    `named` is what `--as` or GITMEM_AS says. Raises UsageError where it is no actor, NotFoundError
    where there is no such agent or member, and IdentityError where git knows no name and address.
    """
    if named:
        return existing(git, reader, parse_actor(named))
    return member_for(signature(git), reader.members())


def existing(git: Git, reader: Reader, actor: Actor) -> Actor:
    """`actor`, if it has a file or is the local user, who needs none. Raises NotFoundError."""
    try:
        return actor_named(reader, str(actor))
    except NotFoundError:
        me = git.identity()
        if me is None or actor != member_for(me, reader.members()):
            raise
    return actor


def signature(git: Git) -> Signature:
    """The name and address that git commits with; IdentityError says how to set them."""
    found = git.identity()
    if found is None:
        raise IdentityError("git does not know who you are", NO_IDENTITY_HINT)
    return found


def member_for(me: Signature, members: list[Member]) -> Actor:
    """The member whose file lists this address, else one named after the person."""
    mine = me.email.casefold()
    for member in members:
        if mine in {email.casefold() for email in member.emails}:
            return Actor(ActorKind.MEMBER, member.handle)
    return Actor(ActorKind.MEMBER, handle_for(me))


def handle_for(me: Signature) -> str:
    """A handle from a name, or from the address where the name has no letter of ASCII."""
    return slug(me.name, 40) or slug(me.email.split("@")[0], 40) or "me"
