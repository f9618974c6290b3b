"""Codex CLI: `codex exec --json`.

Measured on 0.171.0: an `item` of type error is a warning, only `turn.failed` ends the turn; a
refused connection is retried for ever, so our own limits end it; `usage` counts the cached
input in and goes on counting over a resumed thread; a tool's `item.started` may be printed
after the tool has begun, and not at all for a command that the sandbox blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gitmem.agents import reasons
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import count
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_NOT_TOOLS = frozenset({"agent_message", "reasoning", "todo_list", "error"})
_SANDBOX_FLAGS = ("-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox", "--yolo")
# The last token count stands near the end of a thread's file, which may be very large.
_ROLLOUT_TAIL = 4 * 1024 * 1024


def _arguments(job: Job) -> list[str]:
    """An agent's `command` may choose another sandbox; the default writes below the working directory."""
    chosen = any(word.split("=")[0] in _SANDBOX_FLAGS for word in job.command[1:])
    arguments = ["exec", "--json", "--skip-git-repo-check"]
    arguments += [] if chosen else ["--sandbox", "workspace-write"]
    arguments += ["--model", job.model] if job.model else []
    arguments += ["-C", str(job.work)]
    return [*arguments, "resume", job.session_id, "-"] if job.session_id else [*arguments, "-"]


class _Reader(JsonLinesReader):
    def __init__(self, job: Job, env: Environment) -> None:
        self._resumed = job.session_id is not None
        self._before = _total_before(job.session_id, env) if job.session_id else None

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR and self._resumed and _is_session_lost(text):
            return (Event(EventType.ERROR, text, resume_rejected=True),)
        return super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        item = mapping(record.get("item"))
        match record.get("type"):
            case "thread.started":
                return (Event(EventType.START, session_id=text(record.get("thread_id"))),)
            case "item.started" if item.get("type") not in _NOT_TOOLS:
                return (_tool(EventType.TOOL_START, item),)
            case "item.completed":
                return (_completed(item),)
            case "error":
                return (_error(text(record.get("message")) or ""),)
            case "turn.failed":
                return (_failed(text(mapping(record.get("error")).get("message")) or ""),)
            case "turn.completed":
                return (Event(EventType.RESULT, usage=self._usage(mapping(record.get("usage")))),)
        return (Event(EventType.OTHER),)

    def _usage(self, total: Mapping[str, Any]) -> Usage:
        if not self._resumed:
            return _normalised(total)
        if self._before is None:
            return Usage()  # the sum of all turns of the thread is not this turn's
        before = self._before
        numbers = {name: value for name, value in total.items() if count(value) is not None}
        return _normalised(
            {name: max(0, value - (count(before.get(name)) or 0)) for name, value in numbers.items()}
        )


def _normalised(usage: Mapping[str, Any]) -> Usage:
    everything, cached = count(usage.get("input_tokens")), count(usage.get("cached_input_tokens"))
    return Usage(
        input=None if everything is None else max(0, everything - (cached or 0)),
        cached=cached,
        output=count(usage.get("output_tokens")),
        reasoning=count(usage.get("reasoning_output_tokens")),
    )


def _completed(item: Mapping[str, Any]) -> Event:
    words = text(item.get("text")) or ""
    match item.get("type"):
        case "agent_message":
            return Event(EventType.MESSAGE, words)
        case "reasoning":
            return Event(EventType.THINKING, words)
        case "todo_list" | "error":
            return Event(EventType.OTHER, text(item.get("message")) or "")
    return _tool(EventType.TOOL_END, item)


def _tool(kind: EventType, item: Mapping[str, Any]) -> Event:
    words = text(item.get("command")) or text(item.get("tool")) or text(item.get("query")) or ""
    if kind is EventType.TOOL_END:
        words = text(item.get("aggregated_output")) or words
    return Event(kind, words, tool=text(item.get("type")), call=text(item.get("id")))


def _error(words: str) -> Event:
    return Event(EventType.ERROR, words, reason=reasons.of_text(words))


def _failed(words: str) -> Event:
    return Event(EventType.RESULT, words, reason=reasons.of_text(words) or Reason.AGENT_FAILED)


def _is_session_lost(words: str) -> bool:
    """No turn took place: it is to be tried again, without the session."""
    return "thread/resume failed" in words or "no rollout found" in words


def _total_before(session_id: str, env: Environment) -> Mapping[str, Any] | None:
    """What the thread had used before this turn, as its own record says; None where it cannot be known."""
    home = Path(env["CODEX_HOME"]) if "CODEX_HOME" in env else Path(env.get("HOME", "")) / ".codex"
    for path in sorted(home.glob(f"sessions/*/*/*/rollout-*-{session_id}.jsonl"), reverse=True):
        for line in reversed(_tail(path).splitlines()):
            if b'"total_token_usage"' in line:
                return _total_in(line)
    return None


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _ROLLOUT_TAIL))
            return file.read()
    except OSError:
        return b""


def _total_in(line: bytes) -> Mapping[str, Any] | None:
    try:
        payload = mapping(mapping(json.loads(line)).get("payload"))
    except ValueError:
        return None
    return mapping(mapping(payload.get("info")).get("total_token_usage")) or None


ADAPTER = Adapter(
    name="codex",
    executable="codex",
    reader=_Reader,
    arguments=_arguments,
    home_variables={"CODEX_HOME": ".codex"},
    can_resume=True,
    briefs=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    minimum=(0, 98, 0),  # driven; 0.77.0 counts a resumed turn's usage in another way
)
