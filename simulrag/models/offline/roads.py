"""How people speak of a road that is rebuilt: lanes that come or go, and who has priority."""

from __future__ import annotations

import re

_MAIN = r"(?:the )?(?:main |through )?(?:road|street|corridor|arterial|avenue|axis|direction)"
PRIORITY = (
    rf"priority (?:for|to|on|along) {_MAIN}",
    rf"{_MAIN}\w* (?:gets?|has|have|is given|receives?|would get|enjoys?) (?:the |permanent )?"
    r"(?:priority|right[ -]of[ -]way)",
    rf"(?:giv\w+|grant\w*) {_MAIN} (?:the |permanent )?(?:priority|right[ -]of[ -]way)",
    rf"(?:priority|right[ -]of[ -]way) (?:is |being )?(?:given |granted )?to {_MAIN}",
)
"""Patterns of a junction where the main road need not stop."""

_GO = (
    r"(?:clos\w+|giv(?:e|es|en|ing)|taken|tak(?:e|es|ing)|remov\w+|los(?:t|es|e|ing)|reserved"
    r"|block\w*|handed|turned|converted|goes|becomes?|reassigned|dedicated|dropped)"
)
_LOST = re.compile(
    rf"\bone of (?:the |its |our )?(?:two|three|2|3) (?:\w+ )?lanes\b"
    rf"|\b(?:remov|los|clos|tak|drop)\w+ (?:a|one)(?: traffic| driving| car)? lane\b"
    rf"|\b(?:a|one) (?:traffic |driving )?lane (?:is |gets |will be )?{_GO}\b"
    rf"|\bone lane (?:fewer|less)\b|\bnarrowed by (?:a|one) lane\b",
    re.I,
)
_GAINED = re.compile(
    r"\b(?:add|gain|build|open|creat)\w* (?:a|an|one)(?: third| extra| further| additional| new)?"
    r"(?: traffic| driving)? lane\b|\b(?:a|the) third lane\b(?! (?:is |was )?(?:clos|remov))"
    r"|\b(?:extra|additional|further|one more|another) lane\b|\bwiden\w* by (?:a|one) lane\b"
    r"|\b(?:a|one) lane (?:is |gets |will be )?added\b",
    re.I,
)


def lane_step(question: str) -> int:
    """+1 where a question adds a lane to today's, -1 where it takes one, else 0."""
    if _GAINED.search(question):
        return 1
    return -1 if _LOST.search(question) else 0
