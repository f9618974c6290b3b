"""How a scripted step looks on the wire of each kind of model server.

Each class is one protocol: where it listens, which requests ask for the agent's next step, and
the stream that gives it. Tokens are the same in all: a step reports `FRESH` input tokens,
`CACHED` read from the cache, `OUTPUT` and of those `REASONING`, each in the protocol's own way.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

FRESH, CACHED, OUTPUT, REASONING = 1111, 333, 22, 7

Body = Mapping[str, Any]
ServerEvent = tuple[str | None, Mapping[str, Any] | str]

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Say:
    """The model's words; with them it ends its turn."""

    text: str


@dataclass(frozen=True)
class Shell:
    """The model calls the program's own shell tool."""

    command: str


Reply = Say | Shell


class Wire(Protocol):
    """One protocol. `stream` gives (event name, data) pairs of server-sent events.

    What named groups of `path` match counts as fields of the request's body.
    """

    path: re.Pattern[str]

    def is_turn(self, body: Body) -> bool:
        """Whether the request offers tools, so asks for a step and not for, say, a title."""
        ...

    def stream(self, reply: Reply, body: Body) -> Iterator[ServerEvent]: ...

    def whole(self, reply: Reply, body: Body) -> Body: ...

    def error(self, status: int, message: str) -> Body: ...


_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error_fields(status: int, message: str) -> dict[str, Any]:
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": kind, "message": message or f"scripted {status}"}


def identity(prefix: str) -> str:
    return f"{prefix}_{next(_numbers):012d}"


_SHELLS = (
    *("Bash", "exec_command", "shell_command", "shell", "bash", "run_shell_command", "local_shell"),
    *("Shell", "Execute", "terminal", "exec"),
)
# A required argument that is not the command: by the type that its JSON schema names.
_BLANKS: Mapping[str, Any] = {"string": "scripted", "boolean": False, "array": [], "object": {}}


def shell_of(tools: Mapping[str, Body]) -> str:
    found = next((name for name in _SHELLS if name in tools), None)
    assert found, f"no shell among the tools {sorted(tools)}"
    return found


def shell_arguments(schema: Body, command: str) -> dict[str, Any]:
    """Arguments for a shell tool with this JSON schema."""
    properties = schema.get("properties") or {}
    given: dict[str, Any] = {}
    for name, about in properties.items():
        if name in ("command", "cmd"):
            given[name] = ["sh", "-c", command] if about.get("type") == "array" else command
        elif name in (schema.get("required") or ()):
            given[name] = (about.get("enum") or [_BLANKS.get(str(about.get("type")).lower(), 0)])[0]
    return given


def words(text: str) -> Sequence[str]:
    return re.findall(r"\S+\s*", text) or [text]


class Anthropic:
    """The Messages API; its input tokens do not contain the cached ones."""

    path = re.compile(r"/v1/messages")

    def is_turn(self, body: Body) -> bool:
        return bool(self._tools(body))

    @staticmethod
    def _tools(body: Body) -> dict[str, Body]:
        return {tool["name"]: tool for tool in body.get("tools") or () if tool.get("input_schema")}

    def _block(self, reply: Reply, body: Body) -> dict[str, Any]:
        if isinstance(reply, Say):
            return {"type": "text", "text": reply.text}
        tools = self._tools(body)
        name = shell_of(tools)
        arguments = shell_arguments(tools[name]["input_schema"], reply.command)
        return {"type": "tool_use", "id": identity("toolu"), "name": name, "input": arguments}

    def whole(self, reply: Reply, body: Body) -> Body:
        stop = "end_turn" if isinstance(reply, Say) else "tool_use"
        return {**self._message(body), "content": [self._block(reply, body)], "stop_reason": stop}

    @staticmethod
    def _message(body: Body) -> dict[str, Any]:
        return {
            "id": identity("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": FRESH,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": CACHED,
                "output_tokens": OUTPUT,
            },
        }

    def stream(self, reply: Reply, body: Body) -> Iterator[ServerEvent]:
        message, block = self._message(body), self._block(reply, body)
        yield "message_start", {"message": message}
        if isinstance(reply, Say):
            yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
            for word in words(reply.text):
                yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}}
        else:
            yield "content_block_start", {"index": 0, "content_block": {**block, "input": {}}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield "content_block_delta", {"index": 0, "delta": delta}
        yield "content_block_stop", {"index": 0}
        stop = "end_turn" if isinstance(reply, Say) else "tool_use"
        yield (
            "message_delta",
            {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": message["usage"]},
        )
        yield "message_stop", {}

    def error(self, status: int, message: str) -> Body:
        return {"type": "error", "error": error_fields(status, message)}


class Responses:
    """OpenAI's Responses API; its input tokens contain the cached ones, output the reasoning."""

    path = re.compile(r"/v1/responses")

    def is_turn(self, body: Body) -> bool:
        return bool(body.get("tools"))

    def _tools(self, tools: Sequence[Body]) -> dict[str, Body]:
        found: dict[str, Body] = {}
        for tool in tools:
            if tool.get("type") == "namespace":
                found.update(self._tools(tool.get("tools") or ()))
            else:
                found[tool.get("name") or tool["type"]] = tool
        return found

    def _item(self, reply: Reply, body: Body) -> dict[str, Any]:
        if isinstance(reply, Say):
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            return {
                "type": "message",
                "id": identity("msg"),
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        tools = self._tools(body.get("tools") or ())
        name = shell_of(tools)
        call = {"call_id": identity("call"), "status": "completed"}
        if tools[name].get("type") == "local_shell":
            action = {"type": "exec", "command": ["sh", "-c", reply.command], "env": {}}
            return {"type": "local_shell_call", "id": identity("lsh"), "action": action, **call}
        arguments = json.dumps(shell_arguments(tools[name].get("parameters") or {}, reply.command))
        return {
            "type": "function_call",
            "id": identity("fc"),
            "name": name,
            "arguments": arguments,
            **call,
        }

    def whole(self, reply: Reply, body: Body) -> Body:
        return {**self._response(body), **self._completed(self._item(reply, body))}

    @staticmethod
    def _response(body: Body) -> dict[str, Any]:
        return {
            "id": identity("resp"),
            "object": "response",
            "created_at": 0,
            "status": "in_progress",
            "model": body.get("model"),
            "output": [],
            "usage": None,
            "error": None,
        }

    @staticmethod
    def _completed(item: Body) -> dict[str, Any]:
        usage = {
            "input_tokens": FRESH + CACHED,
            "input_tokens_details": {"cached_tokens": CACHED},
            "output_tokens": OUTPUT,
            "output_tokens_details": {"reasoning_tokens": REASONING},
            "total_tokens": FRESH + CACHED + OUTPUT,
        }
        return {"status": "completed", "output": [item], "usage": usage}

    def stream(self, reply: Reply, body: Body) -> Iterator[ServerEvent]:
        response, item = self._response(body), self._item(reply, body)
        yield "response.created", {"response": response}
        if isinstance(reply, Say):
            yield (
                "response.output_item.added",
                {"output_index": 0, "item": {**item, "content": [], "status": "in_progress"}},
            )
            place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
            for word in words(reply.text):
                yield "response.output_text.delta", {**place, "delta": word}
            yield "response.output_text.done", {**place, "text": reply.text}
        else:
            yield (
                "response.output_item.added",
                {"output_index": 0, "item": {**item, "status": "in_progress"}},
            )
        yield "response.output_item.done", {"output_index": 0, "item": item}
        yield "response.completed", {"response": {**response, **self._completed(item)}}

    def error(self, status: int, message: str) -> Body:
        return {"error": {**error_fields(status, message), "code": None, "param": None}}
