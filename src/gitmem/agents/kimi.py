"""Kimi Code: `kimi --output-format stream-json --prompt TEXT`.

Measured on 2.1.0: the prompt is an argument; the id of the session is in the last line, which
is the only sign that a turn ended well; a failure is told on stderr; a tool call is printed when
the tool has ended. Tokens, and that an answer broke off, which it takes for an end, are only in
its own record of the session, `agents/main/wire.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count, items
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_FAILED = "error: "


def _arguments(job: Job) -> list[str]:
    arguments = ["--output-format", "stream-json"]
    arguments += ["--model", job.model] if job.model else []
    arguments += ["--session", job.session_id] if job.session_id else []
    return [*arguments, f"--prompt={job.prompt}"]


class _Reader(JsonLinesReader):
    def __init__(self, job: Job, env: Environment) -> None:
        self._resumed = job.session_id is not None
        self._session = _Session(job, env)
        self._tool_seen = self._said_end = False

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR and text.startswith(_FAILED):
            lost = self._resumed and "not found" in text and "ession" in text
            return (Event(EventType.ERROR, text, reason=reasons.of_text(text), resume_rejected=lost),)
        return super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        match record.get("role"), record.get("type"):
            case "assistant", _:
                return _assistant(record)
            case "tool", _:
                self._tool_seen = True
                words, call = text(record.get("content")) or "", text(record.get("tool_call_id"))
                return (Event(EventType.TOOL_END, words, call=call),)
            case "meta", "system.version":
                return (Event(EventType.START),)
            case "meta", "turn.step.retrying":
                return (_retry(record),)
            case "meta", "session.resume_hint":
                self._said_end = True
                return (Event(EventType.RESULT, session_id=text(record.get("session_id"))),)
        return (Event(EventType.OTHER),)

    def end(self, exit_code: int) -> Iterator[Event]:
        """Its record is whole only now."""
        turn = self._session.turn()
        if not self._said_end or exit_code != 0:
            yield Event(EventType.OTHER, session_id=turn.session_id, usage=turn.usage)
        elif turn.broke_off:
            words = "the model's answer broke off"
            yield Event(EventType.RESULT, words, usage=turn.usage, reason=Reason.NETWORK)
        else:
            yield Event(EventType.RESULT, usage=turn.usage)

    def stopped(self) -> Iterator[Event]:
        turn = self._session.turn()
        yield Event(EventType.OTHER, session_id=turn.session_id, usage=turn.usage)
        if turn.tool_ran and not self._tool_seen:
            yield Event(EventType.TOOL_END)


def _assistant(record: Mapping[str, Any]) -> Iterator[Event]:
    words = text(record.get("content"))
    if words:
        yield Event(EventType.MESSAGE, words)
    for call in items(record.get("tool_calls")):
        name = text(mapping(call.get("function")).get("name"))
        yield Event(EventType.TOOL_START, tool=name, call=text(call.get("id")))


def _retry(record: Mapping[str, Any]) -> Event:
    words, status = text(record.get("error_message")) or "", count(record.get("status_code"))
    reason = reasons.of_status(status, words) if status else reasons.of_text(words)
    return Event(EventType.ERROR, words, reason=reason or Reason.NETWORK)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What the program's own record says of this turn."""

    session_id: str | None = None
    usage: Usage | None = None
    tool_ran: bool = False
    broke_off: bool = False


class _Session:
    """The record of the session that a job resumes or begins; nothing in it is relied on to be there."""

    def __init__(self, job: Job, env: Environment) -> None:
        home = (
            Path(env["KIMI_CODE_HOME"])
            if "KIMI_CODE_HOME" in env
            else Path(env.get("HOME", ""), ".kimi-code")
        )
        self._index = home / "session_index.jsonl"
        self._work, self._id = job.work.resolve(), job.session_id
        self._earlier = {entry.get("sessionId") for entry in _records(self._index)}
        self._sizes = {path: path.stat().st_size for path in self._files()} if job.session_id else {}

    def turn(self) -> _Recorded:
        usages, tool_ran, broke_off = [], False, False
        for path in self._files():
            for record in _records(path, self._sizes.get(path, 0)):
                event = mapping(record.get("event"))
                if record.get("type") == "usage.record":
                    usages.append(_usage(mapping(record.get("usage"))))
                tool_ran |= event.get("type") == "tool.call"
                if event.get("type") == "step.end" and path.parent.name == "main":
                    broke_off = _broke_off(event)
        usage = sum(usages, Usage())
        return _Recorded(self._id, None if usage == Usage() else usage, tool_ran, broke_off)

    def _files(self) -> list[Path]:
        """Those of the agent, `main`, and of its sub-agents."""
        for entry in _records(self._index):
            session, work = text(entry.get("sessionId")), text(entry.get("workDir"))
            if (
                self._id is None
                and session not in self._earlier
                and work
                and Path(work).resolve() == self._work
            ):
                self._id = session
            if session and session == self._id:
                return sorted(
                    Path(text(entry.get("sessionDir")) or "/nonexistent").glob("agents/*/wire.jsonl")
                )
        return []


def _records(path: Path, start: int = 0) -> Iterator[Mapping[str, Any]]:
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                try:
                    yield mapping(json.loads(line))
                except (ValueError, RecursionError):
                    continue
    except OSError:
        return


def _usage(usage: Mapping[str, Any]) -> Usage:
    """An answer that broke off comes with zeros."""
    fresh, output = count(usage.get("inputOther")), count(usage.get("output"))
    if not fresh and not output:
        return Usage()
    written = count(usage.get("inputCacheCreation")) or 0
    cached = count(usage.get("inputCacheRead"))
    return Usage(None if fresh is None else fresh + written, cached, output)


def _broke_off(step: Mapping[str, Any]) -> bool:
    """The model's own last words, its reason to finish and its tokens, never came."""
    finish = step.get("providerFinishReason") or step.get("rawFinishReason")
    return not finish and _usage(mapping(step.get("usage"))) == Usage()


def _variables(_job: Job) -> Environment:
    return {"KIMI_CODE_NO_AUTO_UPDATE": "1"}


ADAPTER = Adapter(
    name="kimi",
    executable="kimi",
    reader=_Reader,
    arguments=_arguments,
    variables=_variables,
    home_variables={"KIMI_CODE_HOME": ".kimi-code"},
    prompt_on_stdin=False,
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
)
