"""OpenAI's Chat Completions, which most other model servers speak too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.support.modelserver_wires import (
    CACHED,
    FRESH,
    OUTPUT,
    REASONING,
    Body,
    Reply,
    Say,
    ServerEvent,
    error_fields,
    identity,
    shell_arguments,
    shell_of,
    words,
)


class Chat:
    """Its prompt tokens contain the cached ones, its completion tokens the reasoning."""

    path = re.compile(r"/v1/chat/completions")

    def is_turn(self, body: Body) -> bool:
        return bool(body.get("tools"))

    @staticmethod
    def _message(reply: Reply, body: Body) -> dict[str, Any]:
        if isinstance(reply, Say):
            return {"role": "assistant", "content": reply.text}
        tools = {tool["function"]["name"]: tool["function"] for tool in body["tools"] if "function" in tool}
        name = shell_of(tools)
        arguments = json.dumps(shell_arguments(tools[name].get("parameters") or {}, reply.command))
        call = {"name": name, "arguments": arguments}
        calls = [{"id": identity("call"), "type": "function", "function": call}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    @staticmethod
    def _completion(body: Body) -> dict[str, Any]:
        return {"id": identity("chatcmpl"), "created": 0, "model": body.get("model")}

    @staticmethod
    def _usage() -> dict[str, Any]:
        return {
            "prompt_tokens": FRESH + CACHED,
            "prompt_tokens_details": {"cached_tokens": CACHED},
            "completion_tokens": OUTPUT,
            "completion_tokens_details": {"reasoning_tokens": REASONING},
            "total_tokens": FRESH + CACHED + OUTPUT,
        }

    @staticmethod
    def _finish(reply: Reply) -> str:
        return "stop" if isinstance(reply, Say) else "tool_calls"

    def whole(self, reply: Reply, body: Body) -> Body:
        choice = {"index": 0, "message": self._message(reply, body), "finish_reason": self._finish(reply)}
        about = {**self._completion(body), "object": "chat.completion"}
        return {**about, "choices": [choice], "usage": self._usage()}

    def stream(self, reply: Reply, body: Body) -> Iterator[ServerEvent]:
        about = {**self._completion(body), "object": "chat.completion.chunk"}

        def chunk(delta: Body, finish: str | None = None) -> ServerEvent:
            return None, {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        message = self._message(reply, body)
        yield chunk({"role": "assistant", "content": "" if isinstance(reply, Say) else None})
        if isinstance(reply, Say):
            for word in words(reply.text):
                yield chunk({"content": word})
        else:
            (call,) = message["tool_calls"]
            yield chunk({"tool_calls": [{"index": 0, **call}]})
        yield chunk({}, self._finish(reply))
        yield None, {**about, "choices": [], "usage": self._usage()}
        yield None, "[DONE]"

    def error(self, status: int, message: str) -> Body:
        fields = error_fields(status, message)
        return {"error": {**fields, "code": fields["type"], "param": None}}
