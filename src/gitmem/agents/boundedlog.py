"""A log file that keeps the head and the tail of what is written, within a fixed size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

HEAD_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 8 * 1024 * 1024


def _marker(cut: int) -> bytes:
    return b"[... %d bytes cut ...]\n" % cut


class BoundedLog:
    """Writes to `path`: the first `head` bytes as they come, then a ring of `tail` bytes.

    The ring lies in the file itself, so memory stays small and a crash loses nothing that the
    bound does not. `close` puts the ring in order behind `marker(bytes cut)`; lines that the
    cut falls into are cut whole. A disk that takes no more ends the log, not the run: whoever
    writes here is draining a pipe that a process waits for.
    """

    def __init__(
        self,
        path: Path,
        *,
        head: int = HEAD_BYTES,
        tail: int = TAIL_BYTES,
        marker: Callable[[int], bytes] = _marker,
    ) -> None:
        self.failed: OSError | None = None
        self._file = path.open("w+b", buffering=0)
        self._head, self._tail, self._marker = head, tail, marker
        self._written = 0

    def write(self, data: bytes) -> None:
        if self.failed:
            return
        try:
            self._write(memoryview(data))
        except OSError as error:
            self.failed = error

    def _write(self, view: memoryview) -> None:
        first = max(0, min(len(view), self._head - self._written))
        if first:
            self._put(self._written, view[:first])
        for start in range(first, len(view), self._tail):
            self._ring(view[start : start + self._tail])

    def _ring(self, piece: memoryview) -> None:
        at = (self._written - self._head) % self._tail
        first = min(len(piece), self._tail - at)
        self._put(self._head + at, piece[:first])
        if first < len(piece):
            self._put(self._head, piece[first:])

    def _put(self, offset: int, data: memoryview) -> None:
        self._file.seek(offset)
        self._file.write(data)
        self._written += len(data)

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            if self._written > self._head + self._tail and not self.failed:
                self._order()
        except OSError as error:
            self.failed = error
        self._file.close()

    def _order(self) -> None:
        at = (self._written - self._head) % self._tail
        self._file.seek(0)
        head = self._file.read(self._head)
        head = head[: head.rfind(b"\n") + 1] or head + b"\n"
        ring = self._file.read(self._tail)
        tail = ring[at:] + ring[:at]
        tail = tail[tail.find(b"\n") + 1 :]
        self._file.seek(len(head))
        self._file.write(self._marker(self._written - len(head) - len(tail)) + tail)
        self._file.truncate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
