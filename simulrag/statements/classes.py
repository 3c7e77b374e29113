"""Classes of magnitude that a question defines, such as 'moderate (10-30%)'."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from simulrag.statements.quantities import quantities
from simulrag.statements.subjects import INPUTS, subject_spans

_PARENTHESIS = re.compile(r"\(([^()]*\d[^()]*)\)")
_BELOW = re.compile(
    r"\b(?:under|less than|below|up to|at most|at or below|lower than)\b|<=?|≤", re.I
)
_ABOVE = re.compile(
    r"\b(?:over|above|greater than|more than|at least|exceeding|higher than|beyond)\b|>=?|≥", re.I
)
_OR_MORE = re.compile(r"\bor (?:more|above|higher|greater)\b|\+\s*$", re.I)
_OR_LESS = re.compile(r"\bor (?:less|below|lower)\b", re.I)
_NAME_START = re.compile(
    r".*(?:[,;:?.()\"“”‘]|\b(?:or|and|a|an|the|as|be|is|are|considered|deemed|classified|called"
    r"|categorized|represents?|indicates?|suggests?|signif(?:y|ies)|either|constitutes?|marks?"
    r"|this|that|it|change|remain|predominantly|primarily|show|shows|mean|means|imply)\b)\s*",
    re.I | re.S,
)
_GENERIC = re.compile(
    r"\s+(?:reductions?|increases?|decreases?|changes?|improvements?|impacts?|shifts?|effects?"
    r"|differences?|climates?|temperatures?|benefits?|categor(?:y|ies)|levels?|warming|cooling"
    r"|deteriorations?|deviations?|gains?|disruptions?|variations?|influences?)$",
    re.I,
)
_LEADING = re.compile(
    r"^(?:(?:its|their|these|those|of|on|in|for|two|strateg(?:y|ies)|local|global(?:ly)?|average"
    r"|temperatures?|reductions?|increases?|decreases?|changes?|differences?|impacts?|shifts?"
    r"|aerosol|modifications?|characterized by|outcome|overall)\s+)+",
    re.I,
)
_CHANGE = re.compile(r"\b(?:changes?|differences?|shifts?|magnitude|gap|deviation|anomaly)\b", re.I)
_DASH = re.compile(r"`?\s*(?:-|–|—|−|to|and)\s*`?")
_EMISSIONS = re.compile(r"CO2|CH4|SO2|\bBC\b|black carbon", re.I)
_INCLUSIVE = frozenset({"<=", "≤", "up to", "at most", "at or below", ">=", "≥", "at least"})
_NO_MAGNITUDE = frozenset({"date", "month_day", "year"})


@dataclass(frozen=True)
class MagnitudeClass:
    """A named range, in the unit of its group; ``low`` and ``high`` may be infinite."""

    name: str
    low: float
    high: float
    low_inclusive: bool = True
    high_inclusive: bool = True


@dataclass(frozen=True)
class AskedClasses:
    """The classes that a question gives for one quantity.

    ``subject`` is the nearest measured thing named before them ('' where none is), ``unit`` the
    canonical unit of the bounds, ``text[start:end]`` the span from first name to last range.
    """

    subject: str
    unit: str
    classes: tuple[MagnitudeClass, ...]
    start: int
    end: int


def thresholds(question: str) -> list[AskedClasses]:
    """The classes a question defines, one entry per asked quantity, in order."""
    return list(_thresholds(question))


@lru_cache(maxsize=512)
def _thresholds(question: str) -> tuple[AskedClasses, ...]:
    groups: list[list[tuple[MagnitudeClass, str, int, int]]] = []
    for match in _PARENTHESIS.finditer(question):
        read = _range(match[1])
        if read is None:
            continue
        low, high, low_inclusive, high_inclusive, unit = read
        name, start = _name(question, match.start())
        if not name:
            continue
        item = (
            MagnitudeClass(name, low, high, low_inclusive, high_inclusive),
            unit,
            start,
            match.end(),
        )
        if groups and _joined(question[groups[-1][-1][3] : start]) and groups[-1][-1][1] == unit:
            groups[-1].append(item)
        else:
            groups.append([item])
    asked = []
    previous = 0
    for group in groups:
        if len(group) >= 2:
            start, end = group[0][2], group[-1][3]
            subject = _subject(question, group[0][1], previous, start, end)
            classes = tuple(item[0] for item in group)
            asked.append(AskedClasses(subject, group[0][1], classes, start, end))
            previous = end
    return tuple(asked)


def class_of(value: float, classes: Sequence[MagnitudeClass]) -> str | None:
    """The first class that holds the value; for changes pass the magnitude (absolute value)."""
    for item in classes:
        above = value >= item.low if item.low_inclusive else value > item.low
        below = value <= item.high if item.high_inclusive else value < item.high
        if above and below:
            return item.name
    return None


def class_words(text: str, names: Iterable[str]) -> list[str]:
    """The class names that a text uses, in order of appearance; denied ones are left out."""
    spans: list[tuple[int, int, str]] = []
    for name in sorted(dict.fromkeys(names), key=len, reverse=True):
        pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.I)
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end, _ in spans):
                continue
            if re.search(
                r"\b(?:not|no|neither|nor|rather than|isn't)\s+(?:\w+\s+){0,2}$",
                text[: match.start()],
                re.I,
            ):
                continue
            spans.append((match.start(), match.end(), name))
    return [name for _, _, name in sorted(spans)]


def _range(text: str) -> tuple[float, float, bool, bool, str] | None:
    """Bounds, whether each belongs to the range, and the unit; None for other parentheses."""
    numbers = [item for item in quantities(text) if item.unit not in _NO_MAGNITUDE]
    if not 1 <= len(numbers) <= 2 or _EMISSIONS.search(text):
        return None
    unit = next((item.unit for item in numbers if item.unit), "")
    first = numbers[0].value
    if len(numbers) == 2:
        joined = _DASH.fullmatch(text[numbers[0].unit_end : numbers[1].start])
        return (first, numbers[1].value, True, True, unit) if joined else None
    below, above = _BELOW.search(text), _ABOVE.search(text)
    if _OR_MORE.search(text):
        above = _OR_MORE.search(text)
    elif below or _OR_LESS.search(text):
        inclusive = bool(_OR_LESS.search(text)) or bool(below and below[0].lower() in _INCLUSIVE)
        return -math.inf, first, True, inclusive, unit
    if above is None:
        return None
    return first, math.inf, above[0].lower() in _INCLUSIVE or "or " in above[0], True, unit


def _name(question: str, parenthesis: int) -> tuple[str, int]:
    before = question[:parenthesis]
    window = before[-60:].rstrip()
    match = _NAME_START.match(window)
    raw = window[match.end() if match else 0 :]
    if match is None and len(before) > 60:
        raw = raw.partition(" ")[2]
    raw = raw.strip(" '\"“”‘’`")
    start = before.rfind(raw) if raw else parenthesis
    name = raw
    while (shorter := _LEADING.sub("", _GENERIC.sub("", name))) != name:
        name = shorter
    return name.lower().strip(), start


def _joined(between: str) -> bool:
    plain = re.sub(
        r"[\s,;'\"“”‘’`/]+|\b(?:or|and|a|an|considered|as|either|is|it|does|this|the|of|for|to|be)\b",
        "",
        between,
    )
    return len(plain) <= 24 and "?" not in plain


def _subject(question: str, unit: str, previous: int, start: int, end: int) -> str:
    """The nearest measured thing before the names, else behind them in the same sentence."""

    def fits(name: str) -> bool:
        return name not in INPUTS and (unit != "degc" or name.startswith("temperature"))

    before = [span for span in subject_spans(question[previous:start]) if fits(span[0])]
    if before:
        subject, _, stop = max(before, key=lambda span: (span[1], span[2]))
        between = question[previous + stop : start]
        changes = subject == "temperature" and _CHANGE.search(between)
        return "temperature_change" if changes else subject
    sentence_end = re.compile(r"[?.](?:\s|$)").search(question, end)
    tail = question[end : sentence_end.start() if sentence_end else len(question)]
    behind = [span for span in subject_spans(tail) if fits(span[0])]
    if behind:
        return behind[0][0]
    earlier = [span for span in subject_spans(question[:previous]) if fits(span[0])]
    return earlier[-1][0] if earlier else ""
