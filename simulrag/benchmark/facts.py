"""What may be said about one run: its outputs, its set-up and the classes asked for, as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from simulrag.models.replies import Ask, Template
from simulrag.records import Evidence
from simulrag.statements import Direction, Quantity, quantities, subject_spans

_UNITS = {
    "_percent": "percent",
    "_degc": "degc",
    "_weeks": "weeks",
    "_mg": "mg",
    "_ml": "ml",
    "_km": "km",
    "_kg": "kg",
    "_s": "s",
    "_m": "m",
}
_CHANGE = re.compile(
    r"\b(?:changes?|differences?|growth|increases?|decreases?|reductions?)\b", re.I
)
_PLAIN_WORDS = re.compile(
    r"the|an?|of|in|on|at|by|to|and|or|percent(?:age)?|changes?|average|mean|total|median", re.I
)
FLAT_SHARE = 0.1
"""A change below this share of the first class limit may be called unchanged."""


@dataclass(frozen=True)
class Output:
    """One number of the evidence. ``ask`` is set where the question asks for it."""

    name: str
    words: str
    quantity: Quantity
    ask: Ask | None

    @property
    def is_change(self) -> bool:
        """Whether the sign tells which way the quantity went."""
        name = self.name.replace("_", " ")
        spread = re.search(r"\b(?:sd|std|deviation|spread)\b", f"{name} {self.words}")
        return bool(_CHANGE.search(f"{name} {self.words}")) and not spread

    @property
    def limits(self) -> list[float]:
        """The magnitudes at which a class begins, without the first (0)."""
        return [] if self.ask is None else [c.from_magnitude for c in self.ask.classes[1:]]

    @property
    def class_names(self) -> list[str]:
        """The names of the classes asked for."""
        return [] if self.ask is None else [item.name for item in self.ask.classes]

    @property
    def class_name(self) -> str | None:
        """The class that the magnitude falls into, by the template's limits."""
        if self.ask is None:
            return None
        magnitude = abs(self.quantity.value)
        reached = [c.name for c in self.ask.classes if c.from_magnitude <= magnitude]
        return reached[-1] if reached else None

    def mentions(self, text: str) -> list[tuple[int, int]]:
        """Where a text speaks of the quantity: by subject, else by the words it is asked in."""
        known = {name for name, _, _ in _spans(self.words)}
        if known:
            return [(start, end) for name, start, end in _spans(text) if name in known]
        words = [
            w for w in re.findall(r"[\w-]+", self.words.lower()) if not _PLAIN_WORDS.fullmatch(w)
        ]
        found = [re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.I) for word in words]
        spans = [match.span() for match in found if match is not None]
        return spans[-1:] if spans and len(spans) == len(words) else []

    def allows(self, stated: frozenset[Direction]) -> bool:
        """Whether the sign of the change is among the stated directions (none stated: yes)."""
        value = self.quantity.value
        right: set[Direction] = {"up"} if value > 0 else {"down"} if value < 0 else {"flat"}
        if self.limits and abs(value) < FLAT_SHARE * self.limits[0]:
            right.add("flat")
        return not stated or bool(stated & right)


@dataclass(frozen=True)
class Facts:
    """``outputs``: asked ones first. ``setup``: the situation's numbers. ``limits``: of classes."""

    outputs: tuple[Output, ...]
    setup: tuple[float, ...]
    limits: tuple[float, ...]

    @property
    def asked(self) -> list[Output]:
        """The outputs that the question asks for, in the template's order."""
        return [output for output in self.outputs if output.ask is not None]


def gather_facts(
    template: Template, situation: str, shown: dict[str, float], evidence: Evidence
) -> Facts:
    """The facts of one run, out of its structured outputs (never out of its text)."""
    asks = {ask.output: ask for ask in template.asks}
    outputs = [
        Output(name, asks[name].words if name in asks else _words(name), quantity, asks.get(name))
        for name, quantity in _numbers(evidence.outputs)
    ]
    order = list(asks)
    outputs.sort(key=lambda item: order.index(item.name) if item.name in asks else len(order))
    fixed = [
        float(item.value)
        for item in template.fixed
        if isinstance(item.value, int | float) and not isinstance(item.value, bool)
    ]
    setup = [item.value for item in quantities(situation)] + list(shown.values()) + fixed
    limits = [limit for output in outputs for limit in output.limits]
    return Facts(tuple(outputs), tuple(dict.fromkeys(setup)), tuple(dict.fromkeys(limits)))


@lru_cache(maxsize=4096)
def _spans(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(subject_spans(text))


def _numbers(value: JsonValue, name: str = "") -> Iterator[tuple[str, Quantity]]:
    match value:
        case bool() | None:
            return
        case dict():
            for key, item in value.items():
                yield from _numbers(item, f"{name}.{key}" if name else key)
        case list():
            for index, item in enumerate(value):
                yield from _numbers(item, f"{name}.{index}")
        case str():
            for quantity in quantities(value):
                yield name, quantity
        case _:
            yield name, Quantity(float(value), _unit(name), 0, 0, 0, 0)


def _unit(name: str) -> str:
    return next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), "")


def _words(name: str) -> str:
    stem = next((name.removesuffix(suffix) for suffix in _UNITS if name.endswith(suffix)), name)
    return re.sub(r"[._]+", " ", stem)
