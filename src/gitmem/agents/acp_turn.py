"""One turn in the Agent Client Protocol: initialize, open a session, prompt, and listen.

We are the client, with the messages of the official SDK. What it offers over the wire of its
own (an event loop, a reader) is left: the spawner and the limits are the same for every agent.

Measured on real agents: a failed call of the model ends the turn with `end_turn` like any
other, and stands on stderr only; notifications come after the response to the prompt; loading
a session plays its whole history; a session that is not known may be loaded without an error
and refuse the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from acp import PROTOCOL_VERSION, schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from pydantic import BaseModel, ValidationError

from gitmem import __version__
from gitmem.agents import reasons
from gitmem.agents.acp import Complaints
from gitmem.agents.adapter import Event, EventType, Input, Job, JsonLinesReader, Source, Usage
from gitmem.agents.values import items
from gitmem.core.record import mapping, text
from gitmem.core.states import Reason

_METHOD_NOT_FOUND = -32601  # of JSON-RPC 2.0
_AUTH_REQUIRED = -32000  # of the protocol
_SET_MODEL = "session/set_model"  # of agents from before models became a configuration option
_NO_SESSION = re.compile(
    r"session .*not found|no session found|unknown session|no such session|resource not found"
    r"|invalid session",
    re.IGNORECASE,
)
Model = TypeVar("Model", bound=BaseModel)
Answered = Callable[[Mapping[str, Any]], Iterable[Event]]
Refused = Callable[[str, Reason | None], Iterable[Event]]


class Turn(JsonLinesReader):
    """The client's side of one turn; stdin is closed when the turn has ended."""

    def __init__(self, job: Job, complaints: Complaints) -> None:
        self._job, self._complaints = job, complaints
        self._stdin: Input
        self._waiting: dict[int, tuple[Answered, Refused]] = {}
        self._session_id: str | None = None
        self._prompted = False
        self._response: schema.PromptResponse | None = None
        self._words: list[str] = []
        self._active = False
        self._trouble = ""

    def begin(self, stdin: Input) -> None:
        self._stdin = stdin
        request = schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=schema.ClientCapabilities(),
            client_info=schema.Implementation(name="gitmem", version=__version__),
        )
        self._ask(AGENT_METHODS["initialize"], request, self._initialized, self._fail)

    def line(self, text: str, source: Source) -> Iterable[Event]:
        return self._complaint(text) if source is Source.STDERR else super().line(text, source)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        method, params = text(record.get("method")), mapping(record.get("params"))
        if method is None:
            return self._take(record)
        if "id" in record:
            self._answer(record["id"], method, params)
        elif method == CLIENT_METHODS["session_update"]:
            return self._update(params) if self._prompted else ()
        return (Event(EventType.OTHER),)

    # What goes out.

    def _ask(
        self, method: str, request: BaseModel | Mapping[str, Any], answered: Answered, refused: Refused
    ) -> None:
        number = len(self._waiting)
        self._waiting[number] = (answered, refused)
        self._send({"id": number, "method": method, "params": _plain(request)})

    def _answer(self, number: Any, method: str, params: Mapping[str, Any]) -> None:
        if method == CLIENT_METHODS["session_request_permission"]:
            self._send({"id": number, "result": _plain(_permission(params))})
        else:
            error = {"code": _METHOD_NOT_FOUND, "message": f"gitmem does not serve {method}"}
            self._send({"id": number, "error": error})

    def _send(self, message: Mapping[str, Any]) -> None:
        self._stdin.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    # What comes in.

    def _take(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The response to a request of ours."""
        number = record.get("id")
        if not isinstance(number, int) or number not in self._waiting:
            return (Event(EventType.OTHER),)
        answered, refused = self._waiting[number]
        error = record.get("error")
        if error is None:
            return answered(mapping(record.get("result")))
        words = _words_of(mapping(error))
        code = mapping(error).get("code")
        return refused(words, Reason.AUTH if code == _AUTH_REQUIRED else reasons.of_text(words))

    def _fail(self, words: str, reason: Reason | None) -> Iterable[Event]:
        self._stdin.close()
        yield Event(EventType.RESULT, words, reason=reason or Reason.AGENT_FAILED)

    def _lost(self, words: str) -> Iterable[Event]:
        self._stdin.close()
        yield Event(EventType.RESULT, words, reason=Reason.NO_TERMINAL_EVENT, resume_rejected=True)

    def _initialized(self, result: Mapping[str, Any]) -> Iterable[Event]:
        found = _parsed(schema.InitializeResponse, result)
        if found is None or found.protocol_version != PROTOCOL_VERSION:
            words = f"it does not speak version {PROTOCOL_VERSION} of the protocol"
            return self._fail(words, Reason.BAD_CONFIG)
        where, session_id = str(self._job.work), self._job.session_id
        if session_id is None:
            new = schema.NewSessionRequest(cwd=where, mcp_servers=[])
            self._ask(AGENT_METHODS["session_new"], new, self._opened, self._fail)
        elif found.agent_capabilities and found.agent_capabilities.load_session:
            load = schema.LoadSessionRequest(cwd=where, mcp_servers=[], session_id=session_id)
            self._session_id = session_id
            self._ask(AGENT_METHODS["session_load"], load, self._loaded, self._not_loaded)
        else:
            return self._lost("it cannot load a session")
        return ()

    def _opened(self, result: Mapping[str, Any]) -> Iterable[Event]:
        self._session_id = text(result.get("sessionId"))
        if self._session_id is None:
            return self._fail("it opened a session without an id", Reason.INVALID_OUTPUT)
        return self._loaded(result)

    def _loaded(self, result: Mapping[str, Any]) -> Iterable[Event]:
        if self._job.model:
            self._choose_model(self._job.model, result)
        else:
            self._prompt()
        yield Event(EventType.START, session_id=self._session_id)

    def _not_loaded(self, words: str, reason: Reason | None) -> Iterable[Event]:
        return self._lost(words) if _NO_SESSION.search(words) else self._fail(words, reason)

    def _choose_model(self, model: str, session: Mapping[str, Any]) -> None:
        """By the configuration option for it, else as older agents have it."""
        options = items(session.get("configOptions"))
        option = next((option for option in options if option.get("category") == "model"), None)
        chosen = (
            {"sessionId": self._session_id, "configId": option["id"], "value": model}
            if option
            else {"sessionId": self._session_id, "modelId": model}
        )
        method = AGENT_METHODS["session_set_config_option"] if option else _SET_MODEL
        self._ask(method, chosen, self._chosen, self._not_chosen)

    def _chosen(self, _result: Mapping[str, Any]) -> Iterable[Event]:
        self._prompt()
        yield Event(EventType.OTHER)

    def _not_chosen(self, words: str, reason: Reason | None) -> Iterable[Event]:
        return self._fail(f"model {self._job.model}: {words}", reason or Reason.BAD_CONFIG)

    def _prompt(self) -> None:
        assert self._session_id is not None
        block = schema.TextContentBlock(type="text", text=self._job.prompt)
        request = schema.PromptRequest(session_id=self._session_id, prompt=[block])
        self._prompted = True
        self._ask(AGENT_METHODS["session_prompt"], request, self._ended, self._not_ended)

    def _update(self, params: Mapping[str, Any]) -> Iterable[Event]:
        found = _parsed(schema.SessionNotification, params)
        match found.update if found else None:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=words)):
                self._active = True
                self._words.append(words)
                return self._late() if self._response else (Event(EventType.OTHER),)
            case schema.AgentThoughtChunk(content=schema.TextContentBlock()):
                self._active = True
                return (Event(EventType.THINKING),)
            case schema.ToolCallStart() as call:
                self._active = True
                start = Event(EventType.TOOL_START, call.title, tool=call.kind, call=call.tool_call_id)
                return (*self._said(), start, *_tool_end(call))
            case schema.ToolCallProgress() as call:
                return _tool_end(call) or (Event(EventType.OTHER),)
        return (Event(EventType.OTHER),)

    def _said(self) -> Iterable[Event]:
        """The words up to here as one message; what follows a tool is another."""
        words, self._words = "".join(self._words).strip(), []
        return (Event(EventType.MESSAGE, words),) if words else ()

    def _late(self) -> Iterable[Event]:
        """Words that come after the end belong to the answer all the same."""
        return (Event(EventType.MESSAGE, "".join(self._words).strip()), self._result())

    def _complaint(self, line: str) -> Iterable[Event]:
        """What the log on stderr says of the model: only that tells a failed call from an answer."""
        failed = self._complaints.failed.search(line)
        if failed:
            self._trouble = failed.group(1)
            yield Event(EventType.ERROR, self._trouble, reason=reasons.of_text(self._trouble))
        elif self._trouble and self._complaints.recovered.search(line):
            self._trouble = ""
        else:
            return
        if self._response:
            yield self._result()

    def _ended(self, result: Mapping[str, Any]) -> Iterable[Event]:
        response = _parsed(schema.PromptResponse, result)
        if response is None:
            return self._fail("it did not say how the turn ended", Reason.INVALID_OUTPUT)
        if response.stop_reason == "refusal" and self._job.session_id and not self._active:
            return self._lost(f"it refuses to go on with session {self._session_id}")
        self._response = response
        self._stdin.close()
        words = "".join(self._words).strip()
        return (*((Event(EventType.MESSAGE, words),) if words else ()), self._result())

    def _not_ended(self, words: str, reason: Reason | None) -> Iterable[Event]:
        lost = self._job.session_id and not self._active and _NO_SESSION.search(words)
        return self._lost(words) if lost else self._fail(words, reason)

    def _result(self) -> Event:
        assert self._response is not None
        stop = self._response.stop_reason
        usage = _usage(self._response.usage) if self._response.usage else None
        if self._trouble:
            reason = reasons.of_text(self._trouble) or Reason.PROVIDER_ERROR
            return Event(EventType.RESULT, self._trouble, usage=usage, reason=reason)
        if stop != "end_turn":
            return Event(EventType.RESULT, f"it stopped: {stop}", usage=usage, reason=Reason.AGENT_FAILED)
        return Event(EventType.RESULT, usage=usage)


def _plain(message: BaseModel | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(message, BaseModel):
        return message.model_dump(mode="json", by_alias=True, exclude_none=True)
    return message


def _parsed(model: type[Model], data: Mapping[str, Any]) -> Model | None:
    try:
        return model.model_validate(data)
    except ValidationError:
        return None


def _words_of(error: Mapping[str, Any]) -> str:
    """Message and data of a JSON-RPC error; agents put what matters in either."""
    data = error.get("data")
    said = text(data) or (json.dumps(data, ensure_ascii=False) if data else "")
    return (
        ": ".join(part for part in (text(error.get("message")), said) if part) or "it answered with an error"
    )


def _permission(params: Mapping[str, Any]) -> schema.RequestPermissionResponse:
    """Yes, this once: `always` could be written to settings of the user's own."""
    options = items(params.get("options"))
    kinds = {str(option.get("kind")): text(option.get("optionId")) for option in reversed(options)}
    chosen = kinds.get("allow_once") or kinds.get("allow_always")
    if chosen is None:
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
    allowed = schema.AllowedOutcome(outcome="selected", option_id=chosen)
    return schema.RequestPermissionResponse(outcome=allowed)


def _tool_end(call: schema.ToolCallStart | schema.ToolCallProgress) -> tuple[Event, ...]:
    if call.status not in ("completed", "failed"):
        return ()
    blocks = [part.content for part in call.content or () if isinstance(part, schema.ContentToolCallContent)]
    words = "\n".join(block.text for block in blocks if isinstance(block, schema.TextContentBlock))
    return (Event(EventType.TOOL_END, words, tool=call.kind, call=call.tool_call_id),)


def _usage(usage: schema.Usage) -> Usage:
    """The protocol leaves open whether the input contains what was cached: the total tells."""
    cached, written = usage.cached_read_tokens or 0, usage.cached_write_tokens or 0
    contained = usage.total_tokens == usage.input_tokens + usage.output_tokens
    fresh = usage.input_tokens - cached if contained else usage.input_tokens + written
    return Usage(
        input=max(0, fresh),
        cached=usage.cached_read_tokens,
        output=usage.output_tokens,
        reasoning=usage.thought_tokens,
    )
