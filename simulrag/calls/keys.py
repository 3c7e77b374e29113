"""What makes two calls the same call.

A call's key is the sha256 of the canonical JSON of everything that can change its result. Two
spellings of one request must meet in one key, and two different requests must never:

- object keys are sorted, nothing is padded, text stays as it is (no Unicode folding: other code
  points are another prompt);
- NaN and the infinities are refused: JSON has no such numbers and NaN equals nothing;
- object keys must be text: ``{1: x}`` and ``{"1": x}`` would otherwise collide;
- in a *request*, ``1.0`` and ``1`` are one number, written ``1`` (``temperature: 1`` in a params
  file must not repay ``temperature: 1.0``). Responses keep their own spelling.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import JsonValue

CallKind = Literal["model", "simulator"]

KEY_VERSION = 1
"""Part of every key. Raise it when the meaning of a request changes: old rows are then missed."""

LARGEST_EXACT_INTEGER = 2**53
"""Above this a float no longer tells neighbouring integers apart (IEEE 754 binary64)."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_json(value: object) -> str:
    """Write the one JSON text of ``value``: sorted keys, no spaces, text unescaped if it can be.

    Numbers keep their type: ``1.0`` stays ``1.0``. Half a surrogate pair (models do send them) has
    no UTF-8 form and is written as its ``\\uXXXX`` escape. Raises ValueError, naming the place, for
    whatever JSON cannot hold.
    """
    return encoded(_plain(value, None, fold=False))


def request_text(request: Mapping[str, JsonValue]) -> str:
    """Write the canonical JSON of a request as it is keyed and stored. Raises ValueError."""
    return encoded(_plain(request, None, fold=True))


def plain_request(request: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the request as it is keyed and stored. Raises ValueError."""
    plain: dict[str, JsonValue] = json.loads(request_text(request))
    return plain


def call_key(kind: CallKind, request: Mapping[str, JsonValue]) -> str:
    """Compute the key of a call, 64 hexadecimal digits. Raises ValueError."""
    return key_of(kind, request_text(request))


def key_of(kind: str, request: str) -> str:
    """Compute the key of a call whose request has this canonical text."""
    keyed = f'{{"kind":"{kind}","request":{request},"version":{KEY_VERSION}}}'
    return hashlib.sha256(keyed.encode()).hexdigest()


def _plain(value: object, place: Any, *, fold: bool) -> JsonValue:
    """Copy into JSON's own types, or raise ValueError. ``fold``: integral floats as integers."""
    if isinstance(value, str):
        return value if value.isascii() else _joined(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} at {_shown(place)} is not a JSON number")
        exact = fold and abs(value) <= LARGEST_EXACT_INTEGER and value.is_integer()
        return int(value) if exact else value
    if isinstance(value, list | tuple):
        return [_plain(item, (place, index), fold=fold) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        plain: dict[str, JsonValue] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise ValueError(f"the key {name!r} at {_shown(place)} is not text")
            plain[name if name.isascii() else _joined(name)] = _plain(
                item, (place, name), fold=fold
            )
        return plain
    raise ValueError(f"a {type(value).__name__} at {_shown(place)} is not a JSON value")


def _shown(place: Any) -> str:
    """Write ``$.messages[0]``, from the pairs (place around it, name or index)."""
    if place is None:
        return "$"
    around, name = place
    return _shown(around) + (f"[{name}]" if isinstance(name, int) else f".{name}")


def encoded(plain: object) -> str:
    """Write ``canonical_json`` of what a JSON parser returned, which need not be walked through."""
    text = _ENCODER.encode(plain)
    if _encodable(text):
        return text
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)


def _joined(text: str) -> str:
    """Join two halves of a surrogate pair to their one character, as a JSON parser does."""
    if _encodable(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _encodable(text: str) -> bool:
    """Tell whether a text holds no half of a surrogate pair."""
    return text.isascii() or _SURROGATE.search(text) is None
