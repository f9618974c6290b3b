"""A stream to the screen whose failing is told apart from that of a file of the workspace."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, TextIO

from gitmem.core.errors import GitmemError


class OutputError(GitmemError):
    """What was to be printed could not be; whatever was done before stays done."""

    kind: ClassVar[str] = "output"


class Output:
    """`stream`, raising what `failed` makes of an OSError; a reader that is gone stays BrokenPipeError."""

    def __init__(self, stream: TextIO, failed: Callable[[OSError], OutputError]) -> None:
        self._stream = stream
        self._failed = failed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from error

    def settle(self) -> None:
        """Flush, and point a broken stream nowhere, so that Python's own last flush stays quiet."""
        try:
            self._stream.flush()
        except OSError:
            with suppress(OSError):  # a stream of a test has no descriptor
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
