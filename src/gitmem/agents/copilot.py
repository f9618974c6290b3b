"""GitHub Copilot CLI: `copilot --output-format json`.

Measured on 1.0.102: the session is told only by the last record, so a new one gets an id of
ours; tokens stand only in the session's own file, at the end of a run, and go on counting over a
resumed session; it goes on asking a model that limits the rate for minutes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_SIGNS_OF_LIFE = ("_delta", "_partial_result", "session.skills_loaded")
_SESSION_LOST = "No session, task, or name matched"
# The record of a run's end stands near the end of the session's file, which may be large.
_TAIL_BYTES = 1024 * 1024


def _session(job: Job) -> str:
    """A run directory is one run's own, so the id of its new session may follow from it."""
    return job.session_id or str(uuid.uuid5(uuid.NAMESPACE_URL, job.run_dir.absolute().as_uri()))


def _arguments(job: Job) -> list[str]:
    arguments = ["--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update"]
    arguments += ["--model", job.model] if job.model else []
    return [*arguments, f"--resume={job.session_id}" if job.session_id else f"--session-id={_session(job)}"]


class _Reader(JsonLinesReader):
    def __init__(self, job: Job, env: Environment) -> None:
        self._session = _session(job)
        home = env.get("COPILOT_HOME") or Path(env.get("HOME", "")) / ".copilot"
        self._file = Path(home) / "session-state" / self._session / "events.jsonl"
        self._started = False
        self._reason: Reason | None = None
        self._end = Event(EventType.OTHER)
        self._before = _total(_records(self._file)) if job.session_id else Usage(0, 0, 0, 0)

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR and _SESSION_LOST in text:
            return (Event(EventType.ERROR, text, resume_rejected=True),)
        return super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterator[Event]:
        if not self._started:
            self._started = True
            yield Event(EventType.START, session_id=self._session)
        data, kind = mapping(record.get("data")), text(record.get("type")) or ""
        match kind:
            case "assistant.message" if text(data.get("content")):
                yield Event(EventType.MESSAGE, data["content"])
            case "tool.execution_start" | "tool.execution_complete":
                yield _tool(kind, data)
            case "model.call_failure":
                yield self._failure(data)
            case "session.error":
                yield Event(EventType.ERROR, text(data.get("message")) or "", reason=self._why(data))
            case "result":
                yield self._result(record)
            case _ if kind.endswith(_SIGNS_OF_LIFE):
                yield Event(EventType.OTHER)

    def _failure(self, data: Mapping[str, Any]) -> Event:
        words = text(data.get("errorMessage")) or ""
        status = count(data.get("statusCode"))
        # Without a status no answer came, or not whole.
        self._reason = reasons.of_status(status, words) if status else Reason.NETWORK
        return Event(EventType.ERROR, f"{status or ''} {words}".strip(), reason=self._reason)

    def _why(self, data: Mapping[str, Any]) -> Reason | None:
        """The last failure of a call says more than the words for people do."""
        return self._reason or reasons.of_text(text(data.get("message")) or "")

    def _result(self, record: Mapping[str, Any]) -> Event:
        reason = None if record.get("exitCode") == 0 else Reason.AGENT_FAILED
        self._end = Event(EventType.RESULT, session_id=text(record.get("sessionId")), reason=reason)
        return self._end

    def end(self, exit_code: int) -> Iterable[Event]:
        """Its end once more, now with the tokens, which it writes down last of all."""
        del exit_code
        return (replace(self._end, usage=self._usage()),)

    def _usage(self) -> Usage:
        """The run's own record of its end is the last: another one there is an earlier run's."""
        now, before = _total(_records(self._file)[-1:]), self._before
        return Usage(
            input=_since(now.input, before.input),
            cached=_since(now.cached, before.cached),
            output=_since(now.output, before.output),
            reasoning=_since(now.reasoning, before.reasoning),
        )


def _tool(kind: str, data: Mapping[str, Any]) -> Event:
    call, name = text(data.get("toolCallId")), text(data.get("toolName"))
    if kind == "tool.execution_start":
        return Event(EventType.TOOL_START, tool=name, call=call)
    return Event(EventType.TOOL_END, text(mapping(data.get("result")).get("content")) or "", call=call)


def _since(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else max(0, now - before)


def _total(records: Sequence[bytes]) -> Usage:
    """What a session had used at the last end of a run among `records`."""
    for line in reversed(records):
        if b'"session.shutdown"' in line:
            return _total_in(line)
    return Usage()


def _total_in(line: bytes) -> Usage:
    try:
        record = mapping(json.loads(line))
    except (ValueError, RecursionError):
        return Usage()
    models = mapping(mapping(record.get("data")).get("modelMetrics"))
    return sum((_normalised(mapping(mapping(model).get("usage"))) for model in models.values()), Usage())


def _normalised(usage: Mapping[str, Any]) -> Usage:
    everything, cached = count(usage.get("inputTokens")), count(usage.get("cacheReadTokens"))
    return Usage(
        input=None if everything is None else max(0, everything - (cached or 0)),
        cached=cached,
        output=count(usage.get("outputTokens")),
        reasoning=count(usage.get("reasoningTokens")),
    )


def _records(file: Path) -> Sequence[bytes]:
    """The last records of a session's file."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            return stream.read().splitlines()
    except OSError:
        return ()


ADAPTER = Adapter(
    name="copilot",
    executable="copilot",
    reader=_Reader,
    arguments=_arguments,
    home_variables={"COPILOT_HOME": ".copilot"},
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    minimum=(1, 0, 102),  # the one that was driven
)
