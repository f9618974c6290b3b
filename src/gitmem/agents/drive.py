"""One turn of an agent program: start it, follow its events, hold the limits, judge its end."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Flag
from typing import Any

from gitmem.agents.adapter import Adapter, Event, EventType, Job, Reader, Source, Verdict
from gitmem.agents.boundedlog import BoundedLog
from gitmem.agents.environment import environment
from gitmem.agents.registry import locate, missing_extra
from gitmem.agents.spawn import STOP_GRACE_S, Exited, Lines, Output, Process
from gitmem.agents.tally import Tally
from gitmem.core.states import Reason

# How long a program may take to exit once it has said how its turn ended; some never do.
LINGER_S = 5.0
# How soon a cancellation or a limit is noticed.
_TICK_S = 0.1
# What was already printed counts before we decide to stop, but a flood must not keep us from it.
_BACKLOG_MAX = 16
_EVENT_TEXT_MAX = 16_384
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")

# Linux takes no argument of 128 KiB or more, other systems less than twice that for all together.
_ARGUMENT_MAX = 100 * 1024
_PROMPT_FILE = ".gitmem/PROMPT.md"

EVENTS_FILE = "events.jsonl"


@dataclass(frozen=True, slots=True)
class Pace:
    """Time for one turn: a clock in seconds, and how long to wait for programs that should end."""

    clock: Callable[[], float] = time.monotonic
    stop_grace_s: float = STOP_GRACE_S
    linger_s: float = LINGER_S


def drive(
    adapter: Adapter,
    job: Job,
    *,
    cancel: Flag,
    on_event: Callable[[Event], None],
    outer: Mapping[str, str] | None = None,
    pace: Pace | None = None,
) -> Verdict:
    """Run one turn of `adapter`'s program and judge it.

    Writes `events.jsonl`, `stdout.log` and `stderr.log` in `job.run_dir`. `on_event` is called
    in this thread. When this returns, or raises what `on_event` raised, no process of the
    program is left. `outer` is our own environment.
    """
    refused = _refused(adapter, job)
    if refused:
        return refused
    outer = os.environ if outer is None else outer
    executable = locate(adapter, job.command, outer.get("PATH"))
    if executable is None:
        wanted = job.command[0] if job.command else adapter.executable
        return Verdict(Reason.NOT_INSTALLED, f"no program {wanted!r} on PATH")
    pace = pace or Pace()
    env = environment(adapter, job, outer)
    _make_home(adapter, job, env)
    job = job if adapter.prompt_on_stdin else _prompt_as_argument(job)
    with ExitStack() as stack:
        events = stack.enter_context(BoundedLog(job.run_dir / EVENTS_FILE, marker=_cut_event))
        logs = [stack.enter_context(BoundedLog(job.run_dir / f"{source}.log")) for source in Source]
        try:
            process = Process(
                [executable, *job.command[1:], *adapter.arguments(job)],
                cwd=job.work,
                env=env,
                stdin=_stdin(adapter, job),
                stdout_log=logs[0],
                stderr_log=logs[1],
                stop_grace_s=pace.stop_grace_s,
            )
        except OSError as error:
            return Verdict(_start_failure(error), f"{executable}: {error.strerror}")
        stack.enter_context(process)
        watch = _Watch(job, cancel, pace, heard=not adapter.prints_at_start)
        reader = adapter.reader(job, env)
        if adapter.converses:
            reader.begin(process)
        return _Turn(process, reader, watch, events, on_event).follow()


def _stdin(adapter: Adapter, job: Job) -> bytes | None:
    if adapter.converses:
        return None
    return job.prompt.encode(errors="replace") if adapter.prompt_on_stdin else b""


def _refused(adapter: Adapter, job: Job) -> Verdict | None:
    """Session and model come from files of the workspace and become arguments: neither may be a flag."""
    install = missing_extra(adapter)
    if install:
        words = f"the adapter {adapter.name} needs a part of gitmem that is not installed: {install}"
        return Verdict(Reason.NOT_INSTALLED, words)
    if job.session_id is not None and not _SESSION_ID.fullmatch(job.session_id):
        words = f"{job.session_id!r} is no session id"
        return Verdict(Reason.NO_TERMINAL_EVENT, words, resume_rejected=True)
    if job.model is not None and job.model.startswith("-"):
        return Verdict(Reason.BAD_CONFIG, f"{job.model!r} is no model")
    return None


def _make_home(adapter: Adapter, job: Job, env: Mapping[str, str]) -> None:
    """Some programs refuse a folder of their own that is not there."""
    if job.home is not None:
        for name in ("HOME", *adapter.home_variables):
            Path(env[name]).mkdir(parents=True, exist_ok=True)


def _prompt_as_argument(job: Job) -> Job:
    """A prompt that is too long to be an argument goes to a file, which the prompt then names."""
    prompt = job.prompt.replace("\0", "").encode(errors="replace")
    if len(prompt) > _ARGUMENT_MAX:
        path = job.work / _PROMPT_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(prompt)
        prompt = f"Your task is in the file {_PROMPT_FILE}: read all of it, then do what it says.".encode()
    return replace(job, prompt=prompt.decode())


def _start_failure(error: OSError) -> Reason:
    missing = isinstance(error, FileNotFoundError | PermissionError)
    return Reason.NOT_INSTALLED if missing else Reason.BAD_CONFIG


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why we end a program ourselves; `reason` None: it is done and only does not exit."""

    reason: Reason | None
    detail: str = ""


class _Watch:
    """The limits of one turn. Trouble that a program reports is no sign of progress."""

    def __init__(self, job: Job, cancel: Flag, pace: Pace, *, heard: bool) -> None:
        self._job, self._cancel, self._pace, self._heard = job, cancel, pace, heard
        self._start = self._last = self._last_output = pace.clock()

    def elapsed(self) -> float:
        return self._pace.clock() - self._start

    def output(self) -> None:
        self._last_output = self._pace.clock()
        if not self._heard:
            self._heard, self._last = True, self._last_output

    def event(self, event: Event) -> None:
        if event.type is not EventType.ERROR:
            self._last = self._pace.clock()

    def stop(self, tally: Tally) -> _Stop | None:
        """Whether it is time to end the program."""
        now, job = self._pace.clock(), self._job
        if tally.result:
            done = self._cancel.is_set() or now - self._last_output >= self._pace.linger_s
            done |= now - self._start >= job.timeout_s
            return _Stop(None, "stopped: it did not exit after its result") if done else None
        if self._cancel.is_set():
            return _Stop(Reason.CANCELLED, "cancelled")
        if now - self._start >= job.timeout_s:
            return _Stop(Reason.TIMEOUT_WALL, f"stopped after {job.timeout_s:g} s")
        if not self._heard:
            late = now - self._start >= job.start_timeout_s
            return _Stop(Reason.TIMEOUT_START, f"no output for {job.start_timeout_s:g} s") if late else None
        limit, doing = (
            (job.tool_timeout_s, " while a tool ran") if tally.tools_running else (job.idle_timeout_s, "")
        )
        if now - self._last >= limit:
            return _Stop(Reason.TIMEOUT_IDLE, f"no progress for {limit:g} s{doing}")
        return None


class _Turn:
    """A process, what it says, and what that adds up to."""

    def __init__(
        self,
        process: Process,
        reader: Reader,
        watch: _Watch,
        log: BoundedLog,
        on_event: Callable[[Event], None],
    ) -> None:
        self._process, self._reader, self._watch = process, reader, watch
        self._log, self._on_event = log, on_event
        self._tally = Tally()

    def follow(self) -> Verdict:
        stop = self._until_end()
        if stop:
            self._tally.close()
            self._process.stop()
        for lines in self._process.rest():
            self._take(lines)
        code = self._process.exit_code
        if stop:
            self._emit(self._reader.stopped())
            return self._tally.verdict(code, stop.reason, stop.detail)
        self._emit(self._reader.end(code if code is not None else -1))
        return self._tally.verdict(code)

    def _until_end(self) -> _Stop | None:
        """None when the program has ended by itself."""
        while True:
            output = self._process.next(_TICK_S)
            backlog = 0
            while output is not None:
                if isinstance(output, Exited):
                    return None
                self._take(output)
                backlog += 1
                output = self._process.next(0) if backlog < _BACKLOG_MAX else None
            stop = self._watch.stop(self._tally)
            if stop:
                return stop

    def _take(self, output: Output | None) -> None:
        if not isinstance(output, Lines):
            return
        self._watch.output()
        if output.source is Source.STDERR:
            self._tally.stderr(output.lines)
        self._emit(self._reader.lines(output.lines, output.source))
        if output.cut:
            self._emit([Event(EventType.OTHER, f"{output.cut} bytes of an overlong line cut")])

    def _emit(self, events: Iterable[Event]) -> None:
        for event in events:
            self._tally.add(event)
            self._watch.event(event)
            self._log.write(_json_line(event, self._watch.elapsed()))
            self._on_event(event)


def _json_line(event: Event, elapsed_s: float) -> bytes:
    """One line of `events.jsonl`: what is unknown is left out, a long text is cut."""
    text = event.text
    if len(text) > _EVENT_TEXT_MAX:
        text = f"{text[:_EVENT_TEXT_MAX]} [... {len(text) - _EVENT_TEXT_MAX} characters cut ...]"
    fields: dict[str, Any] = {
        "t": round(elapsed_s, 3),
        "type": event.type,
        "text": text,
        "tool": event.tool,
        "call": event.call,
        "session_id": event.session_id,
        "usage": event.usage.as_dict() if event.usage else None,
        "reason": event.reason,
        "retry_at": event.retry_at,
    }
    known = {name: value for name, value in fields.items() if value not in (None, "")}
    return json.dumps(known, ensure_ascii=False).encode(errors="replace") + b"\n"


def _cut_event(cut: int) -> bytes:
    return b'{"type": "cut", "bytes": %d}\n' % cut
