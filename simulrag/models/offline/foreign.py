"""Claims about a field that no table of ours knows, for simulators of users' own.

A claim is compared with the number of the text that its own words lead up to: in "the peak is 3 and
the mean is 2" the words since the comma or number before tell whose a number is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from simulrag.models.offline.check import Check
from simulrag.models.offline.profiles import CALENDAR, quantity_words
from simulrag.models.offline.qualities import way
from simulrag.statements import (
    AskedClasses,
    Quantity,
    class_of,
    class_words,
    direction_words,
    directions,
    quantities,
    same_number,
    signed_change,
    thresholds,
)
from simulrag.statements.facts import Fact, given, sentences

_LEAST_SHARE = 0.5
_OWN_UNIT = CALENDAR | {"percent"}
_CHANGES = re.compile(r"\b(?:chang|differ|deviat)\w*", re.I)
_ORDER = re.compile(
    r"^(?P<one>.+?) (?:would be|will be|should be|is|are) (?P<word>higher|larger|greater|lower"
    r"|smaller) than (?P<two>.+?)\.?$",
    re.I,
)


def foreign_checks(
    claim: str, question: str, text: str, tolerance_percent: float | None
) -> list[Check]:
    """The first of order, numbers, class and direction that the claim states and the text decides.

    Numbers that the question gives and calendar years decide nothing.
    """
    order = _ORDER.match(claim)
    if order:
        return _order(order, text)
    own = _own_numbers(claim, question)
    if own:
        return [check for item in own for check in _number(claim, item, text, tolerance_percent)]
    return _class(claim, question, text) or _direction(claim, text)


def number_checks(
    claim: str, question: str, text: str, tolerance_percent: float | None
) -> list[Check]:
    """The claim's own numbers with a unit, for a quantity of a known field that no table names."""
    own = [item for item in _own_numbers(claim, question) if item.unit]
    return [check for item in own for check in _number(claim, item, text, tolerance_percent)]


def _own_numbers(claim: str, question: str) -> list[Quantity]:
    known = {(item.unit, item.value) for item in given(question)}
    return [
        item
        for item in quantities(claim)
        if item.unit not in CALENDAR and (item.unit, item.value) not in known
    ]


def _number(claim: str, item: Quantity, text: str, tolerance: float | None) -> Iterator[Check]:
    fact = _nearest(claim, text, item.unit)
    if fact is None:
        return
    signed = signed_change(claim, item) if fact.role == "change" else None
    value = item.value if signed is None else signed
    said = Quantity(value, item.unit, item.decimals, item.start, item.end, item.unit_end)
    holds = same_number(said, _valued(fact), tolerance)
    words = "agrees with" if holds else "differs from"
    yield Check("number", holds, f"{value:g} {words} {fact.value:g}", fact, quantity=item)


def _class(claim: str, question: str, text: str) -> list[Check]:
    """The class that a claim assigns, by the number of the text and the nearest thresholds."""
    asked, lead = _asked_classes(claim, question)
    said = class_words(claim, [item.name for item in asked.classes]) if asked else []
    fact = _nearest(claim, text, asked.unit, frozenset(lead)) if asked and said else None
    if asked is None or fact is None:
        return []
    size = abs(fact.value) if fact.role == "change" else fact.value
    right = class_of(size, asked.classes)
    if right is None:
        return []
    reason = f"{fact.value:g} counts as {right}"
    return [Check("class", said[-1] == right, reason, fact, said[-1], right)]


def _asked_classes(claim: str, question: str) -> tuple[AskedClasses | None, list[str]]:
    """The classes asked for behind the words that share most with the claim, and their names."""
    groups = thresholds(question)
    ends = [0, *(asked.end for asked in groups)]
    leads = [_words(question[end : asked.start]) for end, asked in zip(ends, groups, strict=False)]
    ranked = [(len(_words(claim) & lead), -index) for index, lead in enumerate(leads)]
    if not ranked:
        return None, []
    asked = groups[-max(ranked)[1]]
    return asked, [word for item in asked.classes for word in _words(item.name)]


def _direction(claim: str, text: str) -> list[Check]:
    allowed = directions(claim)
    fact = _nearest(claim, text, None) if allowed else None
    if fact is None or fact.role != "change":
        return []
    right = way(fact, nearly=allowed == {"flat"})
    said = min(allowed)
    return [Check("direction", right in allowed, f"it goes {right}", fact, said, right)]


def _order(match: re.Match[str], text: str) -> list[Check]:
    one, two = (_nearest(match[name], text, "") for name in ("one", "two"))
    if one is None or two is None or one.value == two.value:
        return []
    up = match["word"].lower() in ("higher", "larger", "greater")
    holds = up == (one.value > two.value)
    reason = f"{one.value:g} stands against {two.value:g}"
    return [Check("order", holds, reason, None, match["word"], "lower" if up else "higher")]


def _nearest(
    claim: str, text: str, unit: str | None, besides: frozenset[str] = frozenset()
) -> Fact | None:
    """The number of the unit whose own words share most with the claim's.

    None where its sentence lacks most words of the claim. ``unit`` '' is a claim's that writes
    none, and fits all but percentages and dates; None asks for a change in any unit. ``besides``
    are words of the claim that name no quantity.
    """
    words = _words(claim) - besides
    best: tuple[int, int, Fact] | None = None
    for lead, fact in _stated(text):
        fits = fact.quantity.unit == unit or (unit == "" and fact.quantity.unit not in _OWN_UNIT)
        if not (fits or (unit is None and fact.role == "change")):
            continue
        told, around = _words(lead), _words(fact.sentence)
        own, spare = len(words & told), -len(told - words)
        known = len(words & around) >= _LEAST_SHARE * len(words)
        if own and known and (best is None or (own, spare) > best[:2]):
            best = own, spare, fact
    return best[2] if best else None


def _stated(text: str) -> Iterator[tuple[str, Fact]]:
    """The numbers of a text, each with the words that lead up to it."""
    for sentence in sentences(text):
        numbers = quantities(sentence)
        ends = {number.start: before.unit_end for before, number in pairwise(numbers)}
        for number in numbers:
            lead = sentence[ends.get(number.start, 0) : number.start].rpartition(", ")[2]
            moves = _CHANGES.search(lead) or direction_words(lead)
            signed = signed_change(sentence, number) if direction_words(lead) else None
            value = number.value if signed is None else signed
            role, none = "change" if moves else "level", frozenset[str]()
            yield lead, Fact("", role, value, True, none, frozenset(), number, sentence)


def _words(text: str) -> frozenset[str]:
    return frozenset(quantity_words(text).split())


def _valued(fact: Fact) -> Quantity:
    item = fact.quantity
    return Quantity(fact.value, item.unit, item.decimals, item.start, item.end, item.unit_end)
