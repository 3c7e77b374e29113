"""One stated number with its subject, and which subjects a unit can belong to."""

from __future__ import annotations

from dataclasses import dataclass

from simulrag.statements.quantities import Quantity

# Which subjects a unit can belong to, in order of preference where a sentence names several.
OF_UNIT: dict[str, tuple[str, ...]] = {
    "percent": (
        "travel_time",
        "idling",
        "co2_per_vehicle",
        "co2",
        "nox",
        "fuel",
        "distance",
        "vehicles",
        "four_week_growth",
        "trend",
    ),
    "s": ("travel_time", "idling"),
    "min": ("travel_time", "idling"),
    "h": ("travel_time", "idling"),
    "mg": ("co2_per_vehicle", "co2", "nox"),
    "g": ("co2_per_vehicle", "co2", "nox"),
    "kg": ("co2_per_vehicle", "co2", "nox"),
    "t": ("co2",),
    "ml": ("fuel",),
    "l": ("fuel",),
    "m": ("distance",),
    "km": ("distance",),
    "vehicles": ("vehicles",),
    "steps": ("simulation_steps",),
    "degc": ("temperature_change", "temperature"),
    "weeks": ("peak_timing", "peak_magnitude"),
    "days": ("peak_timing", "peak_magnitude"),
    "date": ("peak_timing", "peak_magnitude"),
    "month_day": ("peak_timing", "peak_magnitude"),
    "cases": ("cumulative", "interval", "peak_magnitude", "peak_timing"),
    "": ("cumulative", "interval", "peak_magnitude", "peak_timing", "vehicles"),
}
COMPARED = ("peak_magnitude", "cumulative")
"""What can differ by some percent between two cases, besides."""
RENAMED = {
    ("percent", "trend"): "four_week_growth",
    ("weeks", "peak_magnitude"): "peak_timing",
    ("days", "peak_magnitude"): "peak_timing",
    ("date", "peak_magnitude"): "peak_timing",
    ("month_day", "peak_magnitude"): "peak_timing",
    ("cases", "peak_timing"): "peak_magnitude",
    ("", "peak_timing"): "peak_magnitude",
}


@dataclass(frozen=True)
class Fact:
    """One stated number. ``value`` is signed where a direction or a minus sign says so.

    ``directed`` is False where only the size is stated ('a difference of 0.3°C'). ``role``:
    change, level, baseline, scenario, lower or upper. ``tags`` and ``years`` are the circumstances
    (historical, greenhouse, aerosol, global, ...). ``quantity`` is the number as written.
    """

    subject: str
    role: str
    value: float
    directed: bool
    tags: frozenset[str]
    years: frozenset[int]
    quantity: Quantity
    sentence: str
