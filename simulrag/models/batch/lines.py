"""Pending calls as the lines of batch files, and the lines that come back.

A request's line is exactly what the gateway would send; what it has beside its ``custom_id`` is the
provider's (``SdkProvider.batches``). A result's line, of a batch, of a file from elsewhere or
written by hand, answers the call whose id is its ``custom_id``. It holds one of

- OpenAI's ``response`` (or ``error``),
- Anthropic's ``result``,
- ``text``, the reply as a text or a JSON object, with ``model`` and ``usage`` where known.

What the reply means is not judged here: the stage that asked validates it, with its schema and its
own check, when it runs again. Then it is stored as if the call had been made, or sent back once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import ValidationError

from simulrag.calls.rows import parse_json
from simulrag.errors import InputError, ModelError
from simulrag.models.base import Message, Sampling
from simulrag.models.pending import FAILED, FILE, BatchReply, PendingCall, PendingStore, Target
from simulrag.models.providers.faults import ODD_SHAPE, known_key, scrub, without_key
from simulrag.models.providers.registry import make_provider
from simulrag.models.providers.sdk import SdkProvider
from simulrag.models.settings import ModelSettings
from simulrag.records import Record, Usage

CALLS_PER_TRANSACTION = 500
READ_TIMEOUT_S = 600.0
"""Of a request about a batch, and of each line of its results."""


@dataclass(frozen=True)
class BatchLimits:
    """The most that one batch may hold; ``size`` in bytes."""

    requests: int
    size: int


@dataclass(frozen=True)
class Part:
    """One batch: its calls and their lines. ``name`` is derived from the content."""

    name: str
    target: Target
    path: str
    calls: tuple[PendingCall, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The file's content."""
        return "".join(line + "\n" for line in self.lines)


@lru_cache(maxsize=64)
def provider_of(target: Target) -> SdkProvider:
    """Make the provider of a target. Raises InputError where it takes no batches."""
    provider = make_provider(ModelSettings.model_validate(target.model_dump()))
    if not isinstance(provider, SdkProvider):
        raise InputError(f"provider '{target.provider}' takes no batches; openai and anthropic do")
    provider.timeout_s = READ_TIMEOUT_S
    provider.retries = 0  # a repeated POST could make, and bill, a batch twice
    return provider


def sampling_of(call: PendingCall) -> Sampling:
    """Return the sampling that a call is keyed with."""
    return Sampling.model_validate(call.request["sampling"])


def messages_of(call: PendingCall) -> list[Message]:
    """Return the conversation that a call sends."""
    request: Any = call.request
    return [Message.model_validate(message) for message in request["messages"]]


def body_of(call: PendingCall) -> dict[str, Any]:
    """Return the JSON that a call sends."""
    request: Any = call.request
    provider = provider_of(call.target)
    sampling, index = sampling_of(call), request["sample_index"]
    return provider.body(messages_of(call), request["schema"], sampling, index)


def request_line(call: PendingCall) -> str:
    """Return the line of a call."""
    provider = provider_of(call.target)
    line = {"custom_id": call.id, **provider.batches.request(provider.path, body_of(call))}
    return json.dumps(line, ensure_ascii=True)


def parts(calls: Iterable[PendingCall], limits: BatchLimits | None = None) -> Iterator[Part]:
    """Part waiting calls into batches, one model and interface each, as the provider limits them.

    Raises InputError for a call that is too large for a batch of its own.
    """
    groups: dict[str, list[PendingCall]] = {}
    for call in calls:
        if call.waiting:
            groups.setdefault(call.target.model_dump_json(), []).append(call)
    for group in dict(sorted(groups.items())).values():
        target = group[0].target
        own = provider_of(target).batches
        most = limits or BatchLimits(own.most_requests, own.most_bytes)
        yield from _split(target, group, most)


def _split(target: Target, group: list[PendingCall], limits: BatchLimits) -> Iterator[Part]:
    calls: list[PendingCall] = []
    lines: list[str] = []
    size = 0
    for call in group:
        line = request_line(call)
        length = len(line) + 1  # the line is ASCII
        if length > limits.size:
            raise InputError(
                f"the call '{call.task}' (key {call.id}) takes {length} bytes, more than a batch "
                f"may hold ({limits.size})"
            )
        if lines and (len(lines) == limits.requests or size + length > limits.size):
            yield _part(target, calls, lines)
            calls, lines, size = [], [], 0
        calls.append(call)
        lines.append(line)
        size += length
    if lines:
        yield _part(target, calls, lines)


def _part(target: Target, calls: list[PendingCall], lines: list[str]) -> Part:
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
    words = (target.provider, target.endpoint, target.model)
    name = "-".join(re.sub(r"[^A-Za-z0-9._]+", "_", word) for word in words)
    path = provider_of(target).path
    return Part(f"{name}-{digest}", target, path, tuple(calls), tuple(lines))


class ImportedReplies(Record):
    """What an import did.

    ``answered``: calls that have a reply now; ``failed`` of them one that fails their question (a
    refusal, a reply that is cut off or odd). ``present``: answered before. ``again``: the provider
    failed, they wait to be sent again. ``refused``: "line N: why" for each line not taken.
    """

    answered: int = 0
    failed: int = 0
    present: int = 0
    again: int = 0
    refused: tuple[str, ...] = ()

    def __add__(self, other: ImportedReplies) -> ImportedReplies:
        names = ImportedReplies.model_fields
        return ImportedReplies(**{n: getattr(self, n) + getattr(other, n) for n in names})


class _RefusedError(Exception):
    """The line is not taken; the text says why."""


Bill = Callable[[PendingCall], PendingCall]
"""Bills a call's reply, and returns the call that says so."""


def unbilled(call: PendingCall) -> PendingCall:
    """Leave a reply to be billed by the stage that takes it."""
    return call


def take_results(
    store: PendingStore, lines: Iterable[str], source: str, bill: Bill = unbilled
) -> ImportedReplies:
    """Put the replies of ``lines`` to their calls. ``source`` names them in refusals."""
    refused: list[str] = []
    taken: dict[str, PendingCall] = {}
    counts = {"answered": 0, "failed": 0, "present": 0, "again": 0}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            call, what = _matched(store, taken, line)
        except _RefusedError as error:
            refused.append(f"{source}, line {number}: {error}")
            continue
        taken[call.id] = bill(call) if what == "answered" else call
        counts[what] += 1
        counts["failed"] += what == "answered" and (call.reply or BatchReply()).failure is not None
        if len(taken) >= CALLS_PER_TRANSACTION:
            store.put(*taken.values())
            taken.clear()
    store.put(*taken.values())
    return ImportedReplies(**counts, refused=tuple(refused))


def _matched(
    store: PendingStore, taken: dict[str, PendingCall], line: str
) -> tuple[PendingCall, Literal["answered", "present", "again"]]:
    try:
        line.encode()
        content = parse_json(line)
    except UnicodeEncodeError:
        raise _RefusedError("not UTF-8 text") from None
    except ValueError as error:
        raise _RefusedError(str(error)) from None
    id = content.get("custom_id") if isinstance(content, dict) else None
    if not isinstance(id, str):
        raise _RefusedError("no custom_id")
    known = re.fullmatch("[0-9a-f]{64}", id)
    call = (taken.get(id) or store.call(id)) if known else None
    if call is None:
        shown = id if known else "of another form"
        raise _RefusedError(
            f"no call with key {shown} is pending: it was never asked, its request has changed "
            "since, or its reply is in the call cache already"
        )
    sent = content.get("body", content.get("params"))
    if sent is not None and sent != body_of(call):
        raise _RefusedError(f"the request of {id} was altered: it is not what this call sends")
    if call.reply is not None:
        return call, "present"
    key = known_key(provider_of(call.target).key_variable)
    try:
        reply = _reply(call, content)
    except ODD_SHAPE as error:  # a file, as a server, may hold anything
        raise _RefusedError(f"the reply to {id} is none: {scrub(str(error), key)}") from None
    if reply is None:
        return call.model_copy(update={"batch": None}), "again"
    kept = {
        "text": without_key(reply.text, key),
        "model_version": scrub(reply.model_version, key),
        "context": scrub(reply.context, key),
    }
    if reply.failure is not None:
        kept["failure"] = scrub(reply.failure, key)
    return call.model_copy(update={"reply": reply.model_copy(update=kept)}), "answered"


def _reply(call: PendingCall, content: dict[str, Any]) -> BatchReply | None:
    """Return the reply; None where the provider failed and is to be asked again."""
    batches = provider_of(call.target).batches
    if batches.result not in content:
        if "text" in content:
            return _written(content)
        raise _RefusedError(f"no reply of {call.target.provider}'s interface in it, and no 'text'")
    body = batches.body(content)
    if body is None:
        return None
    if isinstance(body, str):
        return BatchReply(failure=body)
    try:
        reply = provider_of(call.target).read(body, sampling_of(call))
    except ModelError as error:  # the provider took it for answered, so it was billed
        return BatchReply(
            failure=str(error),
            failure_kind=next(kind for kind, made in FAILED.items() if isinstance(error, made)),
            usage=error.usage or Usage(calls=1),
        )
    return BatchReply(
        text=reply.text,
        usage=reply.usage,
        model_version=reply.model_version,
        first_tokens=reply.first_tokens,
    )


def _written(content: dict[str, Any]) -> BatchReply:
    text = content["text"]
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False)
    try:
        usage = Usage.model_validate(content.get("usage", {}))
    except ValidationError:
        known = ", ".join(sorted(set(Usage.model_fields) - {"calls"}))
        raise _RefusedError(f"'usage' may hold the numbers {known}, and nothing else") from None
    return BatchReply(
        text=text,
        usage=usage,
        model_version=str(content.get("model", "")),
        context=str(content.get("context") or ""),
        service=FILE,
    )
