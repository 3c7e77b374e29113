"""One claim against what a text states: does the text decide it, and which way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from simulrag.models.offline.case_order import case_order_checks
from simulrag.models.offline.check import Check
from simulrag.models.offline.differences import with_differences
from simulrag.models.offline.foreign import foreign_checks, number_checks
from simulrag.models.offline.qualities import (
    AMBIGUOUS,
    MEASURED,
    class_checks,
    direction_checks,
    order_checks,
    surface_checks,
    trend_checks,
)
from simulrag.models.offline.situations import field_of
from simulrag.statements import same_number, subjects
from simulrag.statements.facts import Fact, facts

_EXCLUSIVE = (frozenset({"greenhouse", "aerosol"}), frozenset({"baseline", "scenario"}))
_CASES = frozenset({"case 1", "case 2"})
_FUTURE = re.compile(r"\b(?:projected|predicted|future|simulated|resulting)\b", re.I)


def checks(
    claim: str, question: str, text: str, tolerance_percent: float | None = None
) -> list[Check]:
    """Every part of the claim that the text decides; empty where it decides none."""
    if field_of(question) == "other" and not _known(question, claim):
        return foreign_checks(claim, question, text, tolerance_percent)
    stated = with_differences(facts(text, question), text)
    found = _numbers(claim, question, stated, tolerance_percent)
    if not facts(claim, question):
        found += number_checks(claim, question, text, tolerance_percent)
    numeric = any(item.fact is None or item.fact.role == "change" for item in found)
    trended = bool(found)
    found += class_checks(claim, question, text, stated)
    found += surface_checks(claim, text)
    if not trended:
        found += (
            case_order_checks(claim, question, text, stated)
            or order_checks(claim, text, stated)
            or trend_checks(claim, text)
        )
    if (not trended and not found) or (trended and not numeric and _one_thing(claim)):
        found += direction_checks(claim, text, stated)
    return found


def _known(question: str, claim: str) -> bool:
    """Whether question or claim names what the tables of the known fields measure."""
    return bool(subjects(f"{question} {claim}") & (MEASURED - AMBIGUOUS))


def matching(fact: Fact, stated: Sequence[Fact]) -> list[Fact]:
    """The stated facts about the same thing under the same circumstances, best first."""
    same = [
        other
        for other in stated
        if other.subject == fact.subject
        and _kind(other.quantity.unit) == _kind(fact.quantity.unit)
        and _compatible(fact, other)
    ]
    return sorted(same, key=lambda other: -_closeness(fact, other))


def _numbers(
    claim: str, question: str, stated: Sequence[Fact], tolerance: float | None
) -> list[Check]:
    found = []
    claimed = _claimed(claim, question)
    skipped = False
    for index, fact in enumerate(claimed):
        if skipped:
            skipped = False
            continue
        upper = claimed[index + 1] if index + 1 < len(claimed) else None
        ranged = upper is not None and _is_range(claim, fact, upper)
        others = matching(upper if ranged and upper else fact, stated)
        if not others:
            continue
        if ranged and upper is not None:
            skipped = True
            hit = next((other for other in others if _holds(fact, upper, other)), None)
            whole = replace(upper.quantity, start=fact.quantity.start)
            said = replace(upper, quantity=whole)
        else:
            hit = next((other for other in others if _agrees(fact, other, tolerance)), None)
            said = fact
        found.append(_check_number(said, hit or others[0], hit is not None))
    return found


def _is_range(claim: str, lower: Fact, upper: Fact) -> bool:
    """'5 to 8 percent': two numbers that bound one; 'from 14 to 6' tells two."""
    between = claim[lower.quantity.unit_end : upper.quantity.start]
    if lower.subject != upper.subject or lower.subject == "interval":
        return False
    before = claim[: lower.quantity.start]
    if re.fullmatch(r"\s*and\s*", between):
        return bool(re.search(r"\bbetween\s+$", before))
    return bool(re.fullmatch(r"\s*(?:to|or|-|–|—)\s*", between)) and not re.search(
        r"\bfrom\s+$", before
    )


def _holds(lower: Fact, upper: Fact, other: Fact) -> bool:
    """Whether the stated number lies in the range, on the side that the claim says."""
    known, end = other.value, upper.value
    if end < 0:
        known, end = -known, -end
    return abs(lower.value) <= known <= abs(end)


def _one_thing(claim: str) -> bool:
    """Whether a claim speaks of one measured thing, so that its direction word is that thing's."""
    return len({name for name in subjects(claim) if name in MEASURED}) == 1


def _claimed(claim: str, question: str) -> list[Fact]:
    """The claim's facts, their numbers placed in the claim and not in their sentence."""
    placed = []
    for fact in facts(claim, question):
        begin = max(claim.find(fact.sentence), 0)
        item = fact.quantity
        moved = replace(
            item, start=item.start + begin, end=item.end + begin, unit_end=item.unit_end + begin
        )
        placed.append(replace(fact, quantity=moved))
    return placed


def _check_number(fact: Fact, other: Fact, holds: bool) -> Check:
    words = "agrees with" if holds else "differs from"
    reason = f"{fact.value:g} {words} {other.value:g} for {fact.subject.replace('_', ' ')}"
    return Check("number", holds, reason, other, quantity=fact.quantity)


def _agrees(fact: Fact, other: Fact, tolerance: float | None) -> bool:
    claimed, known = fact.quantity, other.quantity
    if claimed.unit in ("date", "month_day", "year"):
        return same_number(claimed, known) or same_number(known, claimed)
    if fact.role == "change":
        value, against = fact.value, other.value
        sizes = not fact.directed or (claimed.unit == "degc" and not other.directed)
        if sizes:
            value, against = abs(value), abs(against)
        return same_number(replace(claimed, value=value), replace(known, value=against), tolerance)
    return same_number(claimed, known, tolerance)


def _kind(unit: str) -> str:
    groups = (
        ("s", "min", "h"),
        ("mg", "g", "kg", "t"),
        ("ml", "l"),
        ("m", "km"),
        ("weeks", "days"),
        ("date", "month_day"),
        ("cases", "", "vehicles"),
    )
    return next((group[0] for group in groups if unit in group), unit)


def _compatible(fact: Fact, other: Fact) -> bool:
    """Whether two facts of one subject can speak of the same number."""
    ours, theirs = fact.tags & _CASES, other.tags & _CASES
    if ours and theirs:
        # 'without any intervention' is a case here, no baseline beside a scenario.
        return bool(ours & theirs) and (fact.role == "change") == (other.role == "change")
    if fact.subject == "temperature":
        return _same_worldwide(fact, other) and _same_case(fact, other)
    if fact.subject == "temperature_change":
        return _same_worldwide(fact, other)
    if fact.subject == "interval":
        return fact.role == other.role
    if other.role != fact.role and "change" in (fact.role, other.role):
        return False
    return fact.role == other.role or (fact.role == "level" and other.role == "scenario")


def _same_worldwide(fact: Fact, other: Fact) -> bool:
    """Local and global temperatures differ; a greenhouse case beside them names both."""
    if "greenhouse" in fact.tags | other.tags:
        return True
    return ("global" in fact.tags) == ("global" in other.tags)


def _same_case(fact: Fact, other: Fact) -> bool:
    """Whether two temperatures can belong to one year and one emission case."""
    if fact.years and other.years and not fact.years & other.years:
        return False
    for pair in _EXCLUSIVE:
        ours, theirs = fact.tags & pair, other.tags & pair
        if len(ours) == len(theirs) == 1 and ours != theirs:
            return False
    placed = bool(fact.tags or fact.years or _FUTURE.search(fact.sentence))
    if placed and ("historical" in fact.tags) != ("historical" in other.tags):
        return False
    return not ("baseline" in fact.tags and other.tags & {"aerosol", "greenhouse", "historical"})


def _closeness(fact: Fact, other: Fact) -> float:
    score = 2.0 * len(fact.tags & other.tags) - len(fact.tags ^ other.tags) * 0.5
    score += 2.0 * len(fact.years & other.years)
    if fact.quantity.unit == other.quantity.unit:
        score += 1.0
    if other.role == "scenario":
        score += 0.5
    return score
