"""What Claude Code prints of a message, and the programs that print the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitmem.agents.adapter import Event, EventType, Usage
from gitmem.agents.values import items
from gitmem.core.record import mapping, text


def blocks(record: Mapping[str, Any], usage: Usage | None) -> Iterator[Event]:
    """The events in an `assistant` record: one for each block, the first with `usage`."""
    session = text(record.get("session_id"))
    is_sub_agent = record.get("parent_tool_use_id") is not None
    for block in items(mapping(record.get("message")).get("content")):
        yield _block(block, session, usage, is_sub_agent)
        usage = None


def _block(block: Mapping[str, Any], session: str | None, usage: Usage | None, is_sub_agent: bool) -> Event:
    kind = block.get("type")
    if kind == "tool_use":
        name, call = text(block.get("name")), text(block.get("id"))
        return Event(EventType.TOOL_START, tool=name, call=call, session_id=session, usage=usage)
    words = text(block.get("text")) or text(block.get("thinking")) or ""
    if kind == "text" and not is_sub_agent:
        return Event(EventType.MESSAGE, words, session_id=session, usage=usage)
    return Event(EventType.THINKING, words, session_id=session, usage=usage)


def tool_results(record: Mapping[str, Any]) -> Iterator[Event]:
    """The events in a `user` record."""
    session = text(record.get("session_id"))
    for block in items(mapping(record.get("message")).get("content")):
        if block.get("type") == "tool_result":
            content = block.get("content")
            words = content if isinstance(content, str) else ""
            yield Event(EventType.TOOL_END, words, call=text(block.get("tool_use_id")), session_id=session)
