"""Kimi Code: `kimi --output-format stream-json --prompt TEXT`.

Measured on 2.1.0: the prompt is an argument; the id of the session is in the last line, which
is the only sign that a turn ended well; a failure is told on stderr; no tokens are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source
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
    def __init__(self, job: Job) -> None:
        self._resumed = job.session_id is not None

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
                words, call = text(record.get("content")) or "", text(record.get("tool_call_id"))
                return (Event(EventType.TOOL_END, words, call=call),)
            case "meta", "system.version":
                return (Event(EventType.START),)
            case "meta", "turn.step.retrying":
                return (_retry(record),)
            case "meta", "session.resume_hint":
                return (Event(EventType.RESULT, session_id=text(record.get("session_id"))),)
        return (Event(EventType.OTHER),)


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


def _variables(_job: Job) -> Environment:
    return {"KIMI_CODE_NO_AUTO_UPDATE": "1"}


ADAPTER = Adapter(
    name="kimi",
    executable="kimi",
    reader=lambda job, _env: _Reader(job),
    arguments=_arguments,
    variables=_variables,
    home_variables={"KIMI_CODE_HOME": ".kimi-code"},
    prompt_on_stdin=False,
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
)
