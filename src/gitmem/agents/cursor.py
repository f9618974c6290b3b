"""Cursor's CLI: `cursor-agent -p --output-format stream-json`.

Not driven here: it cannot be installed without an account. Written from its recorded streams:
a `result` is the end, after which its worker lingers; a call's id may have a second line; lines
may carry the name of the stream that they come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitmem.agents import reasons, streamjson
from gitmem.agents.adapter import Adapter, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason


def _arguments(job: Job) -> list[str]:
    arguments = ["-p", "--output-format", "stream-json", "--yolo"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, "--resume", job.session_id] if job.session_id else arguments


class _Reader(JsonLinesReader):
    def line(self, text: str, source: Source) -> Iterable[Event]:
        return super().line(text.removeprefix("stdout:").removeprefix("stderr:"), source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        session = text(record.get("session_id"))
        match record.get("type"):
            case "system" if record.get("subtype") == "init":
                return (Event(EventType.START, session_id=session),)
            case "assistant":
                return streamjson.blocks(record, None)
            case "thinking":
                return (Event(EventType.THINKING, text(record.get("text")) or "", session_id=session),)
            case "tool_call":
                return (_tool(record, session),)
            case "result":
                return (_result(record, session),)
        return (Event(EventType.OTHER, session_id=session),)


def _tool(record: Mapping[str, Any], session: str | None) -> Event:
    kind = EventType.TOOL_END if record.get("subtype") == "completed" else EventType.TOOL_START
    call = (text(record.get("call_id")) or "").partition("\n")[0]
    name = next(iter(mapping(record.get("tool_call"))), "").removesuffix("ToolCall")
    return Event(kind, tool=name or None, call=call or None, session_id=session)


def _result(record: Mapping[str, Any], session: str | None) -> Event:
    """Its own text runs all that the agent said together, so the last message is the answer."""
    if record.get("is_error") is False:
        return Event(EventType.RESULT, session_id=session, usage=_usage(mapping(record.get("usage"))))
    words = text(record.get("result")) or ""
    reason = reasons.of_text(words) or Reason.AGENT_FAILED
    return Event(EventType.RESULT, words, session_id=session, reason=reason)


def _usage(usage: Mapping[str, Any]) -> Usage:
    fresh = count(usage.get("inputTokens"))
    return Usage(
        input=None if fresh is None else fresh + (count(usage.get("cacheWriteTokens")) or 0),
        cached=count(usage.get("cacheReadTokens")),
        output=count(usage.get("outputTokens")),
    )


ADAPTER = Adapter(
    name="cursor",
    executable="cursor-agent",
    reader=lambda _job, _env: _Reader(),
    arguments=_arguments,
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".cursor/skills",),
)
