"""Numbers as texts write them, compared at their own rounding. Nothing else of a text is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:[ \u00a0](thousand|million|billion)\b)?"
)
_ABOUT = re.compile(
    r"(\b(about|around|roughly|nearly|almost|approximately|some|close to)[ \u00a0]+|~ ?)[+-]?$",
    re.I,
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
EXACT = 1e-9


@dataclass(frozen=True)
class Number:
    """A number as a text writes it: its magnitude, and half a unit of its last digit.

    ``about``: a word before it says that it is rounded.
    """

    written: str
    value: float
    half_unit: float
    about: bool = False

    @property
    def margin(self) -> float:
        """How far on either side it holds by the precision rule of the prompts.

        Half a unit of the last written digit; with "about" of the last one that is not zero (of
        five units where that is a 5), and at most a tenth of the number.
        """
        if not (self.about and self.value):
            return self.half_unit
        unit = 2 * self.half_unit
        digits = round(self.value / unit)
        while digits % 10 == 0:
            digits //= 10
            unit *= 10
        return min(2.5 * unit if digits % 10 == 5 else unit / 2, self.value / 10)

    def states(self, value: float) -> bool:
        """Tell whether it is that value at its own rounding, signs aside."""
        return abs(abs(value) - self.value) <= self.half_unit + EXACT * max(1.0, abs(value))

    def repeats(self, other: Number) -> bool:
        """Tell whether it is the same number, rounded no more finely than it was given."""
        return self.states(other.value)

    def holds_for(self, other: Number) -> bool:
        """Tell whether the other number lies within its margin."""
        return abs(other.value - self.value) <= self.margin + EXACT * max(1.0, other.value)


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[Number, ...]:
    """Read the numbers of a text in order, thousands with commas or a word behind them too."""
    read = []
    for match in _NUMBER.finditer(text):
        whole, decimals, scale = match[1].replace(",", ""), match[2] or "", match[3]
        unit = _SCALES.get(scale or "", 1.0)
        value = float(f"{whole}.{decimals or '0'}") * unit
        about = _ABOUT.search(text, max(0, match.start() - 20), match.start()) is not None
        read.append(Number(match[0], value, 0.5 * unit * 10.0 ** -len(decimals), about))
    return tuple(read)
