"""A model server on loopback that does what a test tells it, for real agent programs.

    with ModelServer(Shell("echo hello > out.txt"), Say("done")) as server:
        …  # point a program at server.url
    assert "hello" in server.turns[0].text

The script is one step for each request that offers tools; its last step stands for all that
follow. Other requests (titles, token counts, lists of models) get a harmless answer.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.modelserver_chat import Chat
from tests.support.modelserver_google import Google
from tests.support.modelserver_wires import Anthropic, Reply, Responses, Say, Shell, Wire

__all__ = ["Cut", "Fail", "Hang", "ModelServer", "Request", "Say", "Shell", "Slow"]

_WIRES: tuple[Wire, ...] = (Anthropic(), Responses(), Chat(), Google())


@dataclass(frozen=True)
class Fail:
    """Answer with an HTTP status; `details` are further fields of the error."""

    status: int
    message: str = ""
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Hang:
    """Take the request and never answer."""


@dataclass(frozen=True)
class Cut:
    """Break the connection after the first events of a reply."""

    reply: Reply
    after: int = 2


@dataclass(frozen=True)
class Slow:
    """Wait before every event of a reply."""

    reply: Reply
    pause_s: float


Step = Say | Shell | Fail | Hang | Cut | Slow


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    is_turn: bool

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


@dataclass
class _Script:
    steps: list[Step]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> Step:
        with self.lock:
            return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


class ModelServer:
    """`requests` are all it got, `turns` those that asked for a step.

    `hanging` is set when a request hangs; it is let go when the server closes.
    """

    def __init__(self, *steps: Step) -> None:
        self.requests: list[Request] = []
        self.hanging = threading.Event()
        self.closing = threading.Event()
        self.play(*steps)
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def play(self, *steps: Step) -> None:
        """Go on with another script."""
        self.script = _Script(list(steps) or [Say("done")])

    @property
    def turns(self) -> list[Request]:
        return [request for request in self.requests if request.is_turn]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    owner: ModelServer
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A program that goes away in the middle of an answer is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the screen of a test."""

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model", "type": "model"} for name in ("scripted",)]
        if re.search(r"/models$", self.path.split("?")[0]):
            self._json(200, {"object": "list", "data": models, "has_more": False})
        else:
            self._json(404, {})

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_POST(self) -> None:
        body, path = self._body(), self.path.split("?")[0]
        wire, found = next(((w, m) for w in _WIRES if (m := w.path.fullmatch(path))), (None, None))
        body |= {name: value for name, value in found.groupdict().items() if value} if found else {}
        is_turn = wire is not None and wire.is_turn(body)
        owner = self.server.owner
        owner.requests.append(Request(path, dict(self.headers), body, is_turn))
        if wire is None:
            self._json(200, {"input_tokens": 1} if path.endswith("/count_tokens") else {})
        elif is_turn:
            self._play(wire, owner.script.next(), body)
        else:
            self._reply(wire, Say("a title"), body)

    def _body(self) -> dict[str, Any]:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        return body if isinstance(body, dict) else {}

    def _play(self, wire: Wire, step: Step, body: Mapping[str, Any]) -> None:
        match step:
            case Fail(status, message, details):
                error = wire.error(status, message)
                self._json(status, {**error, "error": {**error["error"], **(details or {})}})
            case Hang():
                self.server.owner.hanging.set()
                self.server.owner.closing.wait()
                self.close_connection = True
            case Cut(reply, after):
                self._reply(wire, reply, body, cut_after=after)
            case Slow(reply, pause_s):
                self._reply(wire, reply, body, pause_s=pause_s)
            case _:
                self._reply(wire, step, body)

    def _reply(
        self,
        wire: Wire,
        reply: Reply,
        body: Mapping[str, Any],
        *,
        pause_s: float = 0,
        cut_after: int | None = None,
    ) -> None:
        if cut_after is not None and not body.get("stream"):
            self.connection.shutdown(2)
            self.close_connection = True
            return
        if not body.get("stream"):
            self._json(200, wire.whole(reply, body))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for number, (name, data) in enumerate(wire.stream(reply, body)):
            if number == cut_after:
                self.connection.shutdown(2)
                return
            if pause_s:
                self.server.owner.closing.wait(pause_s)
            if name and not isinstance(data, str):
                data = {"type": name, "sequence_number": number, **data}
            self._server_event(name, data)

    def _server_event(self, name: str | None, data: Mapping[str, Any] | str) -> None:
        head = f"event: {name}\n" if name else ""
        words = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"{head}data: {words}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, body: Mapping[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
