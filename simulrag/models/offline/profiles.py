"""What one claim says, as data, and when two claims say the same.

Numbers compare as numbers, directions and classes as words, subjects by the table of
``simulrag.statements``; only where none of these is given does the overlap of words decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from rapidfuzz import fuzz

from simulrag.models.offline.sentences import finite_verb, plain, subject_of
from simulrag.statements import (
    Direction,
    Quantity,
    direction_words,
    directions,
    quantities,
    same_number,
    subject_spans,
)

INPUTS = frozenset(
    {
        "speed_limit",
        "demand",
        "lanes",
        "priority",
        "ch4",
        "so2",
        "bc",
        "r0",
        "immunity",
        "seasonality",
        "vehicles",
    }
)
"""Subjects that are interventions or settings, never an outcome."""
CALENDAR = frozenset({"year", "date", "month_day"})
CLASS_WORDS = re.compile(
    r"(?<![\w-])(?:negligible|marginal|minimal|slight|minor|small|modest|mild|moderate|notable|"
    r"noticeable|noteworthy|considerable|substantial|significant|major|large|severe|dramatic|"
    r"drastic|exceptional|extreme|transformative|near[- ]total|near[- ]elimination|low|high)"
    r"(?![\w-])",
    re.IGNORECASE,
)
_QUALIFIERS = (
    ("base", r"baseline|unmodified"),
    ("past", r"historical?|recorded|past"),
    ("gas", r"greenhouse|ghg|co2 and ch4|first"),
    ("aerosol", r"aerosols?|so2 and black carbon|second"),
    ("future", r"projected|predicted|future|resulting"),
    ("difference", r"difference|gap"),
)
_QUALIFIER_PATTERNS = tuple(
    (name, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)) for name, pattern in _QUALIFIERS
)
_JUDGEMENT = re.compile(
    r"\b(?:overall|on balance|trade-?offs?|effective(?:ly)?|successful(?:ly)?|balanced?|goals?|"
    r"benefits?|beneficial|co-benefits|improv\w+|worse|mixed|outcome|strategy|season|outbreak)\b",
    re.IGNORECASE,
)
_SUMMING_UP = re.compile(
    r"(?:overall|on balance|taken together|in sum|all in all)\b(?! \w+ is)", re.I
)
_POLARITY = (
    ("mixed", r"trade-?offs?|mixed|at the (?:cost|expense)|only in part|partly"),
    ("worse", r"worse\w*|fails?|misses|not effective|ineffective|degrad\w+|does not improve"),
    ("better", r"effective\w*|successful\w*|benefi\w+|improve\w*|balances?|positive\w*"),
    ("severe", r"severe\w*|demanding|intense|high burden|challenging"),
    ("mild", r"mild|low burden|contained|suppressed"),
    ("medium", r"moderate\w*|manageable"),
)
_POLARITY_PATTERNS = tuple(
    (name, re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE)) for name, pattern in _POLARITY
)
_HEDGES = re.compile(
    r"\b(?:counts?|call|(?:by the )?stated thresholds?|chang\w*|not|case|show|percent"
    r"|remain\w*|stays?|nearly|same)\b",
    re.I,
)
_STOP_WORDS = (
    "the a an of in on at to by for with from and or is are was were be been would will should"
    " could may might this that these it its as about roughly around approximately i expect my"
    " estimate put close likely under conditions than over which overall very both so"
)
_STOP = frozenset(_STOP_WORDS.split())


T = TypeVar("T")


@dataclass(frozen=True)
class Profile:
    """One claim, read. ``numbers`` stand behind the verb: what it asserts, not its setting."""

    text: str
    subjects: frozenset[str]
    numbers: tuple[Quantity, ...]
    dates: frozenset[float]
    directions: frozenset[Direction]
    classes: frozenset[str]
    qualifiers: frozenset[str]
    judgement: str
    summing_up: bool
    words: str

    @property
    def kind(self) -> str:
        """What is asserted first of all: a number, a class, a direction or something else."""
        if self.numbers:
            return "number"
        if self.judgement and (not self.subjects or self.summing_up):
            return "judgement"
        if self.classes:
            return "class"
        return "direction" if self.directions else "other"


@lru_cache(maxsize=8192)
def spans(text: str) -> tuple[tuple[str, int, int], ...]:
    """``statements.subject_spans``, remembered: claims are read many times over."""
    return tuple(subject_spans(text))


@lru_cache(maxsize=8192)
def profile(claim: str) -> Profile:
    """The profile of one sentence."""
    text = plain(claim)
    verb = finite_verb(text)
    numbers = quantities(text)
    asserted = [n for n in numbers if verb is None or n.start >= verb.start()]
    head = subject_of(text)
    found = spans(text)
    named = frozenset(name for name, _, _ in found) - INPUTS
    begin = text.find(head) if head else 0
    stop = begin + len(head)
    in_head = frozenset(n for n, start, end in found if begin <= start and end <= stop) - INPUTS
    return Profile(
        text=" ".join(re.findall(r"[^\W_]+|[-.%°]", text.lower())).strip(" ."),
        subjects=in_head or named,
        numbers=tuple(asserted or [n for n in numbers if n.unit not in CALENDAR]),
        dates=frozenset(n.value for n in numbers if n.unit in CALENDAR and n not in asserted),
        directions=directions(text),
        classes=frozenset(match.group().lower() for match in CLASS_WORDS.finditer(text)),
        qualifiers=_qualifiers(head) or _qualifiers(text),
        judgement=_judgement(text),
        summing_up=_SUMMING_UP.match(text) is not None,
        words=content_words(text),
    )


def _qualifiers(text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _QUALIFIER_PATTERNS if pattern.search(text))


def _judgement(text: str) -> str:
    if not _JUDGEMENT.search(text):
        return ""
    return next((name for name, pattern in _POLARITY_PATTERNS if pattern.search(text)), "")


def content_words(text: str) -> str:
    """The words that carry meaning, cut to stems of six letters, in order."""
    words = re.findall(r"[^\W_]+", text.lower())
    return " ".join(word[:6] for word in words if word not in _STOP)


def same_subject(one: Profile, two: Profile) -> bool:
    """Whether both speak of one thing, in one setting."""
    if _settings_differ(one.qualifiers, two.qualifiers) or _settings_differ(one.dates, two.dates):
        return False
    if one.subjects and two.subjects:
        return bool(one.subjects & two.subjects)
    if not one.subjects | two.subjects and _names_differ(one, two):
        return False
    least = 55 if one.subjects or two.subjects else 65
    return bool(fuzz.token_set_ratio(one.words, two.words) >= least)


def _names_differ(one: Profile, two: Profile) -> bool:
    """Whether each of two measured claims names what the other does not ('of hares', 'of lynxes').

    Only words of the quantity count: neither verbs of change nor what goes with class or number.
    """
    if "other" in (one.kind, two.kind) or "judgement" in (one.kind, two.kind):
        return False
    first, second = (frozenset(quantity_words(item.text).split()) for item in (one, two))
    return bool(first - second and second - first)


def quantity_words(text: str) -> str:
    """The content words that name a quantity: no numbers, verbs of change, classes or hedges."""
    for word in reversed(direction_words(text)):
        text = f"{text[: word.start]} {text[word.end :]}"
    words = content_words(CLASS_WORDS.sub(" ", _HEDGES.sub(" ", text))).split()
    return " ".join(word for word in words if word.isalpha())


def _settings_differ(one: frozenset[T], two: frozenset[T]) -> bool:
    return bool(one and two and not one & two)


def opposite(one: Profile, two: Profile) -> bool:
    """Whether both state a direction and no direction fits both."""
    return bool(one.directions and two.directions and not one.directions & two.directions)


def states(text: Profile, claim: Profile) -> bool:
    """Whether one sentence supports a claim. What it leaves unsaid supports nothing."""
    if text.text == claim.text:
        return True
    if opposite(text, claim) or not same_subject(text, claim):
        return False
    holds = {
        "number": lambda: _numbers_in(claim, text),
        "judgement": lambda: text.judgement == claim.judgement and not text.numbers,
        "class": lambda: claim.classes <= text.classes and _overlaps(text, claim, 40),
        "direction": lambda: text.directions == claim.directions and _overlaps(text, claim, 35),
        "other": lambda: _overlaps(text, claim, 80),
    }
    return holds[claim.kind]()


def same(one: Profile, two: Profile) -> bool:
    """Whether two claims say the same thing, neither more than the other."""
    if one.text == two.text:
        return True
    if one.kind != two.kind or opposite(one, two) or not same_subject(one, two):
        return False
    alike = {
        "number": lambda: (
            len(one.numbers) == len(two.numbers) and _numbers_in(one, two) and _numbers_in(two, one)
        ),
        "judgement": lambda: one.judgement == two.judgement,
        "class": lambda: one.classes == two.classes and one.directions == two.directions,
        "direction": lambda: one.directions == two.directions and _overlaps(one, two, 45),
        "other": lambda: _overlaps(one, two, 85),
    }
    return alike[one.kind]()


def _overlaps(one: Profile, two: Profile, least: float) -> bool:
    return bool(fuzz.token_set_ratio(one.words, two.words) >= least)


def _numbers_in(claim: Profile, text: Profile) -> bool:
    """Every number of the claim stands in the text; a sign may be said in words instead."""
    return all(
        any(same_number(_unsigned(mine), _unsigned(theirs)) for theirs in text.numbers)
        for mine in claim.numbers
    ) and not _signs_clash(claim, text)


def _unsigned(quantity: Quantity) -> Quantity:
    return replace(quantity, value=abs(quantity.value))


def _signs_clash(one: Profile, two: Profile) -> bool:
    def way(item: Profile) -> frozenset[str]:
        if item.directions:
            return frozenset(item.directions)
        return frozenset({"down"}) if any(n.value < 0 for n in item.numbers) else frozenset()

    first, second = way(one), way(two)
    return bool(first and second and not first & second)
