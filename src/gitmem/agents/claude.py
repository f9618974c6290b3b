"""Claude Code: `claude -p` with one JSON object a line.

Measured on 2.1.332: a failed turn has `subtype: success` with `is_error: true`; exit 0 after an
interrupt comes without a `result`; `total_cost_usd` and `modelUsage` go on counting over a
resumed session while `model_usage_since_last_result` and `usage` are this run's own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gitmem.agents import reasons, streamjson
from gitmem.agents.adapter import Adapter, Environment, Event, EventType, Job, JsonLinesReader, Usage
from gitmem.agents.values import count, number
from gitmem.core.clock import stamp
from gitmem.core.record import mapping, text, texts
from gitmem.core.states import Reason

# Words that the program puts where the model said nothing.
_PLACEHOLDERS = frozenset({"(no content)", "No response requested."})
_SESSION_LOST = "No conversation found"


def _arguments(job: Job) -> list[str]:
    arguments = [
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "bypassPermissions",
    ]
    if job.model:
        arguments += ["--model", job.model]
    if job.session_id:
        arguments += ["--resume", job.session_id]
    return arguments


def _variables(_job: Job) -> Environment:
    # As root it refuses bypassPermissions unless it is told that it runs in a sandbox.
    root = {"IS_SANDBOX": "1"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}
    return {"DISABLE_AUTOUPDATER": "1", **root}


class _Reader(JsonLinesReader):
    def __init__(self, job: Job) -> None:
        self._resumed = job.session_id is not None
        self._counted: set[str] = set()
        self._results = Usage()
        self._limit_reached = False

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        session = text(record.get("session_id"))
        match record.get("type"):
            case "system":
                return (_system(record, session),)
            case "assistant":
                return self._assistant(record, session)
            case "user":
                return streamjson.tool_results(record)
            case "rate_limit_event":
                return (self._rate_limit(mapping(record.get("rate_limit_info"))),)
            case "result":
                return (self._result(record, session),)
        return (Event(EventType.OTHER, session_id=session),)

    def _assistant(self, record: Mapping[str, Any], session: str | None) -> Iterator[Event]:
        message = mapping(record.get("message"))
        if (
            message.get("model") == "<synthetic>"
        ):  # the program's own words: a failure comes again in `result`
            yield Event(EventType.OTHER, session_id=session)
            return
        for event in streamjson.blocks(record, self._usage_once(message)):
            is_placeholder = event.text in _PLACEHOLDERS
            yield replace(event, type=EventType.THINKING) if is_placeholder else event

    def _usage_once(self, message: Mapping[str, Any]) -> Usage | None:
        """A message is printed once per block, with its usage each time; its output is not final."""
        identity = text(message.get("id"))
        if identity is None or identity in self._counted:
            return None
        self._counted.add(identity)
        usage = mapping(message.get("usage"))
        return Usage(
            input=_both(usage, "input_tokens", "cache_creation_input_tokens"),
            cached=count(usage.get("cache_read_input_tokens")),
        )

    def _rate_limit(self, info: Mapping[str, Any]) -> Event:
        """Other states than `rejected` are news, not trouble."""
        if info.get("status") != "rejected":
            return Event(EventType.OTHER)
        self._limit_reached = True
        resets = count(info.get("resetsAt"))
        words = f"usage limit reached ({text(info.get('rateLimitType')) or 'unknown window'})"
        return Event(EventType.ERROR, words, reason=Reason.QUOTA, retry_at=_stamp(resets))

    def _result(self, record: Mapping[str, Any], session: str | None) -> Event:
        self._results += self._usage(record)
        words = text(record.get("result")) or "; ".join(texts(record.get("errors")))
        failed = record.get("is_error") is not False or record.get("subtype") != "success"
        return Event(
            EventType.RESULT,
            "" if words in _PLACEHOLDERS else words,
            session_id=session,
            usage=self._results,
            reason=self._reason(record, words) if failed else None,
            resume_rejected=failed and _SESSION_LOST in words,
        )

    def _usage(self, record: Mapping[str, Any]) -> Usage:
        """Older versions tell usage per model and cost only for the whole session."""
        models = mapping(record.get("model_usage_since_last_result"))
        if models:
            return sum((_model_usage(mapping(model)) for model in models.values()), Usage())
        usage = mapping(record.get("usage"))
        is_first = not self._resumed and self._results == Usage()
        return Usage(
            input=_both(usage, "input_tokens", "cache_creation_input_tokens"),
            cached=count(usage.get("cache_read_input_tokens")),
            output=count(usage.get("output_tokens")),
            cost_usd=number(record.get("total_cost_usd")) if is_first else None,
        )

    def _reason(self, record: Mapping[str, Any], words: str) -> Reason:
        if _SESSION_LOST in words:
            return Reason.NO_TERMINAL_EVENT  # no turn took place: to be tried again, without the session
        if record.get("terminal_reason") == "prompt_too_long":
            return Reason.CONTEXT_OVERFLOW
        status = count(record.get("api_error_status"))
        found = reasons.of_status(status, words) if status else None
        if found is Reason.RATE_LIMITED and self._limit_reached:
            return Reason.QUOTA
        if record.get("api_error") == "connection_failed":
            return Reason.NETWORK
        return found or reasons.of_text(words) or Reason.AGENT_FAILED


def _system(record: Mapping[str, Any], session: str | None) -> Event:
    if record.get("subtype") == "init":
        return Event(EventType.START, session_id=session)
    if record.get("subtype") == "api_retry":
        status = count(record.get("error_status"))
        words = text(record.get("error")) or "unknown"
        # Without a status no answer came at all.
        reason = reasons.of_status(status, words) if status else Reason.NETWORK
        return Event(EventType.ERROR, f"retrying: {status or ''} {words}", session_id=session, reason=reason)
    return Event(EventType.OTHER, session_id=session)


def _model_usage(model: Mapping[str, Any]) -> Usage:
    return Usage(
        input=_both(model, "inputTokens", "cacheCreationInputTokens"),
        cached=count(model.get("cacheReadInputTokens")),
        output=count(model.get("outputTokens")),
        reasoning=count(model.get("thinkingTokens")),
        cost_usd=number(model.get("costUSD")),
    )


def _both(usage: Mapping[str, Any], plain: str, written: str) -> int | None:
    """Tokens read afresh and tokens written to the cache: both were not read from it."""
    fresh = count(usage.get(plain))
    return None if fresh is None else fresh + (count(usage.get(written)) or 0)


def _stamp(epoch_s: int | None) -> str | None:
    try:
        return stamp(datetime.fromtimestamp(epoch_s, UTC)) if epoch_s else None
    except (ValueError, OverflowError, OSError):
        return None


ADAPTER = Adapter(
    name="claude",
    executable="claude",
    reader=lambda job, _env: _Reader(job),
    arguments=_arguments,
    variables=_variables,
    home_variables={"CLAUDE_CONFIG_DIR": ".claude"},
    can_resume=True,
    briefs=("CLAUDE.md", "CLAUDE.local.md"),
    skill_folders=(".claude/skills",),
    minimum=(2, 0, 0),  # the oldest that was driven and does all that is relied on here
)
