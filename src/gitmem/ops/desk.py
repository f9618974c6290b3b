"""What an operation works with: a workspace, who acts, the time, randomness, and a trace id."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from gitmem.core.clock import Clock, stamp
from gitmem.core.ids import Actor, Entropy, new_id
from gitmem.store.change import Change, Committed
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

T = TypeVar("T")


@dataclass
class Desk:
    """One actor at one workspace. Every operation takes it, makes one `Change`, and prints nothing."""

    ws: Workspace
    actor: Actor
    now: Clock
    entropy: Entropy
    trace: str

    def reader(self) -> Reader:
        """A reader of what is committed, and uncommitted, now; the caller closes it."""
        return Reader(self.ws)

    def change(self, action: str, when: datetime | None = None) -> Change:
        return Change(self.ws, actor=self.actor, action=action, now=when or self.now(), trace=self.trace)

    def stamp(self) -> str:
        return stamp(self.now())

    def new_id(self) -> str:
        return new_id(self.entropy)


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What an operation made or changed, and its commit; without one, or its paths, nothing changed."""

    value: T
    committed: Committed | None


def trace_id(given: str | None, entropy: Entropy) -> str:
    """The trace id that an outer run gave, else a new one: 32 lower-case hex digits (W3C Trace Context)."""
    if given and re.fullmatch(r"[0-9a-f]{32}", given):
        return given
    return entropy(16).hex()
