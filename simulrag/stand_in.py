"""Replies that stand in for those still to be made: they fit their schema and say nothing.

A plan runs the stages on them to count the calls to come, and the test double gives them where it
has nothing better to say. They hold no digit, so that no audit of numbers takes offence, and each
begins with ``MARK``: a prompt with that word in it rests on a reply that is still to be made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

MARK = "Stand-in:"
RIGHT = "rightly"
"""In a stand-in: a claim that is to be found true, the right one of several options."""
SENTENCE_TOKENS = 25
"""Of an atomic claim as models write them, and so of a sentence here."""
_SHARED = 0.6
"""The share of a reply's sentences that its other samples say too: of the recorded answers' claims,
that much stood in an earlier sample's."""
_WORDS = 11
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnprstv")


@dataclass(frozen=True)
class Prompted:
    """A request as a stand-in sees it.

    ``values``: what its prompt is rendered with, and what else the step tells. ``seed``: a text
    that no other request has, but for its other samples.
    """

    values: Mapping[str, Any]
    seed: str
    sample: int = 0


def sentence(*seeds: object) -> str:
    """A sentence of made-up words, about as long as a claim; other seeds give other words."""
    letters = hashlib.shake_256(repr(seeds).encode()).hexdigest(4 * _WORDS).translate(_LETTERS)
    words = (letters[start : start + 8] for start in range(0, len(letters), 8))
    return f"{MARK} {' '.join(words)}."


def prose(prompted: Prompted, tokens: int) -> str:
    """Sentences to about that many tokens; those that another sample does not say come last."""
    wanted = max(1, round(tokens / SENTENCE_TOKENS))
    shared = round(_SHARED * wanted)
    texts = [sentence(prompted.seed, number) for number in range(shared)]
    texts += [sentence(prompted.seed, number, prompted.sample) for number in range(shared, wanted)]
    return " ".join(texts)


def sentences(text: str) -> list[str]:
    """A stand-in text taken apart again; any other text at its full stops."""
    return [f"{part.removesuffix('.')}." for part in text.replace("\n", " ").split(". ") if part]


def filled(schema: Mapping[str, Any], seed: str, listed: Callable[[str], int] = lambda _: 0) -> Any:
    """The plainest value of a JSON schema: none where it may be, else the first word of a list.

    Booleans are false, whole numbers as large as they may be, others somewhere in their range, and
    arrays as short as they may be; but one of numbered items (with an ``index``) has as many as
    ``listed`` says for its name.
    """
    definitions = schema.get("$defs", {})
    draws = count()

    def value(part: Mapping[str, Any], name: str) -> Any:
        part = definitions.get(part.get("$ref", "").rpartition("/")[2], part)
        plain = part.get("const", next(iter(part.get("enum", ())), None))
        if plain is not None or _may_be_none(part):
            return plain
        if "anyOf" in part:
            return value(part["anyOf"][0], name)
        kinds: Mapping[str, Callable[[], Any]] = {
            "object": lambda: {key: value(part["properties"][key], key) for key in _needed(part)},
            "array": lambda: list(items(part, name)),
            "boolean": lambda: False,
            "integer": lambda: int(part.get("maximum", part.get("minimum", 1))),
            "number": lambda: _within(part, f"{seed} {next(draws)}"),
            "string": lambda: sentence(seed, next(draws))[: part.get("maxLength")],
        }
        return kinds[part.get("type", "string")]()

    def items(part: Mapping[str, Any], name: str) -> Iterator[Any]:
        item = part.get("items", {})
        item = definitions.get(item.get("$ref", "").rpartition("/")[2], item)
        numbered_items = "index" in item.get("properties", {})
        for index in range(listed(name) if numbered_items else part.get("minItems", 0)):
            made = value(item, name)
            yield {**made, "index": index} if numbered_items else made

    return value(schema, "")


def _may_be_none(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "null" or any(map(_may_be_none, part.get("anyOf", ())))


def _needed(part: Mapping[str, Any]) -> Iterable[str]:
    needed: Iterable[str] = part.get("required", part.get("properties", ()))
    return needed


def _within(part: Mapping[str, Any], seed: str) -> float:
    low = part.get("minimum", part.get("exclusiveMinimum", 0.0))
    high = part.get("maximum", part.get("exclusiveMaximum", low + 100.0))
    draw = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4])
    return float(f"{low + (high - low) * (draw + 1) / (2**32 + 1):.4g}")


def numbered(prompted: Prompted, name: str) -> int:
    """How many items a prompt lists under a name."""
    listed = prompted.values.get(name, ())
    return len(listed) if isinstance(listed, list | tuple) else 0
