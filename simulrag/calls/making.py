"""Making a call that no row answers, and putting what came back into a row's text."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import JsonValue

from simulrag.calls.keys import CallKind, canonical_json
from simulrag.calls.stored import from_text
from simulrag.errors import CacheError

_TELLING = ("task", "provider", "endpoint", "model", "sample_index", "simulator", "tool", "seed")


@dataclass(frozen=True)
class CallResult:
    """What a call returned. ``usage``: the provider's counts (tokens). ``paid``: it cost money.

    ``service``: how it was bought. See StoredCall.
    """

    response: JsonValue
    usage: dict[str, int] = field(default_factory=dict)
    model_version: str = ""
    paid: bool = False
    service: str = ""


async def make_call(
    kind: CallKind,
    key: str,
    request: dict[str, JsonValue],
    call: Callable[[], Awaitable[CallResult]],
) -> str:
    """Make the call; the text of its row.

    Raises CacheError for a response that JSON cannot hold, and whatever ``call`` raises.
    """
    started = time.monotonic()
    result = await call()
    latency_s = time.monotonic() - started
    content = {
        "key": key,
        "kind": kind,
        "request": request,
        "response": result.response,
        "usage": result.usage,
        "model_version": result.model_version,
        "paid": result.paid,
        "service": result.service,
        "latency_s": latency_s,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    try:
        text = canonical_json(content)
        from_text(text)  # now, while what is wrong with it can still be told
    except ValueError as error:
        raise CacheError(
            f"{described(kind, request)} returned what JSON cannot hold, nothing was stored: "
            f"{error}"
        ) from error
    return text


def described(kind: CallKind, request: Mapping[str, JsonValue]) -> str:
    """The call in words, for an error message."""
    told = [f"{name} {request[name]}" for name in _TELLING if name in request]
    return f"the {kind} call ({', '.join(told) or 'no details'})"
