"""Differences that a text does not state but yields: between two levels, runs or cases."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from simulrag.statements import Quantity
from simulrag.statements.facts import Fact

_SAID_WAY = re.compile(r"\b(?:warm|cool|increas|decreas|ris(?:e|es|ing)\b|higher|lower|drop)", re.I)
_CASES = ("case 1", "case 2")
_OF_A_CASE = ("temperature", "peak_magnitude", "cumulative")


def with_differences(stated: Sequence[Fact], text: str) -> list[Fact]:
    """The facts, and those that follow from two stated levels.

    Runs of their own paragraphs, and cases that are compared, are told apart; in one paragraph
    exactly two temperatures yield their difference.
    """
    if any(fact.tags & set(_CASES) for fact in stated):
        return [*stated, *_between_cases(stated)]
    if "\n\n" in text:
        return _between_runs(stated)
    return _between_levels(stated)


def _between_cases(stated: Sequence[Fact]) -> list[Fact]:
    """Each case against the other: in percent, or in degrees where it is a temperature."""
    found = []
    for subject in _OF_A_CASE:
        first, second = (
            next(
                (
                    fact
                    for fact in stated
                    if fact.subject == subject and fact.role != "change" and case in fact.tags
                ),
                None,
            )
            for case in _CASES
        )
        if first is None or second is None:
            continue
        if subject == "temperature":
            found += [_apart(second, first, directed=False)]
            continue
        for own, other, case in ((second, first, _CASES[1]), (first, second, _CASES[0])):
            if other.value:
                value = round(100 * (own.value / other.value - 1), 1)
                quantity = Quantity(value, "percent", 1, 0, 0, 0)
                sentence = f"{own.sentence} {other.sentence}"
                tags = frozenset({case})
                found.append(
                    Fact(subject, "change", value, True, tags, frozenset(), quantity, sentence)
                )
    return found


def _between_runs(stated: Sequence[Fact]) -> list[Fact]:
    """The past or the aerosol case against the other; the runs' own changes are not asked then."""
    local = [f for f in stated if f.subject == "temperature" and "global" not in f.tags]
    changed = [fact for fact in local if "baseline" not in fact.tags]
    levels = changed if len(changed) > 1 else local
    past = [fact for fact in levels if "historical" in fact.tags]
    aerosol = [fact for fact in levels if "aerosol" in fact.tags]
    if not (past or aerosol) or len(levels) != 2:
        return list(stated)
    first = (past or aerosol)[0]
    later = levels[1] if levels[0] is first else levels[0]
    kept = [fact for fact in stated if fact.subject != "temperature_change"]
    return [*kept, _apart(later, first, directed=True)]


def _between_levels(stated: Sequence[Fact]) -> list[Fact]:
    result = list(stated)
    changed = [fact for fact in stated if fact.subject == "temperature_change"]
    if any(fact.value < 0 or _SAID_WAY.search(fact.sentence) for fact in changed):
        return result
    levels = [
        fact for fact in stated if fact.subject == "temperature" and "global" not in fact.tags
    ]
    if len(levels) != 2:
        return result
    first = next((f for f in levels if f.tags & {"historical", "baseline"}), None)
    if first is None:
        first = next(
            (f for f in levels if "aerosol" in f.tags and "greenhouse" not in f.tags), None
        )
    if first is None:
        return result
    later = levels[1] if levels[0] is first else levels[0]
    if changed and not first.tags & {"historical", "baseline"}:
        return result
    apart = _apart(later, first, directed=True)
    if changed:
        return [_signed_by(apart.value, fact) for fact in result]
    return [*result, apart]


def _apart(later: Fact, first: Fact, *, directed: bool) -> Fact:
    """The temperature difference of two levels."""
    value = round(later.value - first.value, 10)
    decimals = max(first.quantity.decimals, later.quantity.decimals)
    return Fact(
        "temperature_change",
        "change",
        value,
        directed,
        (later.tags | first.tags) - set(_CASES),
        first.years | later.years,
        Quantity(value, "degc", decimals, 0, 0, 0),
        f"{first.sentence} {later.sentence}",
    )


def _signed_by(value: float, fact: Fact) -> Fact:
    """A difference stated without a direction ('is 0.71 °C'), with the one of the two levels."""
    if fact.subject != "temperature_change" or abs(abs(fact.value) - abs(value)) > 0.015:
        return fact
    return replace(fact, value=math.copysign(fact.value, value), directed=True)
