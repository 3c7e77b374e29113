"""What a row holds, how it becomes text, and how text is trusted again."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import Field, JsonValue, ValidationError

from simulrag.calls.keys import CallKind, call_key, canonical_json
from simulrag.errors import CacheError
from simulrag.records import Record

CALL_PREFIX = "call/"
LEASE_PREFIX = "lease/"
STAGE_PREFIX = "stage/"
SPENT_PREFIX = "spent/"
HOLD_PREFIX = "hold/"


class StoredCall(Record):
    """One call that was paid for, and what came back.

    ``usage`` counts what the provider counted (tokens). ``service`` is "batch" where the provider
    took its batch price, "" otherwise. ``latency_s``, ``time`` (UTC, ISO 8601), ``service`` and
    ``paid`` (made here for money) belong to this machine: exports leave them out.
    """

    key: str
    kind: CallKind
    request: dict[str, JsonValue]
    response: JsonValue
    usage: dict[str, int] = Field(default_factory=dict)
    model_version: str = ""
    service: str = ""
    latency_s: float = 0.0
    time: str = ""
    paid: bool = False


class SpentUsage(Record):
    """Usage that was billed and that no call's row holds; ``request`` names the model.

    ``service``: how it was bought, see StoredCall. ``replaces``: the key of the call whose older
    row held it before it was overwritten.
    """

    request: dict[str, str]
    usage: dict[str, int]
    time: str
    service: str = ""
    replaces: str | None = None


class StageRun(Record):
    """The counts of one stage's last run.

    A miss is a call that was made, whether it succeeded or not; a hit is an answer for which
    nothing was paid now.
    """

    mode: str = "normal"
    hits: int = 0
    misses: int = 0
    model_hits: int = 0
    model_misses: int = 0
    simulator_hits: int = 0
    simulator_misses: int = 0


def to_text(call: StoredCall) -> str:
    """The text of a row. Raises ValueError for whatever JSON cannot hold."""
    return canonical_json(call.model_dump())


def from_text(text: str) -> StoredCall:
    """The call of a row. Raises ValueError for text that is none, or holds another call's key."""
    # json, not pydantic's parser: that one refuses half a surrogate pair, which models do send.
    try:
        call = StoredCall.model_validate(parse_json(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"no stored call: {place}: {first['msg']}") from None
    if call_key(call.kind, call.request) != call.key:
        raise ValueError("its key does not belong to its request")
    return call


def parse_json(text: str) -> Any:
    """Strict JSON: no NaN, no infinities. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("no JSON: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: {error}") from None


def corrupt(place: object, row: str, what: str) -> CacheError:
    """The error for a row that cannot be trusted: paying again is for the user to choose."""
    return CacheError(
        f"the cache row {row} in {place} is corrupt or was tampered with: {what}. See every "
        "such row with `simulrag cache verify`; mode refresh calls again and overwrites it"
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"no JSON: {name}")
