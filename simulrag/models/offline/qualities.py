"""What a claim says without a number: classes, directions, trends, order of cases, surface."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulrag.models.offline.check import Check
from simulrag.statements import (
    AskedClasses,
    class_of,
    class_words,
    direction_words,
    directions,
    subject_spans,
    subjects,
    thresholds,
)
from simulrag.statements.facts import Fact, facts, sentences, surface, trend_word

_MEASURED_NAMES = (
    "travel_time idling co2 nox fuel distance vehicles co2_per_vehicle temperature"
    " temperature_change four_week_growth trend peak_magnitude peak_timing"
    " cumulative"
)
MEASURED = frozenset(_MEASURED_NAMES.split())
AMBIGUOUS = frozenset({"peak_magnitude", "peak_timing", "cumulative", "distance"})
"""Measured in an epidemic or on a road, and words of many a field besides."""
_CLASSED_LEVELS = frozenset({"peak_magnitude", "peak_timing", "cumulative"})
# How small a change may be and still count as none, in the unit of the change.
_NEARLY = {"percent": 2.0, "degc": 0.05}
_WARMER = re.compile(r"\b(?:warmer|higher|hotter|more warming|greater warming|increase)\b", re.I)
_COOLER = re.compile(
    r"\b(?:cooler|lower|colder|(?:greater|more|stronger|larger) cooling|reduced)\b", re.I
)
_GREENHOUSE = re.compile(r"\b(?:CO2|CH4|greenhouse|GHG|methane|carbon dioxide)\b", re.I)
_AEROSOL = re.compile(r"\b(?:SO2|black carbon|aerosols?|sul(?:ph|f)ur|BC|geoengineering)\b", re.I)
_OPENING = re.compile(
    r"\b(?:outbreak|epidemic|season|infections|cases|patients|admissions)\b[^.;]{0,60}"
    r"\b(?:from the (?:start|beginning|onset)|at first|initially|in the beginning|early on)\b",
    re.I,
)
_CLASS_SAID = re.compile(
    r"\b(?:considered|classified|categor\w+|class|deemed|falls?|falling|qualif\w+|represent\w*"
    r"|constitut\w*|call|range|threshold\w*|labell?ed|counts? as|described|magnitude|regarded|rated"
    r"|is|are|would be|mak(?:es?|ing)|marks?|indicat\w+|amounts? to|signif\w+)\b",
    re.I,
)
_CLASS_NOUN = (
    r"\s+(?:\w+\s+){0,1}(?:reductions?|increases?|decreases?|changes?|improvements?|impacts?"
    r"|differences?|shifts?|warming|cooling|range|category|class|one)\b"
)


def claimed_class(claim: str, question: str) -> tuple[AskedClasses, str] | None:
    """The class a claim assigns to an asked quantity, None where it assigns none."""
    about = subjects(claim)
    asked_groups = thresholds(question)
    for asked in asked_groups:
        names = [item.name for item in asked.classes]
        words = class_words(claim, names)
        if not words:
            continue
        family = {asked.subject}
        if asked.unit == "degc":
            family |= {"temperature", "temperature_change"}
        rivals = {other.subject for other in asked_groups if other is not asked}
        if about & MEASURED and not about & family and (about & rivals or about & MEASURED):
            continue
        word = words[-1]
        noun = re.search(rf"(?<![\w-]){re.escape(word)}(?:{_CLASS_NOUN}|['’\"])", claim, re.I)
        said = _CLASS_SAID.search(claim)
        numbers = facts(claim, question)
        if noun or (
            said and not (numbers and not noun and len(words) == 1 and not _said_near(claim, word))
        ):
            return asked, word
    return None


def _said_near(claim: str, word: str) -> bool:
    position = claim.lower().find(word.lower())
    return bool(_CLASS_SAID.search(claim[max(0, position - 60) : position + 40]))


def class_checks(claim: str, question: str, text: str, stated: Sequence[Fact]) -> list[Check]:
    """The class that a claim assigns, by the text's word or by its number and the thresholds."""
    claimed = claimed_class(claim, question)
    if claimed is None:
        return []
    asked, word = claimed
    names = [item.name for item in asked.classes]
    computed = fact_class(asked.subject, stated, asked)
    said = _stated_class(text, question, asked, names)
    right = said or (computed[0] if computed else None)
    if right is None:
        return []
    holds = word == right
    reason = f"the text makes it {right}" if said else f"the number falls into {right}"
    return [Check("class", holds, reason, computed[1] if computed else None, word, right)]


def _stated_class(text: str, question: str, asked: AskedClasses, names: list[str]) -> str | None:
    """The class that prose assigns outright (JSON assigns none)."""
    if text.lstrip().startswith("{"):
        return None
    for sentence in sentences(text):
        claimed = claimed_class(sentence, question)
        if claimed is not None and claimed[0] == asked and claimed[1] in names:
            return claimed[1]
    return None


def surface_checks(claim: str, text: str) -> list[Check]:
    """Land or sea."""
    said, right = surface(claim), surface(text)
    if said is None or right is None:
        return []
    return [Check("surface", said == right, f"the place is on {right}", None, said, right)]


def trend_checks(claim: str, text: str) -> list[Check]:
    """The named class of an initial trend."""
    said, right = trend_word(claim), trend_word(text)
    if said is None or right is None or "trend" not in subjects(claim):
        return []
    return [Check("trend", said == right, f"the initial trend is {right}", None, said, right)]


def order_checks(claim: str, text: str, stated: Sequence[Fact]) -> list[Check]:
    """'The aerosol case is warmer': which of two named cases is the warmer one."""
    said = warmer_case(claim)
    if said is None:
        return []
    right = None
    levels = [fact for fact in stated if fact.subject == "temperature"]
    ghg = next((f for f in levels if "greenhouse" in f.tags and "aerosol" not in f.tags), None)
    aerosol = next((f for f in levels if "aerosol" in f.tags and "greenhouse" not in f.tags), None)
    if ghg and aerosol and "global" not in aerosol.tags and ghg.value != aerosol.value:
        right = "greenhouse" if ghg.value > aerosol.value else "aerosol"
    else:
        cases = [case for sentence in sentences(text) if (case := warmer_case(sentence))]
        right = cases[0] if cases else None
    if right is None:
        return []
    return [Check("order", said == right, f"the {right} case is the warmer one", None, said, right)]


def warmer_case(text: str) -> str | None:
    """'greenhouse' or 'aerosol', whichever a sentence calls the warmer of the two."""
    word = _WARMER.search(text)
    cool = _COOLER.search(text)
    if cool and (word is None or cool.start() < word.start()):
        word, up = cool, False
    else:
        up = True
    if word is None:
        return None
    ghg, aerosol = _GREENHOUSE.search(text), _AEROSOL.search(text)
    if ghg is None and aerosol is None:
        return None
    if (ghg is None or aerosol is None) and not re.search(
        r"\bscenario|\bstrateg|\bapproach|\bmodification|\bcase\b|\bintervention", text, re.I
    ):
        return None
    if ghg is None or aerosol is None:
        if not re.search(
            r"\bthan\b|\bcompar|\bthe (?:warmer|cooler|higher|lower)\b|\bgreater\b", text
        ):
            return None
        first = "greenhouse" if ghg else "aerosol"
    else:
        first = "greenhouse" if ghg.start() < aerosol.start() else "aerosol"
    other = {"greenhouse": "aerosol", "aerosol": "greenhouse"}[first]
    return first if up else other


def direction_checks(claim: str, text: str, stated: Sequence[Fact]) -> list[Check]:
    """The direction that a claim gives a measured thing."""
    allowed = directions(claim)
    if not allowed:
        return []
    about = claim_subject(claim) or _compared_subject(claim, stated)
    if about is None:
        return []
    known = [fact for fact in stated if fact.subject == about and fact.role == "change"]
    fact = known[0] if known else None
    if fact is not None and (fact.directed or about == "temperature_change"):
        right = way(fact, nearly=allowed == {"flat"})
        if not fact.directed and warmer_case(text) is not None:
            return []
    elif (level := _level_change(about, stated)) is not None:
        right, fact = level
    else:
        told = _prose_direction(about, text)
        if told is None:
            return []
        right = told
    holds = right in allowed
    said = next(iter(sorted(allowed)))
    reason = f"{about.replace('_', ' ')} goes {right}"
    return [Check("direction", holds, reason, fact, said, right)]


def _compared_subject(claim: str, stated: Sequence[Fact]) -> str | None:
    """What a claim of two cases is about: a level that has a change from one to the other."""
    about = subjects(claim) & _CLASSED_LEVELS
    changed = [fact.subject for fact in stated if fact.role == "change" and fact.subject in about]
    return changed[0] if changed else None


def way(fact: Fact, nearly: bool) -> str:
    """The direction of a change; a claim of 'unchanged' allows for ``_NEARLY`` of its unit."""
    margin = _NEARLY.get(fact.quantity.unit, 0.0) if nearly else 0.0
    if abs(fact.value) <= margin:
        return "flat"
    return "up" if fact.value > 0 else "down"


def claim_subject(claim: str) -> str | None:
    """The measured thing that the direction of a claim belongs to, by nearness."""
    spans = _measured_spans(claim)
    words = direction_words(claim)
    if not spans and re.search(r"\b(?:warm|cool|hot|cold)\w*", claim, re.I):
        return "temperature_change"
    if not spans and _OPENING.search(claim):
        return "four_week_growth"
    if not spans:
        return None
    if not words:
        return spans[0][0]
    anchor = (words[0].start + words[0].end) / 2
    return min(spans, key=lambda span: abs((span[1] + span[2]) / 2 - anchor))[0]


def _measured_spans(claim: str) -> list[tuple[str, int, int]]:
    renamed = {"trend": "four_week_growth", "temperature": "temperature_change"}
    return [
        (renamed.get(name, name), start, end)
        for name, start, end in subject_spans(claim)
        if name in MEASURED and name not in ("peak_magnitude", "peak_timing", "cumulative")
    ]


def _level_change(subject: str, stated: Sequence[Fact]) -> tuple[str, Fact] | None:
    """The direction from a baseline level to a scenario level of the same subject."""
    before = next((f for f in stated if f.subject == subject and f.role == "baseline"), None)
    after = next((f for f in stated if f.subject == subject and f.role == "scenario"), None)
    if before is None or after is None:
        return None
    if before.value == after.value:
        return "flat", after
    return ("up" if after.value > before.value else "down"), after


def _prose_direction(subject: str, text: str) -> str | None:
    for sentence in sentences(text):
        if claim_subject(sentence) == subject and len(found := directions(sentence)) == 1:
            return next(iter(found))
    return None


def fact_class(
    subject: str, stated: Sequence[Fact], asked: AskedClasses
) -> tuple[str, Fact] | None:
    """The class that the stated number falls into, with the fact, by the question's thresholds."""
    for fact in stated:
        if not _of_subject(fact, subject, asked.unit):
            continue
        change = fact.role == "change" or asked.unit == "percent"
        name = class_of(abs(fact.value) if change else fact.value, asked.classes)
        if name is not None:
            return name, fact
    return None


def _of_subject(fact: Fact, subject: str, unit: str) -> bool:
    if unit == "degc":
        wanted = subject if subject.startswith("temperature") else "temperature_change"
        if wanted == "temperature" and fact.tags & {"historical", "baseline", "global"}:
            return False
        return fact.subject == wanted
    if unit not in ("percent", "degc") and subject in _CLASSED_LEVELS:
        return fact.subject == subject and fact.quantity.unit in (unit, "cases")
    return fact.subject == subject and fact.role == "change"
