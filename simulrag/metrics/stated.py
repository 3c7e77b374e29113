"""What an answer's claims state of what is asked for: numbers are compared, no word is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simulrag.method.numbers import numbers
from simulrag.questions.records import Template, asked_value
from simulrag.records import Question


def asked_values(question: Question, templates: Mapping[str, Template]) -> tuple[float, ...]:
    """The numbers that the runs give for what the template of a generated question asks.

    None where its template or its runs are not known. Asks whose output is a word have no number.
    """
    template = templates.get(question.template_id or "")
    if template is None or len(question.evidence) < len(template.runs):
        return ()
    found = (asked_value(ask, question.evidence) for ask in template.asks)
    return tuple(item.value for item in found if item is not None)


def stated(values: Iterable[float], texts: Iterable[str]) -> int:
    """How many of the values some text states, at that text's own rounding and signs aside.

    Units are not read: a value is stated in the unit that the simulator gives it in.
    """
    said = [number for text in texts for number in numbers(text)]
    return sum(any(number.states(value) for number in said) for value in values)
