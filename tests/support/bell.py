"""A named pipe on which a process tells a test that it has come to a point: no polling, no sleep."""

from __future__ import annotations

import os
import select
from pathlib import Path


class Bell:
    """`path` is for the process: `echo word > path`. A test `wait`s for what is written."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        # Open for both, so that a writer never blocks and the end of one is not the end of all.
        self._file = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def wait(self, timeout_s: float = 60) -> str:
        """The next words; fails the test when none come in time."""
        ready, _, _ = select.select([self._file], [], [], timeout_s)
        assert ready, f"nothing was written to {self.path} within {timeout_s} s"
        return os.read(self._file, 65536).decode().strip()

    def close(self) -> None:
        os.close(self._file)
