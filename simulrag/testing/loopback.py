"""A model server on 127.0.0.1 that misbehaves on demand.

It speaks Chat Completions, the Responses API and the Messages API, by the path that is asked, and
takes batches of all three.

Its sockets are real, so the official SDKs run against it unpatched. What it answers:
first the scripted acts, one a request; then ``answer``, a function of the request's body.

``python -m simulrag.testing`` runs it by itself.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from simulators.base import Simulator
from simulrag.models.base import Message
from simulrag.stand_in import Prompted
from simulrag.task import tasks, without_model
from simulrag.testing.wires import (
    MODEL_VERSION,
    WIRES,
    Act,
    BatchDesk,
    Body,
    messages,
    schema_name,
    schema_of,
)

__all__ = ["MODEL_VERSION", "Act", "LoopbackServer", "canned"]

Answerer = Callable[[Body], str]


def says(text: str) -> Act:
    """Make a reply with this text, whatever was asked."""
    return Act(text=text)


def fails(status: int, text: str = "the server is out of order", **headers: str) -> Act:
    """Make an HTTP error; ``retry_after="2"`` becomes the header Retry-After."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Act(kind="status", status=status, text=text, headers=named)


def refuses(text: str = "I cannot help with that.") -> Act:
    """Make a refusal, as structured output has it."""
    return Act(text="", message={"content": None, "refusal": text})


RESET = Act(kind="reset")
HANG = Act(kind="hang")
CUT_OFF = Act(text='{"claims": [{"claim": "Travel ti', finish_reason="length")
FILTERED = Act(text="", finish_reason="content_filter")
NO_JSON_BODY = Act(kind="raw", text='{"id": "x", "choices": [{"mess')


@dataclass(frozen=True)
class Logged:
    """One request as it came in, and what it met. Header names are in lower case."""

    headers: dict[str, str]
    body: Body
    path: str
    act: Act

    @property
    def schema_name(self) -> str | None:
        """The name of the requested JSON schema; None for free text."""
        return schema_name(self.body)


def canned(by_schema: Mapping[str | None, str]) -> Answerer:
    """Answer by the name of the requested schema; None is free text."""
    return lambda body: by_schema[schema_name(body)]


class LoopbackServer:
    """The server, a context manager: it listens on enter and frees its port on exit.

    ``url`` is what ``base_url`` takes. ``requests`` logs every request in the order of arrival,
    unless ``log`` is off (a load would fill the memory). ``acts`` are done first, one a request,
    then whatever ``chance`` draws. Replies come after ``latency_s`` seconds.
    """

    def __init__(
        self,
        answer: Answerer,
        acts: Iterable[Act] = (),
        port: int = 0,
        *,
        chance: Callable[[], Act] = Act,
        latency_s: float = 0.0,
        log: bool = True,
    ) -> None:
        self.requests: list[Logged] = []
        self.batches = BatchDesk(self.receive)
        self._answer = answer
        self._acts = deque(acts)
        self._chance = chance
        self._latency_s = latency_s
        self._log = log
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = _Listener(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, ``http://127.0.0.1:PORT/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, *acts: Act) -> None:
        """Add acts for the next requests."""
        with self._lock:
            self._acts.extend(acts)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=5)

    def receive(self, headers: dict[str, str], body: Body, path: str) -> Act:
        """Log a request and say what to do with it."""
        with self._lock:
            act = self._acts.popleft() if self._acts else self._chance()
            if self._log:
                self.requests.append(Logged(headers, body, path, act))
        if act.kind != "reply":
            return act
        if self._latency_s:
            time.sleep(self._latency_s)
        return replace(act, text=self._answer(body)) if act.text is None else act

    def wait_for_close(self) -> None:
        """Block until the server closes: what a hanging request does."""
        self._closing.wait()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], owner: LoopbackServer) -> None:
        super().__init__(address, _Handler)
        self.owner = owner

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that leaves in the middle is no news, a fault of ours is a 500."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener

    def setup(self) -> None:
        super().setup()
        # Small answers on a kept-alive connection would otherwise wait for delayed ACKs.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.server.owner.batches.knows(self.path):
            self._desk(content)
            return
        if self.path not in WIRES:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        body = json.loads(content)
        try:
            act = self.server.owner.receive(
                {name.lower(): value for name, value in self.headers.items()}, body, self.path
            )
        except Exception as error:
            self._send(500, {"error": {"message": f"{type(error).__name__}: {error}"}})
            raise
        self._do(act, body)

    def do_GET(self) -> None:
        self._desk(b"")

    def _desk(self, content: bytes) -> None:
        kind = self.headers.get("content-type", "")
        url = f"http://{self.headers['host']}"
        self._send(*self.server.owner.batches.handle(self.command, self.path, kind, content, url))

    def _do(self, act: Act, body: Body) -> None:
        if act.kind == "hang":
            self.server.owner.wait_for_close()
            self.close_connection = True
        elif act.kind == "reset":
            # Lingering for zero seconds makes close() send RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif act.kind == "status":
            content = {"error": {"message": act.text}} if act.body is None else dict(act.body)
            self._send(act.status, content, act.headers)
        elif act.kind == "raw":
            self._send(200, act.text or "", act.headers)
        else:
            self._send(200, WIRES[self.path](act, body), act.headers)

    def _send(
        self, status: int, content: Body | str, headers: Mapping[str, str] | None = None
    ) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: ``LoopbackServer.requests`` is the log."""


def stand_in(*simulators: Simulator) -> Callable[[Body], str]:
    """Make an answerer for the loopback server: a stand-in for each reply.

    ``simulators``: those that are not registered, and whose handbooks are shown. Answers differ by
    the request's seed (send seed 0, to which the sample index is added); where none is sent, the
    n-th request with one body is sample n.
    """
    with suppress(ModuleNotFoundError):  # a room whose packages are not here asks nothing
        tasks()
    seen: Counter[int] = Counter()
    lock = threading.Lock()

    def sample(body: Body) -> int:
        if body.get("seed") is not None:
            return int(body["seed"])
        with lock:
            asked = hash(json.dumps(body, sort_keys=True))
            seen[asked] += 1
            return seen[asked] - 1

    def answer(body: Body) -> str:
        asked = [Message.model_validate(message) for message in messages(body)]
        prompted = Prompted(asked, schema_name(body) or "", sample(body), simulators)
        return without_model(prompted, schema_of(body))

    return answer


def question(number: int) -> str:
    """Write a question of the benchmark's usual length; the number makes it another one."""
    cut = 5 + number % 30
    return (
        f"In scheme {number}, speed limits along the main corridor drop by {cut} percent, and the "
        "central signal is replaced by a priority junction that gives the corridor a green wave. "
        "What is the percentage change in average vehicle idling time, and is it minor (under "
        "25%), moderate (25 to 75%) or significant (over 75%)? What do you expect for the "
        "percentage change in total CO2 emissions, and would it count as minor (under 10%), "
        "moderate (10 to 30%) or significant (over 30%)? Considering all of this, does the "
        "situation improve overall, and for whom?"
    )
