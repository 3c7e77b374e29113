"""Flesch reading ease and Flesch-Kincaid grade level, with a counter of its own name."""

from __future__ import annotations

from dataclasses import dataclass

COUNTER = "simulrag-en-1"
"""Names the rules by which sentences, words and syllables are counted here."""


@dataclass(frozen=True)
class Counts:
    """Sentences, words and syllables of an English text."""

    sentences: int
    words: int
    syllables: int


def readability(text: str) -> tuple[float, float] | None:
    """(FRE, FKGL): FRE is easier the higher, FKGL is a US school grade.

    None without words and for a text that is not English: the formulas are fitted to English.
    """
    raise NotImplementedError


def counts(text: str) -> Counts:
    """What the formulas count."""
    raise NotImplementedError


def sentences(text: str) -> list[str]:
    """The sentences of a text, list items and lines of a table among them."""
    raise NotImplementedError


def ease_band(fre: float) -> str:
    """The published code's name of a reading ease."""
    raise NotImplementedError


def grade_band(fkgl: float) -> str:
    """The published code's name of a grade level."""
    raise NotImplementedError
