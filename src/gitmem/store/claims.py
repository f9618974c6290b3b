"""Claims: a runner's exclusive right to a task, as a ref that exactly one can create.

`refs/gitmem/claims/<task>` points at a blob that no other claim has (a nonce is in it). It is
created, renewed, taken over and deleted only from a known old value. It says when its lease
ends and which process holds it, so that a dead holder is told by evidence, not by age alone.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from gitmem.core.clock import parse_stamp, stamp
from gitmem.core.errors import ConflictError, GitError
from gitmem.core.ids import Entropy
from gitmem.store.claim_refs import PREFIX, claim_refs
from gitmem.store.git import ZERO, Git, RefMovedError, RefUpdate

LEASE = timedelta(minutes=10)
RENEW_EVERY = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process behind a claim, so that one on the same machine can see whether it lives."""

    runner: str
    host: str
    boot: str
    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Claim:
    """`generation` grows by one at each take-over: the fencing token of the task's runs."""

    task: str
    run: str
    attempt: int
    holder: Holder
    nonce: str
    generation: int
    expires: str
    oid: str = ""

    @property
    def ref(self) -> str:
        return PREFIX + self.task

    def deletion(self) -> RefUpdate:
        return RefUpdate(self.ref, ZERO, self.oid)


def this_process(runner: str) -> Holder:
    return Holder(runner, socket.gethostname(), boot_id(), os.getpid(), process_start(os.getpid()) or "")


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def process_start(pid: int) -> str | None:
    """When a process began, in the kernel's ticks since boot; None where it is gone or cannot be told.

    A pid is reused; a pid with its start time is not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rsplit(")", 1)[1].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def claim(
    git: Git, task: str, *, run: str, attempt: int, holder: Holder, now: datetime, entropy: Entropy
) -> Claim | None:
    """Claim the task, or None where somebody has it. A dead holder's claim is taken over."""
    held = read(git, task)
    if held is not None and not is_abandoned(held, holder, now):
        return None
    fresh = Claim(
        task=task,
        run=run,
        attempt=attempt,
        holder=holder,
        nonce=entropy(16).hex(),
        generation=held.generation + 1 if held else 1,
        expires=stamp(now + LEASE),
    )
    return _move(git, fresh, held.oid if held else ZERO)


def renew(git: Git, held: Claim, now: datetime, entropy: Entropy) -> Claim:
    """The claim with a later end. Raises ConflictError where it is no longer ours."""
    moved = _move(git, replace(held, nonce=entropy(16).hex(), expires=stamp(now + LEASE)), held.oid)
    if moved is None:
        raise ConflictError(f"the claim on task {held.task} was taken over", "its result is kept beside")
    return moved


def release(git: Git, held: Claim) -> bool:
    """Give the claim up; False where it was not ours any more."""
    try:
        git.update_refs([held.deletion()])
    except RefMovedError:
        return False
    return True


def _move(git: Git, wanted: Claim, old: str) -> Claim | None:
    oid = git.store_blob(json.dumps({k: v for k, v in asdict(wanted).items() if k != "oid"}).encode())
    try:
        git.update_refs([RefUpdate(wanted.ref, oid, old)])
    except RefMovedError:
        return None
    return replace(wanted, oid=oid)


def read(git: Git, task: str) -> Claim | None:
    """The claim on a task as it stands, None where there is none."""
    oid = git.ref(PREFIX + task)
    return _parse(git, task, oid) if oid else None


def read_all(git: Git) -> list[Claim]:
    return [_parse(git, task, oid) for task, oid in claim_refs(git).items()]


def _parse(git: Git, task: str, oid: str) -> Claim:
    """The claim in a blob; an unreadable one has nobody behind it and ends at once."""
    try:
        said = json.loads(git.blob(oid))
        return Claim(**{**said, "holder": Holder(**said["holder"]), "oid": oid, "task": task})
    except (GitError, ValueError, TypeError, KeyError):
        nobody = Holder("unknown", "", "", 0, "")
        return Claim(task, "", 0, nobody, "", 0, stamp(datetime.min.replace(year=1970)), oid)


def is_alive(holder: Holder) -> bool | None:
    """Whether the process lives, as far as this machine can tell; None for another machine."""
    if holder.host != socket.gethostname():
        return None
    if holder.boot != boot_id():
        return False
    return process_start(holder.pid) == holder.started


def is_abandoned(held: Claim, observer: Holder, now: datetime) -> bool:
    """True with evidence that the holder cannot deliver.

    On the same machine: its process is gone. On another: the lease is over by two more lease
    periods, so that clocks may differ by twice the lease.
    """
    alive = is_alive(held.holder) if held.holder.host == observer.host else None
    if alive is not None:
        return not alive
    expires = parse_stamp(held.expires)
    return expires is None or now > expires + 2 * LEASE
