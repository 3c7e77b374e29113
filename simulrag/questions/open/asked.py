"""What a template's asks come to: numbers computed from the structured outputs of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulrag.questions.open.records import Ask
from simulrag.records import Evidence


@dataclass(frozen=True)
class AskedValue:
    """What one ask of a template comes to: the number, and the class that it falls into."""

    ask: Ask
    value: float
    class_name: str | None

    @property
    def limits(self) -> list[float]:
        """The magnitudes at which a class begins, without the first (0)."""
        return [item.from_magnitude for item in self.ask.classes[1:]]


def asked_value(ask: Ask, evidence: Sequence[Evidence]) -> AskedValue | None:
    """The number that an ask is about; None where the runs give none (an output in words)."""
    values = []
    for number in (ask.run, ask.against):
        value = evidence[number - 1].outputs.get(ask.output) if number else 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        values.append(float(value))
    own, other = values
    if ask.scale == "percent" and not other:
        return None
    result = 100 * (own / other - 1) if ask.scale == "percent" else own - other
    reached = [item.name for item in ask.classes if item.from_magnitude <= abs(result)]
    return AskedValue(ask, result, reached[-1] if reached else None)
