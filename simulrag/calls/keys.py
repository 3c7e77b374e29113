"""What makes two calls the same call.

A call's key is the sha256 of the canonical JSON of everything that can change its result. Two
spellings of one request must meet in one key, and two different requests must never:

- object keys are sorted, nothing is padded, text stays as it is (no Unicode folding: other code
  points are another prompt);
- NaN and the infinities are refused: JSON has no such numbers and NaN equals nothing;
- object keys must be text: ``{1: x}`` and ``{"1": x}`` would otherwise collide;
- in a *request*, ``1.0`` and ``1`` are one number, written ``1`` (JSON knows a single number type,
  and ``temperature: 1`` in a params file must not repay ``temperature: 1.0``). Responses keep
  their own spelling: a float that was stored comes back as a float.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

CallKind = Literal["model", "simulator"]

KEY_VERSION = 1
"""Part of every key. Raise it when the meaning of a request changes: old rows are then missed."""

LARGEST_EXACT_INTEGER = 2**53
"""Above this a float no longer tells neighbouring integers apart (IEEE 754 binary64)."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_json(value: object) -> str:
    """The one JSON text of ``value``: sorted keys, no spaces, text unescaped where it can be.

    Numbers keep their type: ``1.0`` stays ``1.0``. Half a surrogate pair (models do send them) has
    no UTF-8 form and is written as its ``\\uXXXX`` escape.

    Raises ValueError, naming the place, for whatever JSON cannot hold.
    """
    text = json.dumps(_plain(value, "$"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if _encodable(text):
        return text
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)


def plain_request(request: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The request as it is keyed and stored: plain JSON values, integral floats as integers.

    Raises ValueError for whatever JSON cannot hold.
    """
    plain: dict[str, JsonValue] = json.loads(canonical_json(_one_spelling(request)))
    return plain


def call_key(kind: CallKind, request: Mapping[str, JsonValue]) -> str:
    """The key of a call, 64 hexadecimal digits.

    Raises ValueError for whatever JSON cannot hold.
    """
    keyed = {"version": KEY_VERSION, "kind": kind, "request": _one_spelling(request)}
    return hashlib.sha256(canonical_json(keyed).encode()).hexdigest()


def _plain(value: object, place: str) -> JsonValue:
    """A copy made of JSON's own types, or ValueError."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _joined(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} at {place} is no JSON number")
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        plain: dict[str, JsonValue] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError(f"the key {name!r} at {place} is no text")
            plain[_joined(name)] = _plain(item, f"{place}.{name}")
        return plain
    raise ValueError(f"a {type(value).__name__} at {place} is no JSON value")


def _joined(text: str) -> str:
    """Two halves of a surrogate pair become their one character, as a JSON parser makes them."""
    if _encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _encodable(text: str) -> bool:
    """It holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _one_spelling(value: object) -> object:
    """Integral floats as integers; everything else as it is."""
    if isinstance(value, float) and abs(value) <= LARGEST_EXACT_INTEGER and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return [_one_spelling(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _one_spelling(item) for name, item in value.items()}
    return value
