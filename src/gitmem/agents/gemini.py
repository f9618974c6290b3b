"""Gemini CLI: `gemini --output-format stream-json`.

Measured on 0.61.0: words come in pieces; retries are told on stderr only; the exit code of a
failed turn is the HTTP status modulo 256, and 0 after TERM or an interrupt; on TERM a tool's
processes are left behind; `output_tokens` does not contain the thoughts; nothing else than
`GEMINI.md` is read unless the user's settings name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_RETRY = re.compile(r"Attempt \d+ failed(?: with status (\d+))?")
# How it names a quota that no waiting of minutes brings back.
_QUOTA_SPENT = "TerminalQuotaError"
_SESSION_LOST = "Error resuming session"


def _arguments(job: Job) -> list[str]:
    arguments = ["--output-format", "stream-json", "--yolo"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, "--resume", job.session_id] if job.session_id else arguments


class _Reader(JsonLinesReader):
    def __init__(self, job: Job) -> None:
        self._resumed = job.session_id is not None
        self._words = ""
        self._failed = self._quota_spent = False

    def line(self, text: str, source: Source) -> Iterable[Event]:
        return self._stderr(text) if source is Source.STDERR else super().line(text, source)

    def _stderr(self, words: str) -> Iterator[Event]:
        if self._resumed and _SESSION_LOST in words:
            yield Event(EventType.ERROR, words, resume_rejected=True)
        elif _QUOTA_SPENT in words:
            self._quota_spent = True
            yield Event(EventType.ERROR, words, reason=Reason.QUOTA)
        elif retry := _RETRY.match(words):
            status = int(retry[1]) if retry[1] else None
            reason = reasons.of_status(status, words) if status else reasons.of_text(words)
            yield Event(EventType.ERROR, words, reason=reason)

    def record(self, record: Mapping[str, Any]) -> Iterator[Event]:
        if record.get("type") == "message":
            yield self._piece(record)
            return
        if self._words:
            yield Event(EventType.MESSAGE, self._words)
            self._words = ""
        yield self._other(record)

    def _piece(self, record: Mapping[str, Any]) -> Event:
        if record.get("role") == "assistant":
            self._words += text(record.get("content")) or ""
        return Event(EventType.OTHER)

    def _other(self, record: Mapping[str, Any]) -> Event:
        call = text(record.get("tool_id"))
        match record.get("type"):
            case "init":
                return Event(EventType.START, session_id=text(record.get("session_id")))
            case "tool_use":
                return Event(EventType.TOOL_START, tool=text(record.get("tool_name")), call=call)
            case "tool_result":
                return Event(EventType.TOOL_END, text(record.get("output")) or "", call=call)
            case "error" if record.get("severity") == "error":
                words = text(record.get("message")) or ""
                return Event(EventType.ERROR, words, reason=reasons.of_text(words))
            case "result":
                return self._result(record)
        return Event(EventType.OTHER)

    def _result(self, record: Mapping[str, Any]) -> Event:
        usage = _usage(mapping(record.get("stats")))
        self._failed = record.get("status") != "success"
        if not self._failed:
            return Event(EventType.RESULT, usage=usage)
        words = text(mapping(record.get("error")).get("message")) or ""
        reason = reasons.of_text(words) or Reason.AGENT_FAILED
        return Event(EventType.RESULT, words, usage=usage, reason=reason)

    def end(self, exit_code: int) -> Iterator[Event]:
        """What the words of the failure left open."""
        if self._failed and exit_code >= 144:
            reason = Reason.QUOTA if self._quota_spent else reasons.of_status(exit_code + 256)
            yield Event(EventType.ERROR, reason=reason)


def _usage(stats: Mapping[str, Any]) -> Usage | None:
    """Thoughts are only in the total. A turn that failed before any answer reports zeros."""
    everything, total = count(stats.get("input_tokens")), count(stats.get("total_tokens"))
    cached, said = count(stats.get("cached")), count(stats.get("output_tokens"))
    if not total or everything is None or said is None:
        return None
    reasoning = max(0, total - everything - said)
    return Usage(max(0, everything - (cached or 0)), cached, said + reasoning, reasoning)


def _variables(_job: Job) -> Environment:
    # Without it a folder that no person has opened before is refused.
    return {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


ADAPTER = Adapter(
    name="gemini",
    executable="gemini",
    reader=lambda job, _env: _Reader(job),
    arguments=_arguments,
    variables=_variables,
    can_resume=True,
    briefs=("GEMINI.md",),
    skill_folders=(".agents/skills",),
)
