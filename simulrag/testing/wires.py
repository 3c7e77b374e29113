"""What the loopback server speaks: what a request asks, how a reply looks, and both wires' batches.

A batch is worked off when it is first asked about, unless ``hold``. Each of its requests goes the
way of a single one, scripted acts included: ``status`` becomes a failed line, ``hang`` one that
expired. Results come in reverse: providers promise no order.
"""

from __future__ import annotations

import email
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

Body = dict[str, Any]

MODEL_VERSION = "loopback-1"


Answer = tuple[int, Body | str]
_PATHS = re.compile(r"/v1/(files|batches|messages/batches)(/|$)")


@dataclass(frozen=True)
class Act:
    """What the server does with one request.

    ``reply`` sends ``text`` (None: what the server would have answered), with ``message`` and
    ``finish_reason`` as Chat Completions has them; ``status`` sends an error of that status with
    ``text`` as its message or ``body`` as a whole; ``raw`` sends ``text`` as the whole body;
    ``reset`` drops the connection; ``hang`` holds it until the server closes or the client leaves.
    ``first_tokens``: the log-probabilities that a request for them gets (None: the text is certain;
    (): the server sends none).
    """

    kind: Literal["reply", "status", "raw", "reset", "hang"] = "reply"
    text: str | None = None
    status: int = 200
    finish_reason: str = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    first_tokens: Sequence[tuple[str, float]] | None = None

    @property
    def refusal(self) -> str | None:
        """The model's refusal, where the act is one."""
        refusal: str | None = self.message.get("refusal")
        return refusal


def schema_name(body: Body) -> str | None:
    """Return the name of the JSON schema that a request asks for; None for free text."""
    return _wanted(body)[0]


def schema_of(body: Body) -> Body:
    """Return the JSON schema that a request asks for; {} for free text."""
    return _wanted(body)[1] or {}


def messages(body: Body) -> list[Body]:
    """Return the conversation, each message as its role and content."""
    conversation = [*body.get("messages", ()), *body.get("input", ())]
    system = body.get("system")
    if system is None:
        return conversation
    text = "\n\n".join(block["text"] for block in system)
    return [{"role": "system", "content": text}, *conversation]


def _wanted(body: Body) -> tuple[str | None, Body | None]:
    if "tools" in body:
        (tool,) = body["tools"]
        return tool["name"], tool["input_schema"]
    output = body.get("output_config", {}).get("format")
    if output is not None:
        return output["schema"]["title"], output["schema"]
    wanted = body.get("response_format", {}).get("json_schema")
    wanted = wanted or body.get("text", {}).get("format", {})
    return wanted.get("name"), wanted.get("schema")


def _words(body: Body, text: str) -> tuple[int, int]:
    return sum(len(message["content"].split()) for message in messages(body)), len(text.split())


def _logprobs(act: Act, body: Body) -> list[Body]:
    """Return the first token with its alternatives, where the request asks for them."""
    given = ((act.text or "", 0.0),) if act.first_tokens is None else act.first_tokens
    tokens: list[Body] = [{"token": token, "logprob": value} for token, value in given]
    if body.get("top_logprobs") is None or not tokens:
        return []
    return [{**tokens[0], "top_logprobs": tokens[: body["top_logprobs"]]}]


def _chat(act: Act, body: Body) -> Body:
    text = act.text or ""
    sent, written = _words(body, text)
    counted = {
        "prompt_tokens": sent,
        "completion_tokens": written,
        "total_tokens": sent + written,
    }
    message = {"role": "assistant", "content": text, **act.message}
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL_VERSION,
        "choices": [
            {
                "index": 0,
                "finish_reason": act.finish_reason,
                "message": message,
                "logprobs": {"content": _logprobs(act, body)},
            }
        ],
        "usage": counted if act.usage is None else act.usage,
    }


def _responses(act: Act, body: Body) -> Body:
    text = act.text or ""
    sent, written = _words(body, text)
    counted = {"input_tokens": sent, "output_tokens": written, "total_tokens": sent + written}
    part: Body = {"type": "output_text", "text": text, "annotations": []}
    part["logprobs"] = _logprobs(act, body)
    if act.refusal is not None:
        part = {"type": "refusal", "refusal": act.refusal}
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = cut.get(act.finish_reason)
    return {
        "id": "resp-loopback",
        "object": "response",
        "created_at": 0,
        "model": MODEL_VERSION,
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "error": None,
        "output": [
            {"type": "reasoning", "id": "rs-loopback", "summary": []},
            {
                "type": "message",
                "id": "msg-loopback",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            },
        ],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": counted if act.usage is None else act.usage,
    }


def _anthropic(act: Act, body: Body) -> Body:
    text = act.refusal or act.text or ""
    sent, written = _words(body, text)
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
    stop = "refusal" if act.refusal is not None else stops[act.finish_reason]
    block: Body = {"type": "text", "text": text}
    if "tools" in body and stop == "end_turn":
        stop = "tool_use"
        name = body["tools"][0]["name"]
        block = {"type": "tool_use", "id": "toolu-loopback", "name": name, "input": _object(text)}
    return {
        "id": "msg-loopback",
        "type": "message",
        "role": "assistant",
        "model": MODEL_VERSION,
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": written}
        if act.usage is None
        else act.usage,
    }


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"unreadable": text}


WIRES: dict[str, Callable[[Act, Body], Body]] = {
    "/v1/chat/completions": _chat,
    "/v1/responses": _responses,
    "/v1/messages": _anthropic,
}
"""By path: how a reply looks."""


Receive = Callable[[dict[str, str], Body, str], Act]


@dataclass
class HeldBatch:
    """One batch. ``lines`` None: not worked off yet."""

    path: str
    requests: list[Body]
    input_file: str = ""
    metadata: Body = field(default_factory=dict)
    lines: list[Body] | None = None
    error_lines: list[Body] = field(default_factory=list)


class BatchDesk:
    """The state of all batches. ``hold``: none of them gets any further."""

    def __init__(self, receive: Receive) -> None:
        self.hold = False
        self.held: dict[str, HeldBatch] = {}
        self.files: dict[str, str] = {}
        self._receive = receive
        self._ids = count(1)
        self._lock = threading.Lock()

    def knows(self, path: str) -> bool:
        """Tell whether a path is one of its own."""
        return _PATHS.match(path) is not None

    def handle(  # noqa: PLR0911 one a path
        self, method: str, path: str, kind: str, content: bytes, url: str
    ) -> Answer:
        """Answer a request with status and body."""
        with self._lock:
            match method, path.removeprefix("/v1/").split("/"):
                case "POST", ["files"]:
                    return self._upload(kind, content)
                case "POST", ["batches"]:
                    return self._create(json.loads(content))
                case "GET", ["batches", id] if id in self.held:
                    return 200, self._openai(id)
                case "GET", ["files", id, "content"] if id in self.files:
                    return 200, self.files[id]
                case "POST", ["messages", "batches"]:
                    requests = json.loads(content)["requests"]
                    id = self._add("msgbatch", HeldBatch("/v1/messages", requests))
                    return 200, self._anthropic(id, url, begun=False)
                case "GET", ["messages", "batches", id] if id in self.held:
                    return 200, self._anthropic(id, url)
                case "GET", ["messages", "batches", id, "results"] if id in self.held:
                    return 200, _jsonl(self.held[id].lines or [])
        return 404, {"error": {"message": f"no such path: {path}"}}

    def _upload(self, kind: str, content: bytes) -> Answer:
        message = email.message_from_bytes(
            b"Content-Type: " + kind.encode() + b"\r\n\r\n" + content
        )
        fields: dict[str, Any] = {}
        for part in message.walk():
            name = part.get_param("name", header="content-disposition")
            if name is not None:
                payload = part.get_payload(decode=True)
                assert isinstance(payload, bytes)
                fields[str(name)] = payload.decode()
        assert fields["purpose"] == "batch"
        id = f"file-{next(self._ids)}"
        self.files[id] = fields["file"]
        return 200, {"id": id, "object": "file", "purpose": "batch", "bytes": len(fields["file"])}

    def _create(self, body: Body) -> Answer:
        requests = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert body["completion_window"] == "24h"
        assert {request["url"] for request in requests} == {body["endpoint"]}
        assert {request["method"] for request in requests} == {"POST"}
        held = HeldBatch(
            body["endpoint"], requests, body["input_file_id"], body.get("metadata", {})
        )
        return 200, self._openai(self._add("batch", held), begun=False)

    def _add(self, kind: str, held: HeldBatch) -> str:
        ids = [request["custom_id"] for request in held.requests]
        assert len(set(ids)) == len(ids)
        id = f"{kind}-{next(self._ids)}"
        self.held[id] = held
        return id

    def _openai(self, id: str, begun: bool = True) -> Body:
        held = self.held[id]
        if begun and held.lines is None and not self.hold:
            held.lines = []
            for request in reversed(held.requests):
                line, failed = self._openai_line(held.path, request)
                (held.error_lines if failed else held.lines).append(line)
            self.files[f"{id}-output"] = _jsonl(held.lines)
            self.files[f"{id}-errors"] = _jsonl(held.error_lines)
        done = held.lines is not None
        return {
            "id": id,
            "object": "batch",
            "endpoint": held.path,
            "input_file_id": held.input_file,
            "completion_window": "24h",
            "created_at": 0,
            "metadata": held.metadata,
            "status": "completed" if done else "in_progress",
            "output_file_id": f"{id}-output" if held.lines else None,
            "error_file_id": f"{id}-errors" if held.error_lines else None,
            "request_counts": {
                "total": len(held.requests),
                "completed": len(held.lines or []),
                "failed": len(held.error_lines),
            },
        }

    def _openai_line(self, path: str, request: Body) -> tuple[Body, bool]:
        act = self._receive({}, request["body"], path)
        line: Body = {"id": "batch_req", "custom_id": request["custom_id"], "error": None}
        if act.kind == "hang":
            expired = {"code": "batch_expired", "message": "not executed in time"}
            return {**line, "response": None, "error": expired}, True
        failed = act.kind == "status"
        body = {"error": {"message": act.text}} if failed else WIRES[path](act, request["body"])
        status = act.status if failed else 200
        return {
            **line,
            "response": {"status_code": status, "request_id": "r", "body": body},
        }, failed

    def _anthropic(self, id: str, url: str, begun: bool = True) -> Body:
        held = self.held[id]
        if begun and held.lines is None and not self.hold:
            held.lines = [self._anthropic_line(request) for request in reversed(held.requests)]
        done = held.lines is not None
        kinds = [line["result"]["type"] for line in held.lines or []]
        counts = {
            name: kinds.count(name) for name in ("succeeded", "errored", "canceled", "expired")
        }
        return {
            "id": id,
            "type": "message_batch",
            "processing_status": "ended" if done else "in_progress",
            "request_counts": {"processing": 0 if done else len(held.requests), **counts},
            "results_url": f"{url}/v1/messages/batches/{id}/results" if done else None,
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
        }

    def _anthropic_line(self, request: Body) -> Body:
        act = self._receive({}, request["params"], "/v1/messages")
        if act.kind == "hang":
            result: Body = {"type": "expired"}
        elif act.kind == "status":
            kind = "invalid_request_error" if act.status == 400 else "api_error"
            error = {"type": "error", "error": {"type": kind, "message": act.text}}
            result = {"type": "errored", "error": error}
        else:
            message = WIRES["/v1/messages"](act, request["params"])
            result = {"type": "succeeded", "message": message}
        return {"custom_id": request["custom_id"], "result": result}


def _jsonl(lines: list[Body]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)
