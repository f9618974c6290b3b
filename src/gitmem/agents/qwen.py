"""Qwen Code: `qwen --output-format stream-json`, the records of Claude Code.

Measured on 0.24.4: refused connections and 429, 5xx answers are tried seven times, a minute and
a half and more, without a word, and only then told; `usage` of `result` goes on counting over a
resumed session, that of each message does not and counts the cached input in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitmem.agents import reasons, streamjson
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_SESSION_LOST = "No saved session found"


def _arguments(job: Job) -> list[str]:
    arguments = ["--output-format", "stream-json", "--yolo"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, "--resume", job.session_id] if job.session_id else arguments


class _Reader(JsonLinesReader):
    def __init__(self, job: Job) -> None:
        self._resumed = job.session_id is not None

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR and self._resumed and _SESSION_LOST in text:
            return (Event(EventType.ERROR, text, resume_rejected=True),)
        return super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        match record.get("type"):
            case "system" if record.get("subtype") == "init":
                return (Event(EventType.START, session_id=text(record.get("session_id"))),)
            case "assistant":
                return streamjson.blocks(record, _usage(mapping(record.get("message"))))
            case "user":
                return streamjson.tool_results(record)
            case "result":
                return (_result(record),)
        return (Event(EventType.OTHER),)


def _usage(message: Mapping[str, Any]) -> Usage | None:
    """The program's own words, such as those of a failure, come with zeros."""
    usage = mapping(message.get("usage"))
    everything, cached = count(usage.get("input_tokens")), count(usage.get("cache_read_input_tokens"))
    if not everything:
        return None
    return Usage(max(0, everything - (cached or 0)), cached, count(usage.get("output_tokens")))


def _result(record: Mapping[str, Any]) -> Event:
    session = text(record.get("session_id"))
    if record.get("is_error") is False and record.get("subtype") == "success":
        return Event(EventType.RESULT, text(record.get("result")) or "", session_id=session)
    words = text(mapping(record.get("error")).get("message")) or text(record.get("result")) or ""
    reason = reasons.of_text(words) or Reason.AGENT_FAILED
    return Event(EventType.RESULT, words, session_id=session, reason=reason)


def _variables(_job: Job) -> Environment:
    return {"QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}


ADAPTER = Adapter(
    name="qwen",
    executable="qwen",
    reader=lambda job, _env: _Reader(job),
    arguments=_arguments,
    variables=_variables,
    home_variables={"QWEN_HOME": ".qwen"},
    can_resume=True,
    briefs=("QWEN.md", "AGENTS.md"),
    skill_folders=(".agents/skills",),
)
