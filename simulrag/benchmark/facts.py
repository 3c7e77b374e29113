"""What may be said about a question's runs: outputs, set-up and classes, as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from simulrag.benchmark.scenarios import SampledScenario
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
    """One number of the evidence. ``ask`` is set where the question asks for it.

    ``run`` counts from 0; ``against`` is the run that the number is a difference from, if any.
    """

    name: str
    words: str
    quantity: Quantity
    ask: Ask | None
    run: int = 0
    against: int | None = None

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

    def allows(self, stated: frozenset[Direction], about: int | None = None) -> bool:
        """Whether the sign of the change is among the stated directions (none stated: yes).

        ``about``: the run that a sentence speaks of first; seen from the run that is compared with,
        a difference has the other sign.
        """
        value = self.quantity.value * (-1 if about is not None and about == self.against else 1)
        right: set[Direction] = {"up"} if value > 0 else {"down"} if value < 0 else {"flat"}
        if self.limits and abs(value) < FLAT_SHARE * self.limits[0]:
            right.add("flat")
        return not stated or bool(stated & right)


@dataclass(frozen=True)
class Facts:
    """What is known of the runs behind a question.

    ``outputs``: asked ones first. ``answers``: outputs in words that are asked for. ``setup``: the
    situation's numbers. ``limits``: of classes. ``runs``: what each run is called, if several.
    """

    outputs: tuple[Output, ...]
    answers: tuple[tuple[Ask, str], ...]
    setup: tuple[float, ...]
    limits: tuple[float, ...]
    runs: tuple[str, ...]

    @property
    def asked(self) -> list[Output]:
        """The outputs that the question asks for, in the template's order."""
        return [output for output in self.outputs if output.ask is not None]


def gather_facts(
    template: Template, scenario: SampledScenario, evidence: Sequence[Evidence]
) -> Facts:
    """The facts of a question's runs, out of their structured outputs (never out of text)."""
    outputs: list[Output] = []
    for ask in template.asks:
        quantity = asked_quantity(ask, evidence)
        if quantity is not None:
            against = ask.against - 1 if ask.against else None
            name = f"{ask.output} difference" if ask.against else ask.output
            outputs.append(Output(name, ask.words, quantity, ask, ask.run - 1, against))
    asked = {(output.name, output.run) for output in outputs}
    for index, item in enumerate(evidence):
        outputs += [
            Output(name, _words(name), quantity, None, index)
            for name, quantity in _numbers(item.outputs)
            if (name, index) not in asked
        ]
    fixed = [
        float(item.value)
        for run in template.runs
        for item in run.fixed
        if isinstance(item.value, int | float) and not isinstance(item.value, bool)
    ]
    stated = [item.value for item in quantities(" ".join([scenario.situation, *scenario.words]))]
    setup = stated + list(scenario.shown.values()) + fixed
    limits = [limit for output in outputs for limit in output.limits]
    answers = tuple(
        (ask, str(evidence[ask.run - 1].outputs.get(ask.output)))
        for ask in template.asks
        if ask.answers
    )
    return Facts(
        tuple(outputs),
        answers,
        tuple(dict.fromkeys(setup)),
        tuple(dict.fromkeys(limits)),
        scenario.words if len(evidence) > 1 else (),
    )


def asked_quantity(ask: Ask, evidence: Sequence[Evidence]) -> Quantity | None:
    """The number that an ask is about; None where the runs give none."""
    values = []
    for number in (ask.run, ask.against):
        value = evidence[number - 1].outputs.get(ask.output) if number else 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        values.append(float(value))
    own, other = values
    if ask.scale == "percent":
        return Quantity(100 * (own / other - 1), "percent", 0, 0, 0, 0) if other else None
    return Quantity(own - other, _unit(ask.output), 0, 0, 0, 0)


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
    if name.startswith("weeks_"):
        return "weeks"
    return next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), "")


def _words(name: str) -> str:
    stem = next((name.removesuffix(suffix) for suffix in _UNITS if name.endswith(suffix)), name)
    return re.sub(r"[._]+", " ", stem)
