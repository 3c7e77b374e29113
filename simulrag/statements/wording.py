"""Directions: which way a sentence says that something goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from simulrag.statements.quantities import Quantity, quantities
from simulrag.statements.subjects import subjects

Direction = Literal["up", "down", "flat"]
_OPPOSITE: dict[Direction, frozenset[Direction]] = {
    "up": frozenset({"down", "flat"}),
    "down": frozenset({"up", "flat"}),
    "flat": frozenset({"up", "down"}),
}

_DIRECTION_PATTERNS: tuple[tuple[Direction, str], ...] = (
    ("down", r"negative (?:(?:four-week |initial |overall )?growth(?: rate)?|change|trend)"),
    (
        "flat",
        r"stable|steady|unchanged|constant|flat(?:\s+trend)?|plateau\w*|stagnant|zero growth"
        r"|no (?:net |overall |initial |measurable |discernible |significant )?"
        r"(?:change|growth|effect|difference)"
        r"|nothing changes|hardly changes?|barely (?:moves?|changes?)"
        r"|remain(?:s|ed)? (?:about |roughly |largely )?the same|neither \w+ nor \w+",
    ),
    (
        "up",
        r"increas\w+|ris(?:e|es|en|ing)|rose|grow(?:s|n|ing|th)?|grew|higher|warm(?:s|ed|er|ing)"
        r"|climb\w*|surg\w+|soar\w*|upwards?|longer|lengthen\w*|expand\w*|escalat\w+"
        r"|accelerat\w+|gains?|jump\w*|hotter|slower|goes up|went up|up by|heat(?:s|ing)? up",
    ),
    (
        "down",
        r"decreas\w+|reduc(?:e|es|ed|ing|tions?)|declin\w+|falls?|fell|fallen|falling|drop\w*"
        r"|lower(?:s|ed|ing)?|cool(?:s|ed|er|ing)|shrink\w*|shorter|shorten\w*|downwards?"
        r"|cuts?|cutting|diminish\w*|dimin\w+|fewer|goes down|went down|down by|eliminat\w+"
        r"|halv(?:e|es|ed|ing)|quicker|faster|sav(?:es|ed|ings?)|slash\w*|recede\w*|wan(?:es|ing)|colder|chillier",
    ),
)
_DIRECTIONS = tuple(
    (name, re.compile(rf"(?<![\w-])(?:{pattern})(?![\w])", re.I))
    for name, pattern in _DIRECTION_PATTERNS
)
# "falls within the moderate range", "below", "lower threshold": a place, not a movement.
_NOT_MOVEMENT = re.compile(
    r"\s*(?:\w+ly |well |right )?(?:with)?(?:in|into|inside|under|outside|between|on)\b"
    r"|\s+(?:threshold|bound|limit|end)\b",
    re.I,
)
# An intervention names its own direction: a speed reduction is no outcome.
_INTERVENTION_BEFORE = re.compile(
    r"(?:speed|speed[- ]limit|limit|demand|traffic|lane|emissions?|toll\w*|volume)s?\s+$", re.I
)
_INTERVENTION_BEHIND = re.compile(
    r"\s+(?:in |of |the |a )*(?:speed|limit|demand|lane|lanes|traffic (?:demand|volume))s?\b", re.I
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|without|cannot|isn't|doesn't|won't|rather than|instead of|n't|neither|nor"
    r"|fails? to)\b(?:\s+\w+){0,3}\s*$",
    re.I,
)
# 'Travel time falls by 11 %, idling by 93 %': the verb of the first clause holds for the second.
_GAPPED = re.compile(
    r"(?:%|percent|°C)(?:,| and|, and) (?!with|while|but)[\w ]{2,30}?\s(?:by )?$", re.I
)
_BETTER_IS_LESS = frozenset({"travel_time", "idling", "co2", "nox", "fuel", "co2_per_vehicle"})
_BETTER = re.compile(r"\b(?:improv\w+|better|efficien\w+ gains?|benefits?)\b", re.I)
_WORSE = re.compile(r"\b(?:worsen\w*|worse|deteriorat\w+|degrad\w+)\b", re.I)


@dataclass(frozen=True)
class DirectionWord:
    """A word that says which way: ``text[start:end]``. ``negated``: the sentence denies it."""

    direction: Direction
    start: int
    end: int
    negated: bool


_CONDITION = re.compile(
    r"\b(?:despite|given|if|assuming|considering|although|even though|while|following|in spite of"
    r"|with (?:a|an|CO2|CH4|SO2)\b|under (?:a|an|the)|after (?:a|an|the|apply\w+))[^,;.]*",
    re.I,
)


def direction_words(text: str) -> list[DirectionWord]:
    """The words of a text that tell a direction, in order; set-up nouns and places left out."""
    return list(_direction_words(text))


@lru_cache(maxsize=4096)
def _direction_words(text: str) -> tuple[DirectionWord, ...]:
    found: list[DirectionWord] = []
    for name, pattern in _DIRECTIONS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < item.end and item.start < end for item in found):
                continue
            if re.match(r"f[ae]ll", match[0], re.I) and _NOT_MOVEMENT.match(text, end):
                continue
            if _INTERVENTION_BEFORE.search(text[:start]) and match[0].lower().endswith("tion"):
                continue
            if _INTERVENTION_BEHIND.match(text, end):
                continue
            negated = name != "flat" and bool(_NEGATION.search(text[:start]))
            found.append(DirectionWord(name, start, end, negated))
    return tuple(sorted(found, key=lambda item: item.start))


def directions(text: str) -> frozenset[Direction]:
    """The directions that a text allows; empty where it states none.

    'does not rise' allows down and flat. Where words disagree, the one bound to a number wins
    ('by 14 %', '14 % reduction'), else the last word of a main clause. A negative percentage
    without any other word is down.
    """
    words = [word for word in direction_words(text) if not _in_set_up(text, word.start)]
    words = words or direction_words(text)
    if not words:
        return _implied(text)
    chosen = words[0]
    if len({(word.direction, word.negated) for word in words}) > 1:
        bound = [word for word in words if _bound_number(text, word) is not None]
        chosen = bound[0] if bound else words[0]
    number = _bound_number(text, chosen)
    grows = re.match(r"grow", text[chosen.start : chosen.end], re.I)
    if grows and number is not None and number.value < 0:
        return frozenset({"down"})
    if grows and number is not None and number.value == 0:
        return frozenset({"flat"})
    return _OPPOSITE[chosen.direction] if chosen.negated else frozenset({chosen.direction})


def direction(text: str) -> Direction | None:
    """The one direction that a text states, None where it states none or only denies one."""
    allowed = directions(text)
    return next(iter(allowed)) if len(allowed) == 1 else None


def signed_change(sentence: str, quantity: Quantity | None = None) -> float | None:
    """The change that a sentence states, signed: 'a decrease of 33.27 %' is -33.27.

    ``quantity`` picks the number, else the first percentage or temperature difference counts.
    A written minus sign is kept as it is. None where the sentence has no such number.
    """
    if quantity is None:
        numbers = [item for item in quantities(sentence) if item.unit in ("percent", "degc")]
        if not numbers:
            return None
        quantity = numbers[0]
    if quantity.value < 0:
        return quantity.value
    compared = re.match(r"\s(more|less|fewer)\b", sentence[quantity.unit_end :], re.I)
    if compared:
        return quantity.value if compared[1].lower() == "more" else -quantity.value
    nearest = _direction_of_number(sentence, quantity)
    if nearest is None and subjects(sentence) & _BETTER_IS_LESS:
        nearest = _judged(sentence, quantity)
    return -quantity.value if nearest == "down" else quantity.value


def _judged(sentence: str, quantity: Quantity) -> Direction | None:
    """'improves by 9 %' of something that is better when less."""
    before, behind = sentence[: quantity.start], sentence[quantity.unit_end :]
    for pattern, name in ((_BETTER, "down"), (_WORSE, "up")):
        verb = re.search(rf"(?:{pattern.pattern})[^.;,\d]{{0,40}}$", before, re.I)
        if verb or re.match(rf"\W*(?:{pattern.pattern})", behind, re.I):
            return "down" if name == "down" else "up"
    return None


def _implied(text: str) -> frozenset[Direction]:
    if any(item.value < 0 and item.unit == "percent" for item in quantities(text)):
        return frozenset({"down"})
    if subjects(text) & _BETTER_IS_LESS:
        if _WORSE.search(text):
            return frozenset({"up"})
        if _BETTER.search(text):
            return frozenset({"down"})
    return frozenset()


def _in_set_up(text: str, position: int) -> bool:
    """Whether a word stands in an opening or trailing condition ('despite ..., ')."""
    return any(match.start() <= position < match.end() for match in _CONDITION.finditer(text))


def _bound_number(text: str, word: DirectionWord) -> Quantity | None:
    for item in quantities(text):
        if item.unit in ("date", "year", "month_day"):
            continue
        behind = text[word.end : item.start] if item.start >= word.end else None
        before = text[item.unit_end : word.start] if item.unit_end <= word.start else None
        if behind is not None and re.fullmatch(
            r"(?:[^.;,\d%]{0,40}?\b(?:by|of|to be|is))?[^.;,\d%]{0,24}", behind
        ):
            return item
        if before is not None and re.fullmatch(r"[^.;,\d]{0,30}", before):
            return item
    return None


def _direction_of_number(sentence: str, quantity: Quantity) -> Direction | None:
    best: tuple[int, DirectionWord] | None = None
    for word in direction_words(sentence):
        between = (
            sentence[quantity.unit_end : word.start]
            if word.start >= quantity.end
            else sentence[word.end : quantity.start]
        )
        crossing = 1000 * len(re.findall(r"[;.]\s|, (?:and|while|but)|(?<![A-Za-z\d])\d", between))
        distance = len(between) + crossing
        if best is None or distance < best[0]:
            best = (distance, word)
    if best is None or best[1].negated:
        return None
    if best[0] >= 1000 and not (
        best[1].end <= quantity.start and _GAPPED.search(sentence[: quantity.start])
    ):
        return None
    return best[1].direction
