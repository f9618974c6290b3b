"""What the runner waits on: the bell, its agents, a signal, or the time."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.runner.active import Finished, Progress


@dataclass(frozen=True, slots=True)
class Rang:
    """Something may have changed in the workspace, or the runner is to stop."""


Mail = Rang | Finished | Progress


class Mailbox:
    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Mail] = queue.SimpleQueue()

    def ring(self) -> None:
        self._queue.put(Rang())

    def post(self, mail: Mail) -> None:
        self._queue.put(mail)

    def wait(self, timeout_s: float) -> Iterator[Mail]:
        """What has come, after at most `timeout_s` seconds; nothing where nothing came."""
        try:
            yield self._queue.get(timeout=max(0.0, timeout_s))
            while True:
                yield self._queue.get_nowait()
        except queue.Empty:
            return
