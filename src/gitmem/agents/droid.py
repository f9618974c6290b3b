"""Factory Droid: `droid exec -o stream-json`.

Measured on 0.215.0: `completion` counts tokens over all turns of a session; a failing model is
asked again without a word, so that only our own limits end it; a session id that it does not
know becomes the id of a new session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason


def _arguments(job: Job) -> list[str]:
    arguments = ["exec", "--output-format", "stream-json", "--skip-permissions-unsafe"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, "--session-id", job.session_id] if job.session_id else arguments


def _variables(_job: Job) -> Environment:
    return {"FACTORY_DROID_AUTO_UPDATE_ENABLED": "false"}


class _Reader(JsonLinesReader):
    def __init__(self, job: Job, env: Environment) -> None:
        self._before = _used_before(job.session_id, env) if job.session_id else Usage(0, 0, 0)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        session, words = text(record.get("session_id")), text(record.get("text")) or ""
        match record.get("type"):
            case "system" if record.get("subtype") == "init":
                return (Event(EventType.START, session_id=session),)
            case "message" if record.get("role") == "assistant":
                return (Event(EventType.MESSAGE, words, session_id=session),)
            case "tool_call":
                name, call = text(record.get("toolName")), text(record.get("id"))
                return (Event(EventType.TOOL_START, tool=name, call=call, session_id=session),)
            case "tool_result":
                words, call = text(record.get("value")) or "", text(record.get("id"))
                return (Event(EventType.TOOL_END, words, call=call, session_id=session),)
            case "error":
                return (_error(record, session),)
            case "completion":
                return (self._completion(record, session),)
        return (Event(EventType.OTHER, session_id=session),)

    def _completion(self, record: Mapping[str, Any], session: str | None) -> Event:
        words, total = text(record.get("finalText")) or "", mapping(record.get("usage"))
        written = count(total.get("cache_creation_input_tokens")) or 0
        usage = Usage(
            input=_since(total.get("input_tokens"), self._before.input, written),
            cached=_since(total.get("cache_read_input_tokens"), self._before.cached),
            output=_since(total.get("output_tokens"), self._before.output),
        )
        return Event(EventType.RESULT, words, session_id=session, usage=usage)


def _error(record: Mapping[str, Any], session: str | None) -> Event:
    """The loop's own error says why; the one of `cli` ends the run."""
    words = text(record.get("message")) or ""
    if record.get("source") == "cli":
        found = reasons.of_text(words) or Reason.AGENT_FAILED
        return Event(
            EventType.RESULT, "" if words == "Exec failed" else words, session_id=session, reason=found
        )
    return Event(EventType.ERROR, words, session_id=session, reason=reasons.of_text(words))


def _since(total: Any, before: int | None, more: int = 0) -> int | None:
    """This turn's part of a session's total; None where that cannot be known."""
    now = count(total)
    return None if now is None or before is None else max(0, now + more - before)


def _used_before(session_id: str, env: Environment) -> Usage:
    """What the session had used before this turn, as its own file says."""
    folder = Path(env.get("HOME", "")) / ".factory" / "sessions"
    for path in folder.glob(f"*/{session_id}.settings.json"):
        try:
            used = mapping(mapping(json.loads(path.read_bytes())).get("tokenUsage"))
        except (OSError, ValueError, RecursionError):
            return Usage()
        fresh, written = count(used.get("inputTokens")), count(used.get("cacheCreationTokens"))
        return Usage(
            input=None if fresh is None else fresh + (written or 0),
            cached=count(used.get("cacheReadTokens")),
            output=count(used.get("outputTokens")),
        )
    return Usage()


ADAPTER = Adapter(
    name="droid",
    executable="droid",
    reader=_Reader,
    arguments=_arguments,
    variables=_variables,
    can_resume=True,
    briefs=("AGENTS.md", "CLAUDE.md"),
    skill_folders=(".agents/skills",),
    minimum=(0, 215, 0),  # the one that was driven
)
