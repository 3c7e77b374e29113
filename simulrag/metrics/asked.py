"""What a generated question asks for, and how much of it the true claims of an answer state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simulrag.method.numbers import numbers
from simulrag.questions.open.records import MagnitudeClass, Template, asked_value
from simulrag.records import Question


@dataclass(frozen=True, slots=True)
class Asks:
    """The numbers that the runs give for a question's asks, and the classes that they fall into.

    ``scales``: a list of classes each, ascending; asks with a single class are left out.
    """

    values: tuple[float, ...] = ()
    scales: tuple[tuple[MagnitudeClass, ...], ...] = ()


NOTHING = Asks()
"""Of a question whose template or runs are not known."""


def asks_of(question: Question, templates: Mapping[str, Template]) -> Asks:
    """What the template of a generated question asks; nothing for any other question.

    Asks whose output is a word have no number and are left out.
    """
    template = templates.get(question.template_id or "")
    if template is None or len(question.evidence) < len(template.runs):
        return NOTHING
    found = [asked_value(ask, question.evidence) for ask in template.asks]
    scales = dict.fromkeys(
        tuple((item.name, item.from_magnitude) for item in ask.classes)
        for ask in template.asks
        if len(ask.classes) > 1
    )
    return Asks(
        tuple(item.value for item in found if item is not None),
        tuple(
            tuple(MagnitudeClass(name=name, from_magnitude=least) for name, least in scale)
            for scale in scales
        ),
    )


def stated(values: Iterable[float], texts: Iterable[str]) -> int:
    """How many of the values some text states, at that text's own rounding and signs aside.

    Units are not read: a value is stated in the unit that the simulator gives it in.
    """
    said = [number for text in texts for number in numbers(text)]
    return sum(any(number.states(value) for number in said) for value in values)
