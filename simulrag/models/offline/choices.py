"""Enumerated arguments: which of the allowed words a question means."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEVELS = {
    "none": r"no|none|absent|absence of|without|zero|lack\w*|negligible|not? role|free of",
    "high": r"high(?:ly)?|strong(?:ly)?|pronounced|significant|marked|heavy|intense|large",
    "moderate": r"moderate(?:ly)?|medium|intermediate|mid",
    "low": r"low|weak|slight|small|mild",
}


def choose(choices: Sequence[str], own: Sequence[str], question: str) -> str | None:
    """The word of an enumeration that a question means, None where it means none.

    Named outright ('ssp245', 'SSP2-4.5'), or a level ('no', 'strong') beside ``own``, the words of
    the argument's name.
    """
    plain = _fold(question)
    stem = own[0][:8] if own else ""
    levels = {choice: _LEVELS[choice] for choice in choices if choice in _LEVELS}
    if levels and stem:
        for match in re.finditer(rf"(?<!\w)({stem}\w*)", question, re.I):
            near = _nearest_level(question, match, levels)
            if near:
                return near
        root = re.search(rf"(?<!\w)(\w+) {stem[:8]}", question, re.I)
        return root and next((c for c, p in levels.items() if re.fullmatch(p, root[1], re.I)), None)
    whole = [(plain.find(_fold(choice)), choice) for choice in choices if _fold(choice) in plain]
    if whole:
        return min(whole)[1]
    tokens = {choice: re.split(r"\W+", choice.lower())[-1] for choice in choices}
    hits = [(m.start(), c) for c, word in tokens.items() if (m := re.search(word, question, re.I))]
    if not hits and "incidence" in tokens.values():
        word = "incidence" if re.search(r"\badmissions\b", question, re.I) else "prevalence"
        return next((choice for choice, last in tokens.items() if last == word), None)
    return min(hits)[1] if hits else None


def _nearest_level(question: str, match: re.Match[str], levels: dict[str, str]) -> str | None:
    before = re.split(r"[,;?]|\.\s", question[: match.start()])[-1][-40:]
    behind = re.split(r"[,;?]|\.\s", question[match.end() :])[0][:30]
    ranked = []
    for choice, pattern in levels.items():
        for hit in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", before, re.I):
            ranked.append((len(before) - hit.end(), choice))
        for hit in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", behind, re.I):
            ranked.append((hit.start() + 8, choice))
    return min(ranked)[1] if ranked else None


def _fold(text: str) -> str:
    """Lower case without dashes, dots and spaces inside names, so that 'SSP2-4.5' is 'ssp245'."""
    return re.sub(r"[\s._-]+", "", text.lower())
