"""OpenClaw: `openclaw agent exec --json`, one turn of an agent without a gateway.

Measured on 2026.9.6: it prints one JSON document when it has ended, which says what tools ran
but not when; until then its log on stderr is all there is; such a turn has no session to go on
from. It takes about ten seconds to start.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Event, EventType, Job, Reader, Source, Usage
from gitmem.agents.values import count, number
from gitmem.core.record import mapping, text, texts
from gitmem.core.states import Reason

_FAILURE = re.compile(r" isError=true .* rawError=(.*)")
_DOCUMENT_CHARS = 32 * 1024 * 1024


def _arguments(job: Job) -> list[str]:
    # Its own limit is ten minutes; ours comes first.
    arguments = ["agent", "exec", "--json", "--timeout", str(math.ceil(job.timeout_s) + 60)]
    arguments += ["--cwd", str(job.work), "--message-file", "-"]
    return [*arguments, "--model", job.model] if job.model else arguments


class _Reader(Reader):
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._started = self._failing = False

    def line(self, text: str, source: Source) -> Iterable[Event]:
        return self._log(text) if source is Source.STDERR else self._document(text)

    def _log(self, line: str) -> Iterable[Event]:
        """A sign of life, unless it asks a failing model again, which it does for minutes."""
        failure = _FAILURE.search(line)
        if failure:
            self._failing = True
            return (Event(EventType.ERROR, failure.group(1), reason=reasons.of_text(failure.group(1))),)
        if "[model-fetch] response" in line and " status=200 " in line:
            self._failing = False
        kind = EventType.OTHER if self._started else EventType.START
        self._started = True
        return () if self._failing else (Event(kind, line),)

    def _document(self, line: str) -> Iterable[Event]:
        """The document begins with a brace that is not indented, and ends with one: the rest is noise."""
        if line.startswith("{"):
            self._lines, self._size = [], 0
        elif not self._lines:
            return (Event(EventType.OTHER, line),)
        self._size += len(line)
        if self._size > _DOCUMENT_CHARS:
            return (Event(EventType.OTHER, line),)
        self._lines.append(line)
        if not line.endswith("}"):
            return ()
        try:
            document = mapping(json.loads("\n".join(self._lines)))
        except (ValueError, RecursionError):
            return ()
        self._lines, self._size = [], 0
        return self._events(document) if "ok" in document else ()

    def _events(self, document: Mapping[str, Any]) -> Iterator[Event]:
        session = text(document.get("sessionId"))
        if not self._started:
            yield Event(EventType.START, session_id=session)
        yield from _tools(mapping(document.get("toolSummary")))
        yield replace(_result(document), session_id=session, usage=_usage(mapping(document.get("usage"))))


def _tools(summary: Mapping[str, Any]) -> Iterator[Event]:
    names = texts(summary.get("tools"))
    for index in range(min(count(summary.get("calls")) or 0, 1000)):
        name = names[min(index, len(names) - 1)] if names else None
        yield Event(EventType.TOOL_START, tool=name)
        yield Event(EventType.TOOL_END, tool=name)


def _result(document: Mapping[str, Any]) -> Event:
    if document.get("ok") is True and document.get("status") == "ok":
        return Event(EventType.RESULT, text(document.get("final")) or "")
    error = mapping(document.get("error"))
    words = text(error.get("message")) or f"status {document.get('status')}"
    return Event(EventType.RESULT, words, reason=_reason(error, words))


def _reason(error: Mapping[str, Any], words: str) -> Reason:
    if error.get("type") == "cli_error":
        return Reason.BAD_CONFIG
    if "after a provider auth/billing failure" in words:
        return Reason.AUTH  # it remembers a refused key for a while and does not ask again
    return reasons.of_text(words) or Reason.AGENT_FAILED


def _usage(usage: Mapping[str, Any]) -> Usage:
    fresh = count(usage.get("input"))
    return Usage(
        input=None if fresh is None else fresh + (count(usage.get("cacheWrite")) or 0),
        cached=count(usage.get("cacheRead")),
        output=count(usage.get("output")),
        reasoning=count(usage.get("reasoningTokens")),
        cost_usd=number(mapping(usage.get("cost")).get("total")) or None,  # 0: no price is known
    )


ADAPTER = Adapter(
    name="openclaw",
    executable="openclaw",
    reader=lambda _job, _env: _Reader(),
    arguments=_arguments,
    home_variables={"OPENCLAW_STATE_DIR": ".openclaw"},
    prints_at_start=False,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    minimum=(2026, 5, 5),  # before it, the document went to stderr
)
