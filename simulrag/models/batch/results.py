"""Result lines of a batch, of a file from elsewhere or written by hand, into the pending calls.

A line answers the call whose id is its ``custom_id``. It holds one of

- OpenAI's ``response`` (or ``error``),
- Anthropic's ``result``,
- ``text``, the reply as a text or a JSON object, with ``model`` and ``usage`` where known.

What the reply means is not judged here: the stage that asked validates it, with its schema and its
own check, when it runs again. Then it is stored as if the call had been made, or sent back once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ValidationError

from simulrag.calls.stored import parse_json
from simulrag.errors import ModelError, ReplyRefused, ReplyTruncated
from simulrag.models.batch.lines import body_of, provider_of, sampling_of
from simulrag.models.pending import BatchReply, PendingCall, PendingStore
from simulrag.models.providers.credentials import known_key, without_key
from simulrag.records import Record, Usage

FILE = "file"
"""``service`` of a reply from a file: no price is known for it."""

CALLS_PER_TRANSACTION = 500


class ImportedReplies(Record):
    """What an import did.

    ``answered``: calls that have a reply now; ``failed`` of them one that fails their question (a
    refusal, a cut-off reply). ``present``: answered before. ``again``: the provider failed, they
    wait to be sent again. ``refused``: "line N: why" for each line that answers no pending call.
    """

    answered: int = 0
    failed: int = 0
    present: int = 0
    again: int = 0
    refused: tuple[str, ...] = ()

    def __add__(self, other: ImportedReplies) -> ImportedReplies:
        names = ImportedReplies.model_fields
        return ImportedReplies(**{n: getattr(self, n) + getattr(other, n) for n in names})


class _RefusedError(ValueError):
    """The line answers no pending call; the text says why."""


def take_results(store: PendingStore, lines: Iterable[str], source: str) -> ImportedReplies:
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
        taken[call.id] = call
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
        content = parse_json(line)
    except ValueError as error:
        raise _RefusedError(str(error)) from None
    id = content.get("custom_id") if isinstance(content, dict) else None
    if not isinstance(id, str):
        raise _RefusedError("no custom_id")
    call = taken.get(id) or store.call(id)
    if call is None:
        raise _RefusedError(
            f"no call with key {id} is pending: it was never asked, its request has changed since, "
            "or its reply is in the call cache already"
        )
    sent = content.get("body", content.get("params"))
    if sent is not None and sent != body_of(call):
        raise _RefusedError(f"the request of {id} was altered: it is not what this call sends")
    if call.reply is not None:
        return call, "present"
    reply = _reply(call, content)
    if reply is None:
        return call.model_copy(update={"batch": None}), "again"
    key = known_key(provider_of(call.target).key_variable)
    kept = {
        "text": without_key(reply.text, key),
        "model_version": without_key(reply.model_version, key),
        "context": without_key(reply.context, key),
    }
    if reply.failure is not None:
        kept["failure"] = without_key(reply.failure, key)
    return call.model_copy(update={"reply": reply.model_copy(update=kept)}), "answered"


def _reply(call: PendingCall, content: dict[str, Any]) -> BatchReply | None:
    """The reply; None where the provider failed and is to be asked again."""
    if "text" in content:
        return _written(content)
    batches = provider_of(call.target).batches
    if batches.result not in content:
        raise _RefusedError(f"no reply of {call.target.provider}'s interface in it, and no 'text'")
    try:
        body = batches.body(content)
    except ValueError as error:
        raise _RefusedError(str(error)) from None
    if body is None:
        return None
    if isinstance(body, str):
        return BatchReply(failure=body)
    try:
        reply = provider_of(call.target).read(body, sampling_of(call))
    except (ReplyTruncated, ReplyRefused) as error:
        kind: Literal["truncated", "refused"] = "refused"
        if isinstance(error, ReplyTruncated):
            kind = "truncated"
        return BatchReply(failure=str(error), failure_kind=kind, usage=error.usage or Usage())
    except ModelError:
        return None
    except (AttributeError, TypeError, ValueError):
        # Read without the SDK's validation, as a live reply is; a file may hold anything.
        raise _RefusedError(f"the reply to {call.id} has not the form of the provider's") from None
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
