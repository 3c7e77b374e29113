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

# What people call the shared socioeconomic pathways (O'Neill et al., 2017).
_PATHWAYS = {
    "ssp119": r"very low emissions",
    "ssp126": r"sustainab\w+ (?:pathway|development|road|path|scenario)|taking the green road"
    r"|strong mitigation|low[- ]emissions? (?:pathway|scenario|path)",
    "ssp245": r"middle[- ]of[- ]the[- ]road|intermediate emissions|medium emissions",
    "ssp370": r"regional rivalry|rocky road|high[- ]emissions? (?<!very high emissions )(?<!very "
    r"high emission )(?:pathway|scenario)",
    "ssp585": r"fossil[- ]fuel(?:l?ed)?[- ](?:development|growth|intensive|path)\w*"
    r"|taking the highway|very high[- ]emissions?|business[- ]as[- ]usual|worst[- ]case",
}
_NEW_PATIENTS = re.compile(
    r"\badmissions?\b|\badmitted\b|\bnew(?:ly)? (?:\w+ )?(?:hospitali[sz]\w+|patients|cases)", re.I
)


def named(choices: Sequence[str], question: str) -> list[str]:
    """The pathways of an enumeration that a question names, by code or by title, in order."""
    places: list[tuple[int, str]] = []
    for choice in choices:
        match = re.fullmatch(r"ssp(\d)(\d)(\d)", choice)
        if match is None:
            return []
        code = rf"\bssp[\s-]*{match[1]}[\s._-]*{match[2]}[\s._]*{match[3]}(?!\d)"
        title = _PATHWAYS.get(choice, code)
        found = re.search(code, question, re.I) or re.search(title, question, re.I)
        if found:
            places.append((found.start(), choice))
    coded = [c for _, c in sorted(places) if re.search(r"\bssp[\s-]*\d[\s._-]*\d", question, re.I)]
    return coded or [choice for _, choice in sorted(places)]


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
    if called := named(choices, question):
        return called[0]
    whole = [(plain.find(_fold(choice)), choice) for choice in choices if _fold(choice) in plain]
    if whole:
        return min(whole)[1]
    if re.search(r"\bhospital|\badmission|\bpatients\b|\bbeds\b", question, re.I):
        choices = [choice for choice in choices if "hospital" in choice] or choices
    tokens = {choice: re.split(r"\W+", choice.lower())[-1] for choice in choices}
    hits = [(m.start(), c) for c, word in tokens.items() if (m := re.search(word, question, re.I))]
    if not hits and "incidence" in tokens.values():
        word = "incidence" if _NEW_PATIENTS.search(question) else "prevalence"
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
