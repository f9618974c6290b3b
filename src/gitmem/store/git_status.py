"""`git status`, started as early as can be: half of the time of a reading command is spent on it.

It runs on another core while Python still imports, so this module itself imports next to nothing
(`subprocess` alone would cost 5 ms).
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitmem.store.git_env import clean_environment

ARGV = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--")


class Look:
    """A look at the uncommitted files of a work tree, under way beside us."""

    def __init__(self, root: str, prefixes: Sequence[str]) -> None:
        """Raises OSError where git cannot be started."""
        self.root = root
        self.prefixes = tuple(prefixes)
        ours, theirs = os.pipe()
        try:
            self._pid = os.posix_spawnp(
                "git",
                ["git", "-C", root, *ARGV, *prefixes],
                clean_environment(),
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs, 1),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._out: int | None = ours

    def output(self) -> bytes | None:
        """What git printed; None where it failed. To be asked once."""
        assert self._out is not None
        chunks = []
        while chunk := os.read(self._out, 1 << 16):
            chunks.append(chunk)
        return b"".join(chunks) if self.close() == 0 else None

    def close(self) -> int | None:
        """End the look; gives git's exit status. A second call does nothing."""
        out, self._out = self._out, None
        if out is None:
            return None
        os.close(out)  # a git that still writes ends by this
        return os.waitpid(self._pid, 0)[1]
