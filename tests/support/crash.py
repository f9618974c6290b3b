"""Run a program of ours that is killed (SIGKILL) at a chosen point.

    python -m tests.support.crash WHERE MARK MODULE:FUNCTION [ARGUMENT…]

WHERE is `MODULE:NAME[.NAME]` (killed when that function has returned for the first time),
`call:N` (killed at the N-th call of a function of gitmem) or `count` (run to the end; the number
of calls goes to the file MARK). MARK is written just before the kill: proof that it was hit.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

CALLS = 0


def die(mark: str, what: str) -> None:
    Path(mark).write_text(what)
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(target: str, mark: str) -> None:
    module_name, _, name = target.partition(":")
    owner: Any = importlib.import_module(module_name)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    original = getattr(owner, last)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        die(mark, target)
        return result

    setattr(owner, last, wrapped)


def count_calls(mark: str, kill_at: int | None) -> None:
    def profile(frame: FrameType, event: str, _: Any) -> None:
        global CALLS
        if event == "call" and "/gitmem/" in frame.f_code.co_filename:
            CALLS += 1
            if kill_at == CALLS:
                die(mark, f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}")

    threading.setprofile(profile)
    sys.setprofile(profile)


def main() -> None:
    where, mark, program, *sys.argv[1:] = sys.argv[1:]
    module_name, _, function = program.partition(":")
    run = getattr(importlib.import_module(module_name), function)
    if where == "count":
        count_calls(mark, None)
    elif where.startswith("call:"):
        count_calls(mark, int(where.removeprefix("call:")))
    else:
        kill_after(where, mark)
    try:
        run()
    finally:
        sys.setprofile(None)
        if where == "count":
            Path(mark).write_text(str(CALLS))


if __name__ == "__main__":
    main()
