"""What an answer's claims state of what is asked for, and whether they contradict each other.

What claims are about is a model's grouping (task ``evaluation_subjects``); what is done with it
compares numbers and the names of classes, and reads no other word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from simulrag.method.numbers import Number, numbers
from simulrag.questions.open.records import MagnitudeClass, Template, asked_value
from simulrag.records import Question, Subject, claim_hash


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


Scales = Sequence[Sequence[MagnitudeClass]]


def contradictions(claims: Sequence[str], subjects: Sequence[Subject], scales: Scales = ()) -> int:
    """How many contradictions an answer's claims hold.

    One for each exclusive facet that holds two alternatives, and one for each subject whose class
    fits none of its numbers. ``scales``: the classes that the question asks for.
    """
    names = {item.name.casefold() for scale in scales for item in scale}
    found = 0
    for subject in subjects:
        found += sum(
            any(
                not same_alternative(one, other, names)
                for one, other in combinations([claims[at] for at in facet.claims], 2)
            )
            for facet in subject.facets
            if facet.exclusive
        )
        found += misfit(claims, subject, scales)
    return found


def same_alternative(one: str, other: str, names: Sequence[str] | set[str] = ()) -> bool:
    """Whether two claims of one exclusive facet say the same.

    Numbers: one claim repeats the other's, rounded no more finely. Without numbers: the same class,
    or the same words.
    """
    ours, theirs = numbers(one), numbers(other)
    if ours and theirs:
        return _repeats(ours, theirs) or _repeats(theirs, ours)
    named = _named(one, names), _named(other, names)
    if all(named):
        return named[0] == named[1]
    return claim_hash(one) == claim_hash(other)


def misfit(claims: Sequence[str], subject: Subject, scales: Scales) -> bool:
    """Whether a subject's class fits none of its numbers, by any scale that knows that class.

    A number fits a class that it may fall into at its own rounding. A subject without a number, or
    whose class is not one of the question's, has nothing to fit.
    """
    stated = [number for text in _of(claims, subject, "number") for number in numbers(text)]
    if not stated:
        return False
    names = {item.name.casefold() for scale in scales for item in scale}
    for text in _of(claims, subject, "class"):
        named = _named(text, names)
        if len(named) == 1 and not any(
            _falls(number, scale, named[0]) for scale in scales for number in stated
        ):
            return True
    return False


def _of(claims: Sequence[str], subject: Subject, kind: str) -> Iterator[str]:
    for facet in subject.facets:
        if facet.kind == kind:
            yield from (claims[at] for at in facet.claims)


def _repeats(coarse: Sequence[Number], fine: Sequence[Number]) -> bool:
    return all(any(one.holds_for(other) for other in fine) for one in coarse)


def _named(text: str, names: Sequence[str] | set[str]) -> list[str]:
    """The classes that a text names; of "very large" and "large" the longer."""
    left, found = text.casefold(), []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        left, count = re.subn(rf"\b{re.escape(name)}\b", " ", left)
        if count:
            found.append(name)
    return sorted(found)


def _falls(number: Number, scale: Sequence[MagnitudeClass], name: str) -> bool:
    """Whether a number may fall into the class; False where the scale does not know it."""
    for at, item in enumerate(scale):
        if item.name.casefold() == name:
            ends = [later.from_magnitude for later in scale[at + 1 : at + 2]]
            reaches = number.value + number.half_unit >= item.from_magnitude
            return reaches and all(number.value - number.half_unit < end for end in ends)
    return False
