"""Numbers about quantities that no table of ours names, for simulators of users' own.

The sentence of the text that shares most of the claim's words and has a number of the claim's unit
is what the claim is compared with.
"""

from __future__ import annotations

import re

from simulrag.models.offline.check import Check
from simulrag.statements import Quantity, quantities, same_number, signed_change
from simulrag.statements.facts import Fact, given, sentences

_STOP_WORDS = (
    "the and with for from that this will would about than into under after until when are was were"
    " has have its today"
)
_STOP = frozenset(_STOP_WORDS.split())
_LEAST_SHARE = 0.4


def generic_checks(
    claim: str, question: str, text: str, tolerance_percent: float | None
) -> list[Check]:
    """The claim's own numbers against the most similar sentence's numbers of the same unit."""
    known = given(question)
    found = []
    for item in quantities(claim):
        if not item.unit or item.unit == "year" or any(_equal(item, other) for other in known):
            continue
        fact = _nearest(claim, item, text)
        if fact is None:
            continue
        signed = signed_change(claim, item) if item.unit == "percent" else item.value
        value = item.value if signed is None else signed
        holds = same_number(
            _valued(item, value), _valued(fact.quantity, fact.value), tolerance_percent
        )
        words = "agrees with" if holds else "differs from"
        reason = f"{value:g} {words} {fact.value:g}"
        found.append(Check("number", holds, reason, fact, quantity=item))
    return found


def _nearest(claim: str, item: Quantity, text: str) -> Fact | None:
    words = _words(claim)
    best: tuple[float, Fact] | None = None
    for sentence in sentences(text):
        for other in quantities(sentence):
            if other.unit != item.unit:
                continue
            share = len(words & _words(sentence)) / max(1, len(words))
            if share >= _LEAST_SHARE and (best is None or share > best[0]):
                change = item.unit == "percent"
                value = (signed_change(sentence, other) if change else None) or other.value
                role = "change" if change else "level"
                empty: frozenset[str] = frozenset()
                best = share, Fact("", role, value, True, empty, frozenset(), other, sentence)
    return best[1] if best else None


def _words(text: str) -> set[str]:
    return {w[:6] for w in re.findall(r"[a-z]{3,}", text.lower()) if w not in _STOP}


def _equal(item: Quantity, other: Quantity) -> bool:
    return item.unit == other.unit and item.value == other.value


def _valued(item: Quantity, value: float) -> Quantity:
    return Quantity(value, item.unit, item.decimals, item.start, item.end, item.unit_end)
