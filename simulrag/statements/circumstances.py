"""The circumstances of a statement: sentence, situation, years, cases and places."""

from __future__ import annotations

import re
from functools import lru_cache

from simulrag.statements.classes import thresholds
from simulrag.statements.quantities import Quantity, quantities

_TAGS: tuple[tuple[str, str], ...] = (
    ("historical", r"historic(?:al(?:ly)?)?|actual|recorded|observed|past"),
    ("baseline", r"baseline|original|unmodified|unaltered|without (?:the |any )?intervention\w*"),
    (
        "scenario",
        r"with the interventions?|scenario results|new(?: average| mean)?(?= travel| idl)",
    ),
    ("greenhouse", r"CO2|CH4|CO₂|CH₄|greenhouse|GHGs?|methane|carbon dioxide"),
    ("aerosol", r"SO2|SO₂|black carbon|aerosols?|sul(?:ph|f)ur|BC|geoengineering"),
    ("global", r"global(?:ly)?"),
)
_TAG_PATTERNS = tuple((name, re.compile(rf"(?<!\w)(?:{p})(?!\w)", re.I)) for name, p in _TAGS)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[A-Z\"'“‘(À-ÖØ-ÞĀ-Žʻ‘])|\n+")
_TREND = re.compile(r"\b(declining|stable|slow growth|rapid growth)\b", re.I)
LAST_HISTORICAL_YEAR = 2014


def sentences(text: str) -> list[str]:
    """The sentences of prose; decimals and abbreviations within words do not end one."""
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]


@lru_cache(maxsize=256)
def given(question: str) -> tuple[Quantity, ...]:
    """The numbers of a question that describe the situation: all outside its thresholds."""
    spans = [(asked.start, asked.end) for asked in thresholds(question)]
    return tuple(
        item
        for item in quantities(question)
        if item.unit != "year" and not any(start <= item.start < end for start, end in spans)
    )


def tags(text: str) -> frozenset[str]:
    """The circumstances that a text names (historical, baseline, greenhouse, aerosol, ...)."""
    return frozenset(name for name, pattern in _TAG_PATTERNS if pattern.search(text))


def years(text: str) -> frozenset[int]:
    """The calendar years that a text names outside full dates."""
    return frozenset(int(item.value) for item in quantities(text) if item.unit == "year")


def surface(text: str) -> str | None:
    """'land' or 'sea' where a text says on which a place lies."""
    match = re.search(
        r"\b(?:located|situated|lies|is|classed|classified|primarily|surface)\b[^.;]{0,30}?"
        r"\b(?:on|at|as|in|over|:)?\s*(?:the )?(land|sea)\b(?!-| level)",
        text,
        re.I,
    )
    if match and not re.search(r"\bland or (?:at )?sea\b", text, re.I):
        word = match[1].lower()
        denied = re.search(r"\bnot\b", match[0], re.I)
        return {"land": "sea", "sea": "land"}[word] if denied else word
    based = re.search(r"\b(land-based|inland|landlocked)\b", text, re.I)
    return "land" if based else None


def trend_word(text: str) -> str | None:
    """The class of an initial trend: declining, stable, slow growth or rapid growth."""
    match = _TREND.search(text)
    return match[1].lower() if match else None
