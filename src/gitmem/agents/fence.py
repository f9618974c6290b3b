"""The parent that a program is given on Linux: what the program leaves behind becomes its child.

A daemon with a session of its own and a cleaned environment can be found only by descent, and
would belong to init as soon as its parent ends. This process is a "child subreaper" (prctl(2)),
takes in every orphan of the one program, and ends when none is left. It is run by its path, in
an interpreter that knows nothing of gitmem:

    python -I -S fence.py DESCRIPTOR FOLDER PROGRAM ARGUMENT...

It writes lines to DESCRIPTOR: `started`, or `failed` and the errno, then the exit code.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
# A program may signal its whole family, and we the fence's: it must be the last to go.
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def main(descriptor: int, folder: str, argv: list[str]) -> None:
    """Start `argv` in `folder`, and wait for it and for all that it leaves."""
    os.set_inheritable(descriptor, False)
    _take_in_orphans()
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    failed, tell_failed = os.pipe()
    child = os.fork()
    if child == 0:
        _become(folder, argv, tell_failed)
    os.close(tell_failed)
    _let_go_of_pipes()
    error = os.read(failed, 16).decode()
    _say(descriptor, f"failed {error}" if error else "started")
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        if pid == child:
            _say(descriptor, str(os.waitstatus_to_exitcode(status)))


def _take_in_orphans() -> None:
    """Without it, as where Python was built without ctypes, marks and sessions must do."""
    try:
        import ctypes  # late: it may be missing
    except ImportError:
        return
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _become(folder: str, argv: list[str], tell_failed: int) -> None:
    """Be the program, in a session of its own; what Python did to signals is undone."""
    try:
        for number in (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.chdir(folder)
        os.execvpe(argv[0], argv, _environment())
    except OSError as error:
        os.write(tell_failed, str(error.errno).encode())
    finally:
        os._exit(127)


def _environment() -> dict[bytes, bytes]:
    """The variables as they were given: Python adds LC_CTYPE to os.environ in the C locale (PEP 538)."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 -- pathlib costs 10 ms
        pairs = (item.partition(b"=") for item in file.read().split(b"\0") if b"=" in item)
        return {name: value for name, _, value in pairs}


def _let_go_of_pipes() -> None:
    """The program's pipes must end with the program."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)


def _say(descriptor: int, words: str) -> None:
    try:
        os.write(descriptor, words.encode() + b"\n")
    except OSError:
        return  # whoever asked is gone; what the program left must have a parent all the same


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
