"""opencode: `opencode run --format json`.

Measured on 1.18.33: no record ends the turn: its last `step_finish` looks like that of a summary
that it makes on the way, so the log or its exit tells the end; a tool is printed only when it has
ended; tokens come step by step, output without its reasoning. A failing
model is asked again for ever, of which only the log on stderr speaks, and a reply that breaks
off is a step that ended for an `unknown` reason, after which it goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count, number
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_SESSION = re.compile(r"\bsession\.id=(\S+)")
_STEP = re.compile(r" message=loop .*\bstep=(\d+)")
_ERROR = re.compile(r' level=ERROR .* error(?:\.error)?="((?:[^"\\]|\\.)*)"')


def _arguments(job: Job) -> list[str]:
    # The log is the only place where a session, a tool that runs and a failing model are told.
    arguments = ["run", "--format", "json", "--auto", "--print-logs", "--log-level", "INFO"]
    arguments += ["--model", job.model] if job.model else []
    arguments += ["--session", job.session_id] if job.session_id else []
    return arguments


def _variables(_job: Job) -> Environment:
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1"}


class _Reader(JsonLinesReader):
    def __init__(self) -> None:
        self._session: str | None = None
        self._total = Usage()
        self._said: list[str] = []  # in this step, whose end tells whether it is whole
        self._broken = False  # the last step was not whole: a new one is no progress yet
        self._tool_told = False  # that it runs, by the log
        self._step = self._steps_ended = 0
        self._last: Event | None = None  # the result, if the turn ends with the last step
        self._at_end = False

    def line(self, text: str, source: Source) -> Iterable[Event]:
        return self._log(text) if source is Source.STDERR else super().line(text, source)

    def _log(self, line: str) -> Iterator[Event]:
        found = _SESSION.search(line)
        if found:
            yield from self._start(found.group(1))
        if step := _STEP.search(line):
            self._step = int(step.group(1))
        if f'message="exiting loop" session.id={self._session}' in line:
            self._at_end = True
            yield from self._result()
        elif " message=evaluated permission=" in line:
            yield from self._tool_runs(line)
        elif error := _ERROR.search(line):
            yield _trouble(error.group(1))
        elif "Session not found" in line:
            yield Event(EventType.ERROR, line, resume_rejected=True)
        elif line.startswith("run opencode with a message"):
            words = "it does not know its arguments, and printed its usage"
            yield Event(EventType.ERROR, words, reason=Reason.BAD_CONFIG)

    def _start(self, session: str) -> Iterator[Event]:
        if self._session is None:
            self._session = session
            yield Event(EventType.START, session_id=session)

    def _tool_runs(self, line: str) -> Iterator[Event]:
        """The log and the records come over two pipes: what belongs to a step that has ended is late."""
        if not self._tool_told and self._steps_ended <= self._step:
            self._tool_told = True
            yield Event(EventType.TOOL_START, tool=line.partition("permission=")[2].partition(" ")[0])

    def _result(self) -> Iterator[Event]:
        if self._last and self._at_end:
            yield self._last
            self._last = None

    def end(self, exit_code: int) -> Iterable[Event]:
        self._at_end |= exit_code == 0
        return self._result()

    def record(self, record: Mapping[str, Any]) -> Iterator[Event]:
        session = text(record.get("sessionID"))
        if session:
            yield from self._start(session)
        part = mapping(record.get("part"))
        match record.get("type"):
            case "text":
                self._said.append(text(part.get("text")) or "")
            case "tool_use":
                yield from self._tool(part)
            case "step_finish":
                yield from self._step_ends(part)
            case "error":
                yield _error(mapping(record.get("error")))
            case _ if not self._broken:
                yield Event(EventType.OTHER)

    def _tool(self, part: Mapping[str, Any]) -> Iterator[Event]:
        self._broken = False
        name, call = text(part.get("tool")), text(part.get("callID"))
        state = mapping(part.get("state"))
        if self._tool_told:
            call, self._tool_told = None, False
        else:
            yield Event(EventType.TOOL_START, tool=name, call=call)
        words = text(state.get("output")) or text(state.get("error")) or ""
        yield Event(EventType.TOOL_END, words, tool=name, call=call)

    def _step_ends(self, part: Mapping[str, Any]) -> Iterator[Event]:
        reason, said = part.get("reason"), self._said
        self._said, self._tool_told, self._last = [], False, None
        self._steps_ended += 1
        self._broken = reason == "unknown"
        if self._broken:
            yield Event(EventType.ERROR, "the model's reply broke off", reason=Reason.NETWORK)
            return
        self._total += _usage(part)
        for words in said[-1:]:
            # Words beside a tool call are narration.
            kind = EventType.THINKING if reason == "tool-calls" else EventType.MESSAGE
            yield Event(kind, words)
        yield Event(EventType.OTHER, usage=_usage(part))
        if reason == "tool-calls":
            return
        failed = None if reason == "stop" else Reason.AGENT_FAILED
        words = f"the model's last step ended for the reason {reason!r}" if failed else ""
        self._last = Event(EventType.RESULT, words, usage=self._total, reason=failed)
        yield from self._result()


def _usage(part: Mapping[str, Any]) -> Usage:
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    fresh, words, reasoning = (count(tokens.get(name)) for name in ("input", "output", "reasoning"))
    return Usage(
        input=None if fresh is None else fresh + (count(cache.get("write")) or 0),
        cached=count(cache.get("read")),
        output=None if words is None else words + (reasoning or 0),
        reasoning=reasoning,
        cost_usd=number(part.get("cost")) or None,  # 0: it does not know the model's price
    )


def _trouble(words: str) -> Event:
    return Event(EventType.ERROR, words, reason=reasons.of_text(words) or _unnamed(words))


def _unnamed(words: str) -> Reason | None:
    """What it asks again without an end is the provider's trouble."""
    if "Cannot connect to API" in words:
        return Reason.NETWORK
    return Reason.PROVIDER_ERROR if "AI_APICallError" in words else None


def _error(error: Mapping[str, Any]) -> Event:
    data = mapping(error.get("data"))
    words = text(data.get("message")) or text(error.get("name")) or ""
    status = count(data.get("statusCode"))
    reason = reasons.of_status(status, words) if status else reasons.of_text(words)
    return Event(EventType.ERROR, words, reason=reason or Reason.AGENT_FAILED)


ADAPTER = Adapter(
    name="opencode",
    executable="opencode",
    reader=lambda _job, _env: _Reader(),
    arguments=_arguments,
    variables=_variables,
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    minimum=(1, 18, 0),  # the one that was driven
)
