"""A lock between our own processes that says who holds it.

`flock` is released by the kernel when its holder dies, so a lock is never stale and never
judged dead by its age.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitmem.core.errors import LockedError, StorageError

WAIT_S = 30.0
_POLL_S = 0.004


@contextmanager
def exclusive(path: Path, *, wait_s: float = WAIT_S) -> Iterator[int]:
    """Hold the lock file at `path`; `wait_s` seconds at most are waited for it.

    Gives the open file: a child that inherits it keeps the lock until it has ended too.

    Raises LockedError, naming the holder, or StorageError where the file cannot be made.
    """
    handle = _open(path)
    try:
        _acquire(handle, path, wait_s)
        _sign(handle)
        yield handle
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(
            f"cannot write to {path.parent}: {error.strerror}",
            "nothing was changed; make room or get write permission, then try again",
        ) from error


def _acquire(handle: int, path: Path, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise _held(handle, path) from None
            time.sleep(_POLL_S)
        else:
            return


def _sign(handle: int) -> None:
    """Write down who holds the lock; only words for people, so a full disk does not matter."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(holder()).encode(), 0)
    except OSError:
        return


def holder() -> dict[str, str | int]:
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": when}


def _held(handle: int, path: Path) -> LockedError:
    try:
        who = json.loads(os.pread(handle, 4096, 0))
        words = f"process {who['pid']} on {who['host']} since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        words = "another process"
    return LockedError(
        f"{path} is held by {words}", "wait until it has ended; the lock goes with its process"
    )
