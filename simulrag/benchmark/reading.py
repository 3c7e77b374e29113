"""Reading a sentence against the facts of a run: what it names, what it states, where it parts."""

from __future__ import annotations

import re
from functools import lru_cache

from simulrag.benchmark.facts import Facts, Output
from simulrag.statements import (
    Quantity,
    direction_words,
    quantities,
    same_number,
    subject_spans,
)

_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])")
_JOINT = re.compile(
    r";\s+|,\s+(?:and|while|whereas|but|yet|with)\s+"
    r"|,?\s+(?:and|while|whereas|but|despite|although|albeit)\s+",
    re.I,
)
_CONCESSION = re.compile(r"despite|although|albeit", re.I)
_CONDITION = re.compile(
    r"\b(?:when|if|given|with|under|after|despite|because|due|owing|from|for|as|once|where)\b", re.I
)
_RESULT_BEFORE_ITS_NAME = re.compile(r"\W*(?:\w+[ -]){1,4}(?:in|of)\s+(?:\w+[ -]){0,4}")
_COMPARED_BEFORE = re.compile(
    r"\b(?:over|above|below|under|than|between|from|to|and|or|least|most|exceed\w*|threshold\w*"
    r"|limit|within|of)\W*(?:the\s+)?(?:\w+[ -]){0,1}\(?$|[-–(]$",
    re.I,
)
_COMPARED_BEHIND = re.compile(
    r"\W*(?:or (?:more|less|above|over|below)|threshold|limit|mark|to|[-–])"
)


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[Quantity, ...]:
    """``quantities``, read once a text: every rule of the check asks for them again."""
    return tuple(quantities(text))


def pieces(text: str, facts: Facts) -> list[str]:
    """The sentences of a text, cut before a concession and where a result follows a result."""
    found: list[str] = []
    for sentence in _SENTENCE.split(text.strip()):
        start = 0
        for match in _JOINT.finditer(sentence):
            rest = sentence[match.end() :]
            # "CO2 and NOx fall by ..." is no place to cut: the first has no result of its own.
            following = rest[: joint.start()] if (joint := _JOINT.search(rest)) else rest
            before = sentence[start : match.start()]
            apart = bool(_CONCESSION.search(match[0])) or _has_result(before, facts)
            if apart and named_outputs(following, facts):
                found.append(before)
                start = match.start()
        found.append(sentence[start:])
    return [piece.strip() for piece in found if piece.strip()]


def stands_for_a_result(piece: str, item: Quantity, named: list[Output], facts: Facts) -> bool:
    """Whether a set-up or threshold number is given as what a quantity came to."""
    if (
        any(equals(item, limit) for limit in facts.limits)
        and (
            _COMPARED_BEFORE.search(piece[: item.start])
            or _COMPARED_BEHIND.match(piece[item.unit_end :])
        )
        and not re.search(r"\bby\W*$", piece[: item.start])
    ):
        return False
    for output in named:
        for start, end in output.mentions(piece):
            if end <= item.start:
                between = piece[end : item.start]
                if not _CONDITION.search(between) and not subject_spans(between):
                    return True
            elif start >= item.unit_end and _RESULT_BEFORE_ITS_NAME.fullmatch(
                piece[item.unit_end : start]
            ):
                return True
    return False


def named_outputs(piece: str, facts: Facts) -> list[Output]:
    """The asked outputs that a piece speaks of."""
    return [output for output in facts.asked if output.mentions(piece)]


def _has_result(piece: str, facts: Facts) -> bool:
    return bool(named_outputs(piece, facts)) and bool(numbers(piece) or direction_words(piece))


def states(piece: str, output: Output) -> bool:
    """Whether a piece has the output's number."""
    return any(matches(item, output) for item in numbers(piece))


def matches(item: Quantity, output: Output) -> bool:
    """Equal in magnitude at the item's own rounding; the way is for the direction check."""
    positive = [
        Quantity(abs(x.value), x.unit, x.decimals, x.start, x.end, x.unit_end)
        for x in (item, output.quantity)
    ]
    return same_number(positive[0], positive[1])


def equals(item: Quantity, value: float) -> bool:
    """Equal in magnitude, not rounded: for numbers that are repeated, not measured."""
    return abs(abs(item.value) - abs(value)) <= 1e-9 * max(1.0, abs(value))
