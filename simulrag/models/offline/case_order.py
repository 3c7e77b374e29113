"""'In Rome it is warmer than in Oslo': which of two compared cases has more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulrag.models.offline.check import Check
from simulrag.statements import Quantity, case_names, case_pair, quantities
from simulrag.statements.facts import Fact, sentences

_MORE = re.compile(r"\b(?:warmer|hotter|higher|larger|greater)\b", re.I)
_LESS = re.compile(r"\b(?:cooler|colder|lower|smaller)\b", re.I)
_LEVELS = ("temperature", "peak_magnitude", "cumulative")


def case_order_checks(claim: str, question: str, text: str, stated: Sequence[Fact]) -> list[Check]:
    """The order that a claim gives the two cases of a question, against the levels or the text."""
    cases = case_pair(question)
    said = _more(claim, cases.words) if cases else None
    if cases is None or said is None or any(q.unit == "percent" for q in _results(claim, question)):
        return []
    right = _by_levels(stated)
    if right is None:
        told = [_more(sentence, cases.words) for sentence in sentences(text)]
        right = next((item for item in told if item is not None), None)
    if right is None:
        return []
    reason = f"it is more {cases.words[right]}"
    return [Check("order", said == right, reason, None, str(said), str(right))]


def _results(claim: str, question: str) -> list[Quantity]:
    given = {item.value for item in quantities(question)}
    return [item for item in quantities(claim) if item.value not in given]


def _more(text: str, words: tuple[str, str]) -> int | None:
    more, less = _MORE.search(text), _LESS.search(text)
    named = case_names(text, words)
    if not named or not (more or less):
        return None
    up = more is not None and (less is None or more.start() < less.start())
    return named[0] if up else 1 - named[0]


def _by_levels(stated: Sequence[Fact]) -> int | None:
    for subject in _LEVELS:
        levels = [
            next(
                (
                    fact.value
                    for fact in stated
                    if fact.subject == subject and fact.role != "change" and case in fact.tags
                ),
                None,
            )
            for case in ("case 1", "case 2")
        ]
        first, second = levels
        if first is not None and second is not None and first != second:
            return 0 if first > second else 1
    return None
