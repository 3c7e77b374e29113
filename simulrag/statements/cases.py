"""Cases that are compared: which of them a sentence speaks of.

"one with an R0 of 1.5, the other with an R0 of 2.1" names two cases; what tells a case from its
sibling (1.5 and 2.1) is what a sentence about it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_PAIR = re.compile(
    r"(?P<lead>[,:;]\s|\band\s|\b(?=one\b))?\b(?:the )?(?:one|first)\b(?: is| would be)? "
    r"(?P<one>(?:in|under|with|without|at|for|from|on|where|if)\b[^?]+?),? (?:and )?"
    r"(?:the )?(?:other|second)(?: one)?(?: is| would be)? "
    r"(?P<two>(?:in|under|with|without|at|for|from|on|where|if)\b.+?)(?=[?;]|\.\s|\.?$)",
    re.I | re.S,
)
_ORDINAL = (re.compile(r"\b(?:first|former)\b", re.I), re.compile(r"\b(?:second|latter)\b", re.I))
_FIRST_TIMES = re.compile(r"\bfirst (?:four|4|few|\w+ weeks?|month)\b|\bseconds?\b(?= of)", re.I)
_BASE_BEFORE = re.compile(
    r"\b(?:than|compared (?:with|to)|against|over|versus|relative to)\b(?: [^\W\d]+){0,4} ?$", re.I
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+\d*")
_SMALL_WORDS = (
    "a an the of in on at to by for with and or is are under from where if that its it be"
    " week weeks any percent without no"
)
_SMALL = frozenset(_SMALL_WORDS.split())
_NONE = re.compile(r"\b(?:without|no|unchanged)\b", re.I)


@dataclass(frozen=True)
class Pair:
    """Two cases of a question. ``texts``: the question as it would read for each case alone."""

    words: tuple[str, str]
    texts: tuple[str, str]


@lru_cache(maxsize=512)
def pair(question: str) -> Pair | None:
    """The two cases that a question sets side by side ('one ..., the other ...'), else None."""
    match = _PAIR.search(question)
    if match is None:
        return None
    words = (match["one"].strip(" ,"), match["two"].strip(" ,."))
    before, behind = question[: match.start()], question[match.end() :]
    one, two = (_alone(before, words[own], words[1 - own], behind) for own in (0, 1))
    return Pair(words, (one, two))


def _alone(before: str, own: str, other: str, behind: str) -> str:
    """The question for one case: nothing of the other one is left in what is asked behind."""
    asked = re.sub(rf"(?<!\w){re.escape(other)}(?!\w)", own, behind.lstrip("."))
    # A semicolon for the full stop: a name at the end of a case must not run into what follows.
    return f"{before.rstrip(' ,:;')}, {own};{asked}"


@lru_cache(maxsize=1024)
def tokens(words: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """What tells each case from the others: its words and numbers that no other case has."""
    found = [{token.lower() for token in _TOKEN.findall(text)} - _SMALL for text in words]
    return tuple(
        frozenset(own - set().union(*(other for other in found if other is not own)))
        for own in found
    )


def named(text: str, words: Sequence[str]) -> list[int]:
    """The cases that a text speaks of (from 0), in the order in which it names them.

    A case is named by its words, by half of what tells it from the others, or, of two, as the
    first or the second. What stands behind 'than' or 'compared with' comes last.
    """
    places: list[tuple[bool, int, int]] = []
    lower = text.lower()
    for index, own in enumerate(tokens(tuple(words))):
        start = lower.find(words[index].lower())
        hits = [match.start() for token in own if (match := _token(token).search(lower))]
        if start < 0 and own and len(hits) * 2 >= len(own):
            start = min(hits)
        if start < 0 and len(words) == 2:
            plain = _FIRST_TIMES.sub(lambda match: " " * len(match[0]), text)
            match = _ORDINAL[index].search(plain)
            start = match.start() if match else -1
        if start >= 0:
            based = bool(_BASE_BEFORE.search(text[max(0, start - 60) : start]))
            places.append((based, start, index))
    return [index for _, _, index in sorted(places)]


def of_paragraph(text: str, words: Sequence[str]) -> int | None:
    """The one case that a paragraph is about; one 'without' is meant where the other is not."""
    found = named(text, words)
    if len(found) == 1:
        return found[0]
    absent = [index for index, item in enumerate(words) if _NONE.search(item)]
    return absent[0] if not found and len(absent) == 1 and len(words) == 2 else None


@lru_cache(maxsize=1024)
def _token(token: str) -> re.Pattern[str]:
    """The token, a word of six letters or more in any form of it ('closure', 'closed')."""
    if len(token) > 5 and token.isalpha():
        return re.compile(rf"(?<!\w){re.escape(token[: max(4, len(token) - 3)])}")
    return re.compile(rf"(?<![\w.]){re.escape(token)}(?!\w|\.\d)")
