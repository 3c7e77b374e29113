"""Why a model call is not stored: the nearest recorded call, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from simulrag.calls.keys import canonical_json, plain_request
from simulrag.calls.places import CachePlace
from simulrag.calls.store import scan_store
from simulrag.calls.stored import CALL, parse_json

WAYS_ON = (
    "Ways on: `simulrag use openai:gpt-5-mini` (a model of your own) with operations.budget, a "
    "server of your own (`simulrag use http://HOST:PORT/v1#MODEL`), or batch files "
    "(operations.mode: deferred without replay, then `simulrag batch`)"
)


def explain_miss(place: CachePlace, request: Mapping[str, JsonValue]) -> str:
    """Why a model call is not stored: the nearest recorded call and what differs, in a sentence.

    The nearest has the same schema (or, for free text, the same first line), then the most equal
    fields, then the longest equal beginning of its messages.
    """
    wanted = plain_request(request)
    kind = _kind(wanted)
    best: tuple[int, int, dict[str, Any]] = (-1, -1, {})
    for row in scan_store(place, CALL):
        try:
            there = parse_json(row.text)["request"]
            if _kind(there) != kind:
                continue
            equal = sum(there.get(name) == value for name, value in wanted.items())
            alike = _alike(_said(there), _said(wanted))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a simulator run, or a row that `simulrag cache verify` tells of
        best = max(best, (equal, alike, there), key=lambda found: found[:2])
    there = best[2]
    if not there:
        return f"No call like it is recorded ('{kind}')."
    names = [name for name in sorted({*wanted, *there}) if wanted.get(name) != there.get(name)]
    differences = "; ".join(_difference(name, there, wanted) for name in names)
    return f"The nearest recorded call ('{kind}') differs: {differences}."


def _kind(request: Mapping[str, Any]) -> str:
    """What kind of question it is: its schema's title, else the first line of its messages."""
    title = (request.get("schema") or {}).get("title")
    return str(title) if title else _said(request).partition("\n")[0][:80]


def _said(request: Mapping[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in request["messages"])


def _alike(one: str, two: str) -> int:
    """How many characters are the same from the beginning on."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )


def _difference(name: str, there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    if name != "messages":
        old, new = canonical_json(there.get(name)), canonical_json(here.get(name))
        long = len(old + new) > 160
        return f"another {name}" if long else f"{name} is {old} there and {new} here"
    texts = _said(there), _said(here)
    at = _alike(*texts)
    old, new = (" ".join(text[max(0, at - 20) : at + 40].split()) for text in texts)
    return f"its messages, from character {at} on: '{old}' there, '{new}' here"
