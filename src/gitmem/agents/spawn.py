"""The one spawner: a program, its streams read line by line, and its end.

No shell; a session of its own, on Linux below a `subreaper`; stdin written and both outputs drained
by threads of their own, so that no pipe ever blocks the program for good; lines of both arrive in
one queue, bounded, so that a flood slows the program down and not fills our memory.
"""

from __future__ import annotations

import os
import queue
import secrets
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from gitmem.agents import processes, subreaper
from gitmem.agents.adapter import Source
from gitmem.agents.boundedlog import BoundedLog
from gitmem.agents.lines import LINE_BYTES_MAX, LineSplitter

STOP_GRACE_S = 5.0
_CHUNK = 256 * 1024
# Batches of lines waiting for their reader: enough to keep both sides busy.
_QUEUE_BATCHES = 4
_POLL_MS = 200
# A program that has ended is done with its output, unless what it left behind holds the pipes.
_SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Lines:
    source: Source
    lines: tuple[str, ...]
    cut: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    source: Source


@dataclass(frozen=True, slots=True)
class Exited:
    code: int


Output = Lines | Closed | Exited


class Process:
    """A running program. Use as a context manager: leaving it stops whatever is left of it.

    `next` gives what happens while it runs, `rest` what is left to read when it has ended. `pid`
    is the root of its family: its subreaper, else itself.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes | None = b"",
        stdout_log: BoundedLog | None = None,
        stderr_log: BoundedLog | None = None,
        line_limit: int = LINE_BYTES_MAX,
        stop_grace_s: float = STOP_GRACE_S,
    ) -> None:
        """Start `argv`; raises OSError where the system cannot.

        `stdin` is all that it is given; None leaves its stdin open for `send` and `close`.
        """
        self._stop_grace_s = stop_grace_s
        mark = f"GITMEM_SPAWN={secrets.token_hex(16)}"
        self._mark = mark.encode()
        self._queue: queue.Queue[Output] = queue.Queue(_QUEUE_BATCHES)
        self._open = set(Source)
        self._abandoned = threading.Event()
        self._line_limit = line_limit
        self._child, self._reports = _start(argv, cwd, {**env, "GITMEM_SPAWN": mark.partition("=")[2]})
        self.pid = self._child.pid
        self.exit_code: int | None = None
        self._input: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        if stdin is not None:
            self.send(stdin)
            self.close()
        self._threads = [
            self._thread(self._write_stdin),
            self._thread(self._drain, Source.STDOUT, stdout_log),
            self._thread(self._drain, Source.STDERR, stderr_log),
            self._thread(self._wait),
        ]

    @staticmethod
    def _thread(target: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        return thread

    def send(self, data: bytes) -> None:
        """Write to the program's stdin, some time soon."""
        self._input.put(data)

    def close(self) -> None:
        """End the program's stdin after what was sent."""
        self._input.put(None)

    def _write_stdin(self) -> None:
        stdin = self._child.stdin
        assert stdin is not None
        with suppress(OSError):  # the program may close its end, or end, without reading all
            while (data := self._input.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[stdin.write(view) :]
        with suppress(OSError):
            stdin.close()

    def _drain(self, source: Source, log: BoundedLog | None) -> None:
        pipe = self._child.stdout if source is Source.STDOUT else self._child.stderr
        assert pipe is not None
        splitter = LineSplitter(self._line_limit)
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while not self._abandoned.is_set():
            if not poll.poll(_POLL_MS):
                continue
            chunk = os.read(pipe.fileno(), _CHUNK)
            if log and chunk:
                log.write(chunk)
            self._hand_on(source, splitter.feed(chunk) if chunk else splitter.end(), splitter)
            if not chunk:
                break
        self._put(Closed(source))
        pipe.close()

    def _hand_on(self, source: Source, lines: list[str], splitter: LineSplitter) -> None:
        if lines:
            self._put(Lines(source, tuple(lines), splitter.cut))
            splitter.cut = 0

    def _wait(self) -> None:
        said = self._reports.readline() if self._reports else b""
        self.exit_code = int(said) if said else _exit_code(self._child)
        self._put(Exited(self.exit_code))

    def _put(self, output: Output) -> None:
        while not self._abandoned.is_set():
            with suppress(queue.Full):
                self._queue.put(output, timeout=_POLL_MS / 1000)
                return

    def next(self, timeout_s: float) -> Output | None:
        """What happened next, or None when nothing did within `timeout_s` seconds."""
        try:
            output = self._queue.get(timeout=timeout_s) if timeout_s > 0 else self._queue.get_nowait()
        except queue.Empty:
            return None
        if isinstance(output, Closed):
            self._open.discard(output.source)
        return output

    def rest(self, clock: Callable[[], float] = time.monotonic) -> Iterator[Lines]:
        """The lines still unread when the program has ended; stops those who hold its pipes open."""
        deadline, stopped = clock() + _SETTLE_S, False
        while self._open or self.exit_code is None:
            output = self.next(_SETTLE_S)
            if isinstance(output, Lines):
                yield output
            if output is None and stopped:
                return
            if not stopped and clock() >= deadline:
                self.stop()
                stopped = True

    def family(self) -> list[processes.Entry]:
        """The living processes of this program, its own first."""
        found = processes.family(self.pid, self._mark)
        return [entry for entry in found if entry.pid != self.pid] if self._reports else found

    def stop(self) -> list[processes.Entry]:
        """Stop the program and everything it left; returns what could not be stopped."""
        return processes.stop(self.family, self._stop_grace_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._abandoned.set()
        self.close()
        for thread in self._threads:
            thread.join(timeout=2 * _POLL_MS / 1000)
        self._reap()

    def _reap(self) -> None:
        """Only now: until here nobody else could get its pid. A subreaper ends with its last child."""
        try:
            self._child.wait(_SETTLE_S)
        except subprocess.TimeoutExpired:  # something cannot be stopped
            self._child.kill()
            self._child.wait()
        if self._reports:
            self._reports.close()


def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], BinaryIO | None]:
    """`argv` itself, or on Linux its subreaper, with what the subreaper reports; raises OSError."""
    if sys.platform != "linux":
        return _popen(argv, cwd, env), None
    ours, theirs = os.pipe()
    reports = os.fdopen(ours, "rb")
    try:
        below = [sys.executable, "-I", "-S", subreaper.__file__, str(theirs), str(cwd), *argv]
        child = _popen(below, Path("/"), env, theirs)
    except BaseException:
        reports.close()
        raise
    finally:
        os.close(theirs)
    word, _, number = reports.readline().decode().partition(" ")
    if word == "started\n":
        return child, reports
    reports.close()
    child.communicate()
    if word == "failed":
        raise OSError(int(number), os.strerror(int(number)), argv[0])
    return _popen(argv, cwd, env), None  # our own interpreter does not start in such an environment


def _popen(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], *descriptors: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=descriptors,
        bufsize=0,
    )


def _exit_code(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end of `child`, and leave it unreaped where the system lets us.

    While it is not reaped its pid, by which we find its session, cannot become another's.
    """
    if not hasattr(os, "waitid"):
        return child.wait()
    info = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert info is not None  # only WNOHANG gives None
    return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that ran to its end; `exit` None: it did not start, or ran out of time."""

    exit: int | None
    output: str
    timed_out: bool = False


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
    keep_lines: int = 400,
    clock: Callable[[], float] = time.monotonic,
) -> Finished:
    """Run a short program; `output` is the last `keep_lines` lines of both its outputs as they came."""
    kept: deque[str] = deque(maxlen=keep_lines)
    deadline = clock() + timeout_s
    try:
        process = Process(argv, cwd=cwd, env=env, stdin=stdin, line_limit=_CHUNK)
    except OSError as error:
        return Finished(None, str(error))
    with process:
        ended = False
        while not ended and clock() < deadline:
            output = process.next(deadline - clock())
            ended = isinstance(output, Exited)
            if isinstance(output, Lines):
                kept.extend(output.lines)
        if not ended:
            return Finished(None, "\n".join(kept), timed_out=True)
        for output in process.rest():
            kept.extend(output.lines)
        return Finished(process.exit_code, "\n".join(kept))
