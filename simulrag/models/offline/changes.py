"""Changes of inputs that a question describes: 'CO2 is cut by 15 % and CH4 by 20 %'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from simulrag.models.offline.phrasing import canonical
from simulrag.statements import Quantity, quantities, thresholds

_UP = re.compile(
    r"\b(?:increas\w+|ris(?:e|es|ing)|rais\w+|rose|grow\w*|grew|growth|higher|more|up|climb\w*|add\w*"
    r"|surg\w*|jump\w*|boost\w*|push\w*|gain\w*|swell\w*|extra|additional|upward)\b",
    re.I,
)
_DOWN = re.compile(
    r"\b(?:decreas\w+|reduc\w+|declin\w+|fall\w*|fell|drop\w*|lower\w*|less|fewer|down|cut\w*"
    r"|shrink\w*|shrank|shav\w*|trim\w*|off|diminish\w*|slash\w*|remov\w*|com(?:e|es|ing) down"
    r"|abat\w+|loses?|losing)\b",
    re.I,
)
_NEUTRAL = re.compile(
    r"\b(?:chang\w+|adjust\w*|modif\w+|alter\w*|shift\w*|var(?:y|ies|ied))\b", re.I
)
_COMPARISON = re.compile(
    r"\b(?:above|over|under|below|exceed\w*|beyond|more than|less than|greater than|at least)\s+"
    r"(?:about\s+)?-?\d[\d.]*\s*(?:%|percent|per cent|°C)",
    re.I,
)
_WORDED = (
    (r"\bhalv(?:e|ing)\b", "a 50% reduction in"),
    (r"\bhalves\b", "a 50% reduction in"),
    (r"\b(?:is|are|be|being|were) halved\b", "reduced by 50%"),
    (r"\bdoubl(?:e|es|ing)\b(?= (?:the|its|traffic|demand))", "a 100% increase in"),
    (r"\bby (?:a|one) quarter\b", "by 25%"),
    (r"\bby (?:a|one) third\b", "by 33.3%"),
    (r"\bby (?:a|one) fifth\b", "by 20%"),
    (r"\bby (?:a|one) tenth\b", "by 10%"),
    (r"\bby (?:a |one )?half\b", "by 50%"),
    (r"\bby three quarters\b", "by 75%"),
)
_TRAILING = re.compile(r"[`)\s]*[\w-]+")
_REMAINS = re.compile(r"`?\s*(?:%|percent|per cent)?\s*(?:of|times)\s", re.I)


_BREAK = re.compile(r"[,;:.?]|\b(?:and|to prevent|while|but)\b")
_SENTENCE_END = re.compile(r"[.?;]\s")
_LINKED = re.compile(
    r"\W*(?:(?:[a-z-]+ )?(?:\w+ )?"
    r"(?:in|of|to|on|for|more|less|fewer|higher|lower|off|from)\b"
    r"|\w+(?:ion|ease|th)\b)?\W*(?:\w+[\s'’-]+(?:s )?){0,5}$"
)
_BOUND_BEFORE = re.compile(r"\b(?:by|at|to|of|emissions?|is|down|up)\W*$|^\W*$")


class Mention(NamedTuple):
    """Where a topic is named."""

    begin: int
    end: int
    name: str


@dataclass(frozen=True)
class Change:
    """A change of one topic: ``percent`` relative to now, signed; -20 is a cut by 20 %."""

    percent: float


def changes(question: str, topics: Mapping[str, str]) -> Mapping[str, Change]:
    """The relative change of each topic (name to pattern) that the question states.

    A written minus sign is taken as it stands ('reduced by -5 %' is -5). 'adjusted by 5 %' is +5.
    'to 70 % of today's' and '1.3 times' are turned into changes. Class thresholds are no changes.
    """
    return _changes(question, tuple(topics.items()))


@lru_cache(maxsize=256)
def _changes(question: str, topics: tuple[tuple[str, str], ...]) -> Mapping[str, Change]:
    text = _plain(question)
    mentions = sorted(
        Mention(match.start(), match.end(), name)
        for name, pattern in topics
        for match in re.finditer(rf"(?<![\w])(?:{pattern})(?!\w)", text, re.I)
    )
    numbers = [item for item in quantities(text) if _usable(text, item)]
    found: dict[str, Change] = {}
    last_sign = 1.0
    previous_end = 0
    for index, item in enumerate(numbers):
        next_start = numbers[index + 1].start if index + 1 < len(numbers) else len(text)
        mention = _topic(text, mentions, item, previous_end, next_start)
        if mention is None:
            previous_end = item.unit_end
            continue
        sign = _sign(text, item, mention, previous_end, last_sign)
        found.setdefault(mention.name, Change(_percent(text, item, sign)))
        last_sign, previous_end = sign, max(_past_direction(text, item), mention.end)
    return found


def _past_direction(text: str, item: Quantity) -> int:
    """Where the words of a number end: '5.5 % higher' ends behind 'higher'."""
    trailing = _TRAILING.match(text, item.unit_end)
    directed = trailing and (_UP.search(trailing[0]) or _DOWN.search(trailing[0]))
    return trailing.end() if trailing and directed else item.unit_end


@lru_cache(maxsize=256)
def _plain(question: str) -> str:
    """The question with worded fractions as percentages and its thresholds blanked out."""
    text = canonical(question)
    for asked in thresholds(text):
        text = text[: asked.start] + " " * (asked.end - asked.start) + text[asked.end :]
    text = _COMPARISON.sub(lambda match: " " * len(match[0]), text)
    for pattern, words in _WORDED:
        text = re.sub(pattern, words, text, flags=re.I)
    return text


def _usable(text: str, item: Quantity) -> bool:
    return item.unit in ("percent", "fold") or (
        item.unit == "" and bool(re.search(r"factor (?:of|to|=|:)\s*$", text[: item.start]))
    )


def _topic(
    text: str, mentions: list[Mention], item: Quantity, previous_end: int, next_start: int
) -> Mention | None:
    """The mention a number changes: behind it ('a 5 % cut in CO2') or before ('CO2 by 5 %')."""
    reach = min(next_start, item.unit_end + 60)
    behind = next((m for m in mentions if item.unit_end <= m.begin < reach), None)
    before = next((m for m in reversed(mentions) if previous_end <= m.end <= item.start), None)
    gap = text[item.unit_end : behind.begin] if behind else ""
    lead = text[before.end : item.start] if before else ""
    bound = before is not None and len(lead) < 25 and _BOUND_BEFORE.search(lead)
    if behind and not bound and not _BREAK.search(gap) and _LINKED.match(gap):
        return behind
    if before and not _SENTENCE_END.search(lead):
        return before
    if behind and not _SENTENCE_END.search(gap):
        return behind
    return None


def _sign(
    text: str, item: Quantity, mention: Mention, previous_end: int, last_sign: float
) -> float:
    """+1 or -1 by the nearest word of change; a neighbour's where the two are joined by 'and'."""
    if item.value < 0 or text[item.start : item.start + 1] == "+":
        return 1.0  # the number carries its own sign
    if mention.begin >= item.unit_end:
        windows = [text[item.unit_end : mention.begin], _clause(text[previous_end : item.start])]
    else:
        trailing = _TRAILING.match(text, item.unit_end)
        windows = [
            text[mention.end : item.start],
            trailing[0] if trailing else "",
            _clause(text[previous_end : mention.begin]),
        ]
    for window in windows:
        words = [
            (match.start(), sign)
            for pattern, sign in ((_UP, 1.0), (_DOWN, -1.0), (_NEUTRAL, 1.0))
            for match in pattern.finditer(window)
        ]
        if words:
            return max(words)[1]
    joined = re.match(r"\W*(?:and|while|as well as)\b", text[previous_end:])
    return last_sign if joined else 1.0


def _clause(text: str) -> str:
    return re.split(r"[.?;:]\s|, (?!and\b)", text)[-1]


def _percent(text: str, item: Quantity, sign: float) -> float:
    if item.unit == "fold":
        return round(item.value * 100 - 100, 10)
    if item.unit == "":
        return round(item.value * 100 - 100, 10)
    absolute = re.search(r"\b(?:to|at)\s+`?$", text[: item.start]) and _REMAINS.match(
        text, item.end
    )
    if absolute:
        return round(item.value - 100, 10)
    return round(item.value * sign, 10)
