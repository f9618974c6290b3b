"""Bytes to whole lines."""

from __future__ import annotations

# A line of a real stream reached tens of megabytes (a resumed thread printed on one line); a
# program that never ends its line must not fill our memory.
LINE_BYTES_MAX = 64 * 1024 * 1024


class LineSplitter:
    """Splits a stream of bytes at line feeds; a carriage return before one goes with it.

    A line is decoded whole, so that a character split between two reads is not lost, and
    bytes that are no UTF-8 become U+FFFD. Of a line beyond `limit` bytes the first `limit`
    are given and the rest, up to its end, is counted in `cut`.
    """

    def __init__(self, limit: int = LINE_BYTES_MAX) -> None:
        self.cut = 0
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that `chunk` completes."""
        if self._size + len(chunk) <= self._limit:
            return self._feed_whole(chunk)
        *ended, rest = chunk.split(b"\n")
        lines = []
        for piece in ended:
            self._keep(piece)
            lines.append(self._take())
        self._keep(rest)
        return lines

    def _feed_whole(self, chunk: bytes) -> list[str]:
        """The same where no line can reach the limit: decoded at once, which is ten times as fast."""
        ended, feed, rest = chunk.rpartition(b"\n")
        lines = []
        if feed:
            text = b"".join((*self._parts, ended)).decode("utf-8", errors="replace")
            lines = text.split("\n")
            if "\r" in text:
                lines = [line.removesuffix("\r") for line in lines]
            self._parts, self._size = [], 0
        self._keep(rest)
        return lines

    def end(self) -> list[str]:
        """The last line, where the stream did not end it."""
        return [self._take()] if self._parts else []

    def _keep(self, piece: bytes) -> None:
        kept = piece[: self._limit - self._size]
        self.cut += len(piece) - len(kept)
        if kept:
            self._parts.append(kept)
            self._size += len(kept)

    def _take(self) -> str:
        line = b"".join(self._parts)
        self._parts, self._size = [], 0
        return line.removesuffix(b"\r").decode("utf-8", errors="replace")
