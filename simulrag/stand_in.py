"""Replies that stand in for those of a model: they fit their schema and say nothing.

They are made from the prompt alone, so that one function gives them to a plan, to a test over HTTP
and to ``python -m simulrag.testing``. They hold no digit of their own, so that no audit of numbers
takes offence, and each begins with ``MARK``: a prompt with that word in it rests on a reply that no
model made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from simulators.base import Exampled, Simulator
from simulators.json_schema import names_of, schema_of
from simulators.registry import load, names, reaches_out

MARK = "Stand-in:"
RIGHT, WRONG, OPEN = "rightly", "wrongly", "openly"
"""Words of a text that is to be found true, wrong, or open; the right one of several options."""
Finding = Literal["right", "wrong", "open"]
WRONG_ONES = 4
"""One claim in so many: of those of the recorded answers a quarter was corrected."""
SENTENCE_TOKENS = 25
"""Of an atomic claim as models write them, and so of a sentence here."""
_SHARED = 0.6
"""The share of a reply's sentences that its other samples say too: of the recorded answers' claims,
that much stood in an earlier sample's."""
_WORDS = 11
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnprstv")
_NUMBERED = re.compile(r"^(\d+): (.*?)(?=^\d+: |\Z)", re.M | re.S)
_BULLET = re.compile(r"^- (.*?)(?=^- |\Z)", re.M | re.S)
_TOOL = re.compile(r"^### (\w+)$", re.M)
_TOOLS = re.compile(r"^### (\w+)$(.*?)(?=^### )", re.M | re.S)
_ROW = re.compile(r"^\| (\w+) \| ([^|]*) \| [^|]* \| ([^|]*) \| required \|", re.M)
_COUNT = re.compile(r"\b(?:exactly|at most) (\d+)\b")


class Message(Protocol):
    """A message of a prompt."""

    @property
    def content(self) -> str:
        """Its text."""
        ...


@dataclass(frozen=True)
class Prompted:
    """A request as a stand-in sees it: its messages, the name of its schema, which sample it is.

    ``simulators``: those that a handbook in it may be of, before the registered ones.
    """

    messages: Sequence[Message]
    shape: str = ""
    sample: int = 0
    simulators: Sequence[Simulator] = ()

    @property
    def seed(self) -> str:
        """A text that no other request has, but for its other samples."""
        return "".join(message.content for message in self.messages)

    def has(self, tag: str) -> bool:
        """Tell whether the prompt has such a part."""
        return section(self.messages, tag) is not None

    def text(self, tag: str) -> str:
        """Return a part of the prompt; "" where it has none."""
        return section(self.messages, tag) or ""

    def listed(self, tag: str) -> list[str]:
        """List the items of a part that numbers them."""
        return numbered(self.text(tag))

    @property
    def count(self) -> int:
        """How many items are asked for, as the prompt says last."""
        counts = _COUNT.findall(self.seed)
        return int(counts[-1]) if counts else 1

    def tools(self, text: str | None = None) -> list[tuple[Simulator, str]]:
        """Find the tools that a handbook in the prompt (or ``text``) names, with who has them."""
        told = self.seed if text is None else text
        known = [*self.simulators, *_registered(tuple(names()))]
        owners = (
            (next((s for s in known if _tells_of(told, s, tool)), None), tool)
            for tool in _TOOL.findall(told)
        )
        return [(owner, tool) for owner, tool in owners if owner is not None]

    def example(self) -> tuple[str, dict[str, Any]] | None:
        """Make a call of the first tool, as its simulator is tried with it; None without a tool.

        Of a simulator that is not known, by what its handbook requires.
        """
        for owner, tool in self.tools():
            return tool, example_call(owner, tool)
        for tool, table in _TOOLS.findall(f"{self.seed}\n### "):
            return tool, {name: _required(kind, ends) for name, kind, ends in _ROW.findall(table)}
        return None


def _tells_of(handbook: str, simulator: Simulator, tool: str) -> bool:
    """Tell a simulator's tool from another's of that name, by its arguments."""
    if tool not in simulator.tools:
        return False
    return all(name in handbook for name in names_of(simulator.tools[tool].arguments))


def _required(kind: str, ends: str) -> str | float:
    """Choose a value for an argument, as a handbook's table describes it."""
    if kind.startswith("one of "):
        return kind.removeprefix("one of ").partition(",")[0].strip()
    if kind.startswith(("number", "integer")):
        return float(ends.partition(" to ")[0]) if " to " in ends else 1.0
    return MARK


@lru_cache(maxsize=1)
def _registered(named: tuple[str, ...]) -> tuple[Simulator, ...]:
    """Load those registered simulators that need no setting."""
    loaded = []
    for name in named:
        with suppress(Exception):  # it wants settings, or is somebody's
            if not reaches_out(name):
                loaded.append(load(name))
    return tuple(loaded)


def section(messages: Sequence[Message], tag: str) -> str | None:
    """Read the text between ``<tag>`` and ``</tag>``, None where the prompt has no such part.

    The tags stand on lines of their own, so the first opening and the last closing line of a
    message are the prompt's even where the data holds the same tag.
    """
    for message in messages:
        match = re.search(rf"^<{tag}>\n(.*)^</{tag}>", message.content, re.M | re.S)
        if match:
            return match[1].strip()
    return None


def numbered(text: str) -> list[str]:
    """List the items of a ``0: ...`` list in order."""
    return [match[2].strip() for match in _NUMBERED.finditer(text + "\n")]


def bullets(text: str) -> list[str]:
    """List the items of a ``- ...`` list in order."""
    return [match[1].strip() for match in _BULLET.finditer(text + "\n")]


def finding(text: str) -> Finding:
    """Say what is found of a claim, as its words say; of other stand-ins one in four is wrong."""
    findings: dict[str, Finding] = {RIGHT: "right", WRONG: "wrong", OPEN: "open"}
    for word, meaning in findings.items():
        if word in text:
            return meaning
    return "wrong" if MARK in text and draw(text) % WRONG_ONES == 0 else "right"


def draw(*seeds: object) -> int:
    """Draw a whole number from 0 to 2**32 - 1; other seeds give others."""
    return int.from_bytes(hashlib.sha256(repr(seeds).encode()).digest()[:4])


def sentence(*seeds: object) -> str:
    """Write made-up words, about as long as a claim; other seeds give other words."""
    letters = hashlib.shake_256(repr(seeds).encode()).hexdigest(4 * _WORDS).translate(_LETTERS)
    words = (letters[start : start + 8] for start in range(0, len(letters), 8))
    return f"{MARK} {' '.join(words)}."


def prose(prompted: Prompted, tokens: int) -> str:
    """Write sentences to about that many tokens; what another sample leaves out comes last."""
    wanted = max(1, round(tokens / SENTENCE_TOKENS))
    shared = round(_SHARED * wanted)
    texts = [sentence(prompted.seed, number) for number in range(shared)]
    texts += [sentence(prompted.seed, number, prompted.sample) for number in range(shared, wanted)]
    return " ".join(texts)


def sentences(text: str) -> list[str]:
    """Take a stand-in text apart again; any other text at its full stops."""
    return [f"{part.removesuffix('.')}." for part in text.replace("\n", " ").split(". ") if part]


def filled(schema: Mapping[str, Any], seed: str, listed: Callable[[str], int] = lambda _: 0) -> Any:
    """Fill a JSON schema with the plainest value: none where it may be, else the first of a list.

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
    return float(f"{low + (high - low) * (draw(seed) + 1) / (2**32 + 1):.4g}")


def example_call(simulator: Simulator, tool: str) -> dict[str, JsonValue]:
    """Choose arguments to try a tool: the simulator's own example, else by their schema."""
    named = simulator.examples().get(tool) if isinstance(simulator, Exampled) else None
    if named:
        return dict(named[0])
    arguments: dict[str, JsonValue] = filled(schema_of(simulator.tools[tool].arguments), tool)
    return arguments
