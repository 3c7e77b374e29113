"""A page's text cut into passages that overlap."""

from __future__ import annotations

CHARACTERS = 2000
OVERLAP = 200

_BREAKS = ("\n\n", "\n", ". ", " ")
"""Where a passage ends best, in this order."""


def chunks(text: str, size: int = CHARACTERS, overlap: int = OVERLAP) -> list[str]:
    """Pieces of at most ``size`` characters; the next begins ``overlap`` before the last one's end.

    A piece ends at a paragraph, line, sentence or word, if there is one in its last third.
    """
    pieces: list[str] = []
    start = 0
    while True:
        end = len(text) if len(text) - start <= size else _end(text, start, size)
        if piece := text[start:end].strip():
            pieces.append(piece)
        if end == len(text):
            return pieces
        start = _start(text, end, overlap)


def _end(text: str, start: int, size: int) -> int:
    for mark in _BREAKS:
        found = text.rfind(mark, start + 2 * size // 3, start + size)
        if found >= 0:
            return found + len(mark.rstrip())
    return start + size


def _start(text: str, end: int, overlap: int) -> int:
    """The first word of the overlap; a text without spaces is cut in the middle of it all."""
    for place in range(end - overlap, end):
        if text[place - 1].isspace():
            return place
    return end - overlap
