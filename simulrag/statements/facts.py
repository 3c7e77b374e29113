"""What a whole text states: numbers with their subject, role and circumstances.

Reads prose (answers, references, the text templates of simulators) and JSON (published evidence).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from simulrag.statements.cases import named as case_names
from simulrag.statements.cases import of_paragraph
from simulrag.statements.cases import pair as case_pair
from simulrag.statements.circumstances import (
    LAST_HISTORICAL_YEAR,
    given,
    sentences,
    surface,
    tags,
    trend_word,
    years,
)
from simulrag.statements.fact import COMPARED, OF_UNIT, RENAMED, Fact
from simulrag.statements.keyed import json_part, keyed_facts
from simulrag.statements.quantities import Quantity, quantities, same_number
from simulrag.statements.subjects import INPUTS, subject_spans
from simulrag.statements.wording import direction_words, signed_change

_RANGE = re.compile(r"\b90 ?(?:%|percent) range\b[^)]*", re.I)
_SPREAD = re.compile(r"standard deviation[^()]*$", re.I)
_CONFIDENCE = re.compile(
    r"\s*(?:%|percent)?\s*(?:confidence|credible|ci\b|interval|prediction)", re.I
)
# Changed emissions say nothing about whether the temperature behind them is a difference.
_INPUT_CHANGE = re.compile(
    r"\b(?:in|de)creas\w+ (?:of |by )?[-\d.]+\s?%"
    r"|\b(?:change|increase|decrease|reduction|alteration|adjustment|modification)s? (?:in|of|to) "
    r"(?:CO2|CH4|SO2|BC\b|black carbon|carbon dioxide|methane|greenhouse)"
    r"|(?:CO2|CH4|SO2|carbon)[^,;]{0,60}?%|\[[^\]]*\]"
    r"|\b(?:greenhouse gas|aerosol|emissions?) (?:changes?|reductions?|increases?|modifications?)",
    re.I,
)
_CHANGE_BEFORE = re.compile(
    r"\b(?:change|difference|shift|increase|decrease|rise|drop|warming|cooling|gap|anomaly|net|delta"
    r"|warm(?:s|ed|er)?|cool(?:s|ed|er)?|higher|lower|increas\w+|decreas\w+|ris\w+|fall\w*"
    r"|declin\w+|differs?|departure|deviation)\b(?! emission)[^.;]{0,120}$",
    re.I,
)
_CHANGE_BEHIND = re.compile(
    r"\s*(?:\w+ )?(?:warmer|cooler|warming|cooling|higher|lower|increase|decrease|change"
    r"|difference|rise|drop|shift|above (?:the |its |that )|below (?:the |its |that ))\b"
    r"|\s*(?:above|below|over|more than|less than) (?:the |its |that of )",
    re.I,
)
_ARRIVAL = re.compile(
    r"(?<!close )(?<!comes )(?<!come )(?<!amounts )(?<!amount )(?<!up )\b(?:to|reach\w*|at)\s+"
    r"(?:about |approximately |roughly |a )?$",
    re.I,
)
# 'I put the difference at 0.5 degC' arrives nowhere.
_OF_DIFFERENCE = re.compile(r"\bdifference\b(?:(?!\btemperature\b).)*$", re.I)
# 'falls to 66 s' names the later of two levels; 'comes to 66 s' names one alone.
_RISES_TO = re.compile(
    r"(?<!close )(?<!comes )(?<!come )(?<!amounts )(?<!amount )(?<!up )(?<!sums )(?<!equates )"
    r"\bto\s+$",
    re.I,
)
_SEASON_START = re.compile(r"\b(?:start|onset|commenc|initiat|begin)", re.I)
_PEAK_NEAR = re.compile(r"\bpeak[^.]{0,12}$", re.I)
_UPPER = re.compile(r"\b(?:to|and|upper(?: bound)?(?: of)?)\s*$", re.I)


def facts(text: str, question: str = "") -> list[Fact]:
    """The numbers that a text states as results.

    Numbers that ``question`` gives as the situation (outside its class thresholds), years and
    confidence levels are left out. JSON inside the text is read by its keys.
    """
    return list(_facts(text, question))


@lru_cache(maxsize=512)
def _facts(text: str, question: str) -> tuple[Fact, ...]:
    known = _situation(question)
    cases = case_pair(question)
    before, blob, behind = json_part(text)
    found: list[Fact] = []
    if blob is not None:
        found += keyed_facts(blob)
    carried: str | None = None
    paragraphs = f"{before}\n\n{behind}".strip().split("\n\n")
    for paragraph in paragraphs:
        several = cases is not None and len(paragraphs) > 1
        case = of_paragraph(paragraph, cases.words) if cases and several else None
        for sentence in sentences(paragraph):
            read, carried = _from_sentence(sentence, known, carried, compared=cases is not None)
            if cases:
                read, case = _of_cases(read, sentence, cases.words, case)
            found += read
    return tuple(found)


def _of_cases(
    read: list[Fact], sentence: str, words: tuple[str, str], carried: int | None
) -> tuple[list[Fact], int | None]:
    """The facts with the case that the sentence names first, else the one spoken of before."""
    named = case_names(sentence, words)
    case = named[0] if named else carried
    if case is None:
        return read, None
    return [replace(fact, tags=fact.tags | {f"case {case + 1}"}) for fact in read], case


def _from_sentence(
    sentence: str,
    known: Sequence[tuple[Quantity, str | None]],
    carried: str | None,
    *,
    compared: bool,
) -> tuple[list[Fact], str | None]:
    ranges = list(_RANGE.finditer(sentence))
    items = [
        item
        for item in quantities(sentence)
        if item.unit in OF_UNIT
        and not _CONFIDENCE.match(sentence, item.end)
        and not _SPREAD.search(sentence[: item.start])
        and not any(match.start() <= item.start < match.end() for match in ranges)
    ]
    spans = subject_spans(sentence)
    results = [item for item in items if not _is_situation(sentence, item, spans, known)]
    found: list[Fact] = []
    previous_end = 0
    for item in results:
        subject = _subject_of(item, spans, sentence, carried, compared=compared)
        if subject is None:
            continue
        segment = sentence[previous_end : item.unit_end]
        following = re.split(r"\d|;|, and|, while|, but", sentence[item.unit_end :])[0]
        found.append(_fact(sentence, (segment, following), item, subject, len(results) == 1))
        previous_end = item.unit_end
        carried = subject
    if not results:
        outcomes = [
            name for name, _, _ in spans if any(name in names for names in OF_UNIT.values())
        ]
        carried = outcomes[-1] if outcomes else carried
    return found, carried


@lru_cache(maxsize=256)
def _situation(question: str) -> tuple[tuple[Quantity, str | None], ...]:
    """The numbers that a question gives, each with the subject nearest to it."""
    spans = subject_spans(question)
    return tuple((item, _nearest_name(item, spans)) for item in given(question))


def _nearest_name(item: Quantity, spans: Sequence[tuple[str, int, int]]) -> str | None:
    reach = [
        (max(start - item.unit_end, item.start - end, 0), name)
        for name, start, end in spans
        if name in INPUTS or name in OF_UNIT.get(item.unit, ())
    ]
    return min(reach)[1] if reach else None


def _is_situation(
    sentence: str,
    item: Quantity,
    spans: Sequence[tuple[str, int, int]],
    known: Sequence[tuple[Quantity, str | None]],
) -> bool:
    """Whether a number that the question gave is its situation here too, not a result alike."""
    twins = [name for other, name in known if _same_size(item, other)]
    if not twins:
        return False
    if item.unit in ("date", "month_day"):
        before = sentence[max(0, item.start - 30) : item.start]
        behind = sentence[item.unit_end : item.unit_end + 14]
        return bool(_SEASON_START.search(before + behind)) and not _PEAK_NEAR.search(before)
    nearest = _nearest_name(item, spans)
    return nearest is None or nearest in INPUTS or nearest in twins


def _same_size(item: Quantity, other: Quantity) -> bool:
    size, twin = replace(item, value=abs(item.value)), replace(other, value=abs(other.value))
    if "date" in (item.unit, other.unit):
        return same_number(size, twin) or same_number(twin, size)
    return item.unit == other.unit and same_number(size, twin) and same_number(twin, size)


def _subject_of(
    item: Quantity,
    spans: list[tuple[str, int, int]],
    sentence: str,
    carried: str | None,
    *,
    compared: bool,
) -> str | None:
    allowed = OF_UNIT[item.unit]
    if compared and item.unit == "percent":
        allowed += COMPARED
    ranked: list[tuple[int, int, str]] = []
    for name, start, end in spans:
        if name not in allowed:
            continue
        if end <= item.start:
            gap = sentence[end : item.start]
        elif start >= item.unit_end:
            gap = sentence[item.unit_end : start] + " " * 4
            gap += " " * (60 * gap.count(",") if item.unit == "percent" else 120)
        else:
            gap = ""
        breaks = len(re.findall(r"[;.]\s|, (?:and|while|but|with)\b|\d[\d.]*\s?(?:%|°)", gap))
        ranked.append((len(gap) + 60 * breaks, allowed.index(name), name))
    if ranked:
        best = min(ranked)[2]
        if best == "temperature" and _says_change(sentence, item):
            best = "temperature_change"
        elif best == "temperature_change" and not _says_change(sentence, item):
            best = "temperature"
        return RENAMED.get((item.unit, best), best)
    if item.unit == "degc":
        return "temperature_change" if _says_change(sentence, item) else "temperature"
    if item.unit == "percent" and re.search(
        r"\b(?:start|begin|onset|initial|first)", sentence, re.I
    ):
        return "four_week_growth"
    if item.unit == "cases" and carried not in allowed:
        return "peak_magnitude" if re.search(r"\bpeak", sentence, re.I) else None
    fallback = carried if carried in allowed else None
    return RENAMED.get((item.unit, fallback), fallback) if fallback else None


def _says_change(sentence: str, item: Quantity) -> bool:
    """Whether a temperature is a difference: the words before it say so, or 'warmer' behind."""
    before = re.split(r"[;.]\s|\d\s?°C|, (?:and|while|with|which)\b", sentence[: item.start])[-1]
    if _CHANGE_BEFORE.search(_INPUT_CHANGE.sub("", before)):
        return bool(_OF_DIFFERENCE.search(before)) or not _ARRIVAL.search(sentence[: item.start])
    signed = sentence[item.start : item.start + 1] == "+"
    return signed or bool(_CHANGE_BEHIND.match(sentence, item.unit_end))


def _fact(
    sentence: str, around: tuple[str, str], item: Quantity, subject: str, alone: bool
) -> Fact:
    """The fact of one number; ``around``: the text since the number before, and the next words."""
    segment, following = around
    own = tags(segment)
    if alone or not own:
        own = tags(sentence)
    if item.unit in ("s", "mg", "ml", "m", "vehicles", "min", "km", "kg", "g", "l", "", "steps"):
        near = tags(following)
        own = near if near & {"baseline", "scenario"} else own
    when = years(segment) or (years(sentence) if alone else frozenset())
    change = subject in ("temperature_change", "four_week_growth") or (
        item.unit == "percent" and subject not in ("interval",)
    )
    value, directed = item.value, True
    if change:
        signed = signed_change(sentence, item)
        value = item.value if signed is None else signed
        directed = value < 0 or bool(direction_words(sentence))
        if subject == "temperature_change" and not directed:
            directed = not re.search(r"\b(?:differ\w*|gap|deviation)\b", sentence, re.I)
    role = "change" if change else "level"
    if not change:
        if "baseline" in own or re.search(r"\bfrom\s+$", sentence[: item.start]):
            role = "baseline"
        elif "scenario" in own or _RISES_TO.search(sentence[: item.start]):
            role = "scenario"
    if subject == "interval":
        role = "upper" if _UPPER.search(sentence[: item.start]) else "lower"
    if any(year <= LAST_HISTORICAL_YEAR for year in when) and len(when) == 1:
        own |= {"historical"}
    return Fact(subject, role, value, directed, own, when, item, sentence)


__all__ = ["Fact", "facts", "given", "sentences", "surface", "tags", "trend_word", "years"]
