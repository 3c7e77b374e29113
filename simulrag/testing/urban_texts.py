"""What the test double reads of the urban simulator's texts: their lines, by their labels."""

from __future__ import annotations

import re
from dataclasses import dataclass

INSIDE = {
    "average vehicle travel time": ("Average travel time", "travel_time_change_percent"),
    "average vehicle idling time": ("Average idling time", "idling_change_percent"),
    "total fuel consumption": ("Total fuel consumption", "fuel_change_percent"),
    "total CO2 emissions": ("Total CO2 emissions", "co2_change_percent"),
    "total NOx emissions": ("Total NOx emissions", "nox_change_percent"),
    "average distance travelled": ("Average distance", ""),
}
"""What claims speak of: its label in the evidence, and the output of a comparison."""

_LINE = re.compile(
    r"^(?P<label>[A-Z][\w ]+): (?P<value>[\d.]+) (?P<unit>\w+)"
    r"(?:.*?a change of (?P<change>[+-]?[\d.]+) %)?.*$",
    re.M,
)


@dataclass(frozen=True)
class PrintedLine:
    """One line of a run's evidence, its numbers as printed; ``change`` in percent."""

    value: str
    unit: str
    change: str | None


def runs_of(evidence: str) -> list[dict[str, PrintedLine]]:
    """The runs of an evidence, each a reading by label."""
    parts = re.split(r"^Run \d+ \(.*\):\n", evidence, flags=re.M)
    return [
        {m["label"]: PrintedLine(m["value"], m["unit"], m["change"]) for m in _LINE.finditer(part)}
        for part in parts
        if part.strip()
    ]


def changes(evidence: str) -> dict[str, float]:
    """By subject: the change in percent that an evidence states first."""
    found: dict[str, float] = {}
    for run in runs_of(evidence):
        for subject, (label, _) in INSIDE.items():
            reading = run.get(label)
            if reading is not None and reading.change is not None:
                found.setdefault(subject, float(reading.change))
    return found
