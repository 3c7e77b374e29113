"""The wire formats that the loopback server speaks: what a request asks, how a reply looks.

And the tagged parts of a rendered prompt, as any reader of the messages sees them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Body = dict[str, Any]

MODEL_VERSION = "loopback-1"


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
        said: str | None = self.message.get("refusal")
        return said


def schema_name(body: Body) -> str | None:
    """The name of the JSON schema that a request asks for; None for free text."""
    return _wanted(body)[0]


def schema_of(body: Body) -> Body:
    """The JSON schema that a request asks for; {} for free text."""
    return _wanted(body)[1] or {}


def messages(body: Body) -> list[Body]:
    """The conversation, each message as its role and content."""
    said = [*body.get("messages", ()), *body.get("input", ())]
    system = body.get("system")
    if system is None:
        return said
    text = "\n\n".join(block["text"] for block in system)
    return [{"role": "system", "content": text}, *said]


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
    """The first token with its alternatives, where the request asks for them."""
    given = ((act.text or "", 0.0),) if act.first_tokens is None else act.first_tokens
    told: list[Body] = [{"token": token, "logprob": value} for token, value in given]
    if body.get("top_logprobs") is None or not told:
        return []
    return [{**told[0], "top_logprobs": told[: body["top_logprobs"]]}]


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
