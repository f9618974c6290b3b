"""Pi: `pi --mode json -p`.

Measured on 1.6.0: it exits 0 whatever happened, so only the `stopReason` of the last message
tells; `agent_end` may be followed by a retry, `agent_settled` is the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count, items, number
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_SESSION_LOST = "No session found"


def _arguments(job: Job) -> list[str]:
    # --approve: the instructions and skills in the working directory are ours.
    arguments = ["--mode", "json", "--print", "--approve"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, "--session", job.session_id] if job.session_id else arguments


class _Reader(JsonLinesReader):
    def __init__(self, job: Job) -> None:
        self._resumed = job.session_id is not None
        self._last: Mapping[str, Any] = {}

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR and self._resumed and _SESSION_LOST in text:
            return (Event(EventType.ERROR, text, resume_rejected=True),)
        return super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        message, call = mapping(record.get("message")), text(record.get("toolCallId"))
        match record.get("type"):
            case "session":
                return (Event(EventType.START, session_id=text(record.get("id"))),)
            case "message_end" if message.get("role") == "assistant":
                return (self._message(message),)
            case "tool_execution_start":
                return (Event(EventType.TOOL_START, tool=text(record.get("toolName")), call=call),)
            case "tool_execution_end":
                words = _words(mapping(record.get("result")))
                return (Event(EventType.TOOL_END, words, call=call),)
            case "agent_settled":
                return (self._result(record),)
        return (Event(EventType.OTHER),)

    def _message(self, message: Mapping[str, Any]) -> Event:
        self._last, usage = message, _usage(mapping(message.get("usage")))
        if message.get("stopReason") == "error":
            words = text(message.get("errorMessage")) or ""
            return Event(EventType.ERROR, words, usage=usage, reason=reasons.of_text(words))
        words = _words(message)
        return Event(EventType.MESSAGE if words else EventType.THINKING, words, usage=usage)

    def _result(self, record: Mapping[str, Any]) -> Event:
        stop = text(self._last.get("stopReason"))
        if stop == "stop" and record.get("aborted") is not True:
            return Event(EventType.RESULT)
        words = text(self._last.get("errorMessage")) or f"it stopped: {stop or 'no answer'}"
        return Event(EventType.RESULT, words, reason=reasons.of_text(words) or Reason.AGENT_FAILED)


def _words(message: Mapping[str, Any]) -> str:
    parts = (block for block in items(message.get("content")) if block.get("type") == "text")
    return "\n".join(text(block.get("text")) or "" for block in parts)


def _usage(usage: Mapping[str, Any]) -> Usage | None:
    """`input` is without the cache; a call that failed comes with zeros."""
    fresh = count(usage.get("input"))
    if not count(usage.get("totalTokens")) or fresh is None:
        return None
    return Usage(
        fresh + (count(usage.get("cacheWrite")) or 0),
        count(usage.get("cacheRead")),
        count(usage.get("output")),
        count(usage.get("reasoning")),
        number(mapping(usage.get("cost")).get("total")),
    )


def _variables(_job: Job) -> Environment:
    return {"PI_SKIP_VERSION_CHECK": "1"}


ADAPTER = Adapter(
    name="pi",
    executable="pi",
    reader=lambda job, _env: _Reader(job),
    arguments=_arguments,
    variables=_variables,
    home_variables={"PI_CODING_AGENT_DIR": ".pi/agent"},
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    minimum=(0, 80, 4),  # the first that says `agent_settled`
)
