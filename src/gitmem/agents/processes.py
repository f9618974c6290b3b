"""Which processes belong to a program that we started, and stopping exactly those.

A process group is not enough: agents' tools start sessions of their own, and their daemons
outlive them (measured on two agent programs). A process is ours if it descends from the one
we started (on Linux from its `fence`, which orphans stay below), if it is in its session, or
if it carries our mark in its environment, which also finds what has been re-parented. It is
known by pid *and* start time: pids are reused.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_POLL_S = 0.02
# After KILL a process goes as soon as the kernel gets to it; one in an uninterruptible call may not.
_GONE_S = 5.0
_EXEC_TRIES = 5
_EXEC_S = 0.002


@dataclass(frozen=True, slots=True)
class Entry:
    """A living process; `start` is opaque and tells two users of one pid apart."""

    pid: int
    parent: int
    session: int
    start: str


def table() -> dict[int, Entry]:
    """All living processes by pid; zombies have ended and are left out."""
    if not (_PROC / "self" / "stat").exists():
        return _table_of_ps()
    found = (entry_of(int(folder.name)) for folder in _PROC.iterdir() if folder.name.isdigit())
    return {entry.pid: entry for entry in found if entry}


def entry_of(pid: int) -> Entry | None:
    """The living process with this pid."""
    if not (_PROC / "self" / "stat").exists():
        return _table_of_ps().get(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # proc(5): "pid (comm) state ppid pgrp session … starttime", where comm may hold anything.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return Entry(pid, int(fields[1]), int(fields[3]), fields[19].decode())


def _table_of_ps() -> dict[int, Entry]:
    """The same where there is no /proc: POSIX `ps`, with the process group for the session."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat=,lstart="], capture_output=True, text=True, check=False
    ).stdout
    found = {}
    for line in listing.splitlines():
        pid, parent, group, state, start = line.split(None, 4)
        if not state.startswith("Z"):
            found[int(pid)] = Entry(int(pid), int(parent), int(group), start)
    return found


def family(leader: int, mark: bytes) -> list[Entry]:
    """The living processes of the program that was started as `leader`, itself first.

    `mark` is a `NAME=value` of its environment that no other process has; without /proc only
    descent and session tell. Never ourselves nor a process that we descend from.
    """
    living = table()
    ours = {pid for pid, entry in living.items() if entry.session == leader or pid == leader}
    ours |= {pid for pid, entry in living.items() if pid not in ours and _carries(entry, mark)}
    children: dict[int, list[int]] = {}
    for entry in living.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    waiting = list(ours)
    while waiting:
        fresh = [pid for pid in children.get(waiting.pop(), []) if pid not in ours]
        ours.update(fresh)
        waiting += fresh
    return [living[pid] for pid in sorted(ours - _forebears(living), key=lambda pid: (pid != leader, pid))]


def _carries(entry: Entry, mark: bytes) -> bool:
    """Whether `mark` is in its environment, which reads as empty for the moment of an exec."""
    if entry.session == 0:  # the kernel's own; what we start has a session
        return False
    for _ in range(_EXEC_TRIES):
        try:
            environment = (_PROC / str(entry.pid) / "environ").read_bytes()
        except OSError:  # gone, or another user's
            return False
        if environment:
            return mark in environment.split(b"\0")
        time.sleep(_EXEC_S)
    return False


def _forebears(living: dict[int, Entry]) -> set[int]:
    found = {0, 1}
    pid = os.getpid()
    while pid not in found:
        found.add(pid)
        pid = living[pid].parent if pid in living else 0
    return found


def is_alive(entry: Entry) -> bool:
    now = entry_of(entry.pid)
    return now is not None and now.start == entry.start


def send(entry: Entry, number: signal.Signals) -> None:
    """Signal the very process of `entry`, never a later one with its pid."""
    if is_alive(entry):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(entry.pid, number)


def stop(
    find: Callable[[], Iterable[Entry]], grace_s: float, clock: Callable[[], float] = time.monotonic
) -> list[Entry]:
    """End the processes that `find` gives: TERM, up to `grace_s` seconds, KILL.

    They are listed before the first signal, because a child of a process that has ended can no
    longer be found by descent, and again after it, because an ending process may start others.
    Returns those that are still alive; normally none.
    """
    known = {entry.pid: entry for entry in find()}
    for entry in known.values():
        send(entry, signal.SIGTERM)
        send(entry, signal.SIGCONT)  # a stopped process takes its TERM only when it continues
    alive = _wait_for_end(known, find, clock() + grace_s, clock)
    deadline = clock() + _GONE_S
    while alive and clock() < deadline:
        for entry in alive:
            send(entry, signal.SIGKILL)
        alive = _wait_for_end(known, find, min(deadline, clock() + 10 * _POLL_S), clock)
    return alive


def _wait_for_end(
    known: dict[int, Entry],
    find: Callable[[], Iterable[Entry]],
    deadline: float,
    clock: Callable[[], float],
) -> list[Entry]:
    while True:
        alive = [entry for entry in known.values() if is_alive(entry)]
        if not alive or clock() >= deadline:
            known.update((entry.pid, entry) for entry in find())
            alive = [entry for entry in known.values() if is_alive(entry)]
            if not alive or clock() >= deadline:
                return alive
        time.sleep(_POLL_S)
