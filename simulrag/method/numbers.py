"""Numbers as texts write them, compared at their own rounding. Nothing else of a text is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = re.compile(
    r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?(?:[ \u00a0](thousand|million|billion)\b)?"
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
EXACT = 1e-9


@dataclass(frozen=True)
class Number:
    """A number as a text writes it: its magnitude, and half a unit of its last digit."""

    written: str
    value: float
    half_unit: float

    def states(self, value: float) -> bool:
        """Whether it is that value at its own rounding, signs aside."""
        return abs(abs(value) - self.value) <= self.half_unit + EXACT * max(1.0, abs(value))

    def repeats(self, other: Number) -> bool:
        """Whether it is the same number, rounded no more finely than it was given."""
        return self.states(other.value)


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a text in order, thousands with commas or a word behind them among them."""
    found = []
    for match in _NUMBER.finditer(text):
        whole, decimals, scale = match[1].replace(",", ""), match[2] or "", match[3]
        unit = _SCALES.get(scale or "", 1.0)
        value = float(f"{whole}.{decimals or '0'}") * unit
        found.append(Number(match[0], value, 0.5 * unit * 10.0 ** -len(decimals)))
    return tuple(found)
