"""Where the statements of an answer stand in its text, and the text with every word marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from simulrag.records import Standing, Statement

WEAKEST_FIRST: tuple[Standing, ...] = (
    "wrong",
    "not_run",
    "beyond",
    "judgement",
    "corrected",
    "added",
    "checked",
)
"""Of quotes that overlap the words show the first of these."""

Place = tuple[int, int]
"""Start and end in a text, in characters."""


_NOTHING_BEFORE = r"(?<!\w)(?<!\d[.,])(?<!(?<!\d)[-+\u2212\u2013])"
_NOTHING_BEHIND = r"(?!\w)(?![.,]\d)"


@dataclass(frozen=True)
class Stretch:
    """Words of a text that the same statements speak of: their indices, the weakest first.

    ``standing`` None: no statement does.
    """

    text: str
    standing: Standing | None = None
    statements: tuple[int, ...] = ()


def place_of(quote: str, text: str, after: int = 0) -> Place | None:
    """Start and end of a quote in a text, white space folded; None: it is not there.

    Of several places the first at or behind ``after``, else the first. One inside longer words or
    numbers is a place where there is no other.
    """
    places = _places(quote, text, whole=True) or _places(quote, text)
    return next((place for place in places if place[0] >= after), next(iter(places), None))


def places_of(quotes: Sequence[str | Place], text: str) -> list[Place | None]:
    """Find the places of quotes in the order of the text; one may be known already.

    Each is at or behind the one before where it can be, the same words once more behind their last
    place.
    """
    places: list[Place | None] = []
    after, taken = 0, dict[str, int]()
    for quote in quotes:
        place = quote if isinstance(quote, tuple) else None
        if isinstance(quote, str):
            place = place_of(quote, text, max(after, taken.get(_folded(quote), 0)))
        if place is not None:
            after = place[0]
            taken[_folded(text[slice(*place)])] = after + 1
        places.append(place)
    return places


def _folded(text: str) -> str:
    return " ".join(text.split())


def times_in(quote: str, text: str) -> int:
    """Count the quote in a text, but for where it is a part of longer words or numbers.

    A sign belongs to its number: "-5" does not have "5". A range, "3-5", has both its ends.
    """
    return len(_places(quote, text, whole=True))


def _places(quote: str, text: str, *, whole: bool = False) -> list[Place]:
    words = quote.split()
    if not words:
        return []
    pattern = r"\s+".join(map(re.escape, words))
    if whole:
        before = _NOTHING_BEFORE if re.match(r"\w", words[0]) else ""
        behind = _NOTHING_BEHIND if re.search(r"\w$", words[-1]) else ""
        pattern = f"{before}{pattern}{behind}"
    return [match.span() for match in re.finditer(pattern, text)]


def stretches(text: str, statements: Sequence[Statement]) -> list[Stretch]:
    """Cut the whole text in order, where a statement begins or ends."""
    placed = [
        (at, statement.start, statement.end)
        for at, statement in enumerate(statements)
        if statement.start is not None
        and statement.end is not None
        and 0 <= statement.start < statement.end <= len(text)
    ]
    cuts = sorted({0, len(text), *(cut for _, start, end in placed for cut in (start, end))})
    pieces = []
    for begin, stop in pairwise(cuts):
        over = [at for at, start, end in placed if start <= begin and stop <= end]
        over.sort(key=lambda at: WEAKEST_FIRST.index(statements[at].standing))
        standing = statements[over[0]].standing if over else None
        pieces.append(Stretch(text[begin:stop], standing, tuple(over)))
    return pieces
