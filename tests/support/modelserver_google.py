"""Google's generateContent, streaming and whole."""

from __future__ import annotations

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
    shell_arguments,
    shell_of,
    words,
)

# https://cloud.google.com/apis/design/errors#handling_errors
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
}


class Google:
    """Its prompt tokens contain the cached ones; thoughts are counted beside the candidates."""

    path = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<stream>stream)?[gG]enerateContent")

    def is_turn(self, body: Body) -> bool:
        return bool(self._tools(body))

    @staticmethod
    def _tools(body: Body) -> dict[str, Body]:
        groups = (tool.get("functionDeclarations") or () for tool in body.get("tools") or ())
        return {tool["name"]: tool for group in groups for tool in group}

    def _part(self, reply: Reply, body: Body) -> dict[str, Any]:
        if isinstance(reply, Say):
            return {"text": reply.text}
        tools = self._tools(body)
        name = shell_of(tools)
        schema = tools[name].get("parametersJsonSchema") or tools[name].get("parameters") or {}
        return {"functionCall": {"name": name, "args": shell_arguments(schema, reply.command)}}

    @staticmethod
    def _response(part: Body, body: Body) -> dict[str, Any]:
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
        return {"candidates": [candidate], "modelVersion": body.get("model")}

    def whole(self, reply: Reply, body: Body) -> Body:
        return self._last(self._part(reply, body), body)

    def _last(self, part: Body, body: Body) -> dict[str, Any]:
        response = self._response(part, body)
        response["candidates"][0]["finishReason"] = "STOP"
        response["usageMetadata"] = {
            "promptTokenCount": FRESH + CACHED,
            "cachedContentTokenCount": CACHED,
            "candidatesTokenCount": OUTPUT - REASONING,
            "thoughtsTokenCount": REASONING,
            "totalTokenCount": FRESH + CACHED + OUTPUT,
        }
        return response

    def stream(self, reply: Reply, body: Body) -> Iterator[ServerEvent]:
        *before, last = words(reply.text) if isinstance(reply, Say) else [""]
        for word in before:
            yield None, self._response({"text": word}, body)
        part = {"text": last} if isinstance(reply, Say) else self._part(reply, body)
        yield None, self._last(part, body)

    def error(self, status: int, message: str) -> Body:
        words = error_fields(status, message)["message"]
        return {"error": {"code": status, "message": words, "status": _STATUSES.get(status, "UNAVAILABLE")}}
