"""Directions, signs and subjects."""

from __future__ import annotations

import pytest

from simulrag.statements import direction, directions, signed_change, subjects


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Travel time increases by 5%.", "up"),
        ("Idling falls sharply.", "down"),
        ("The initial trend is stable.", "flat"),
        ("The city shows a cooling trend.", "down"),
        ("Despite an 18% increase in demand, travel time decreases by 27%.", "down"),
        ("The change falls within the moderate range.", None),
        ("The low-speed zone is downtown.", None),
        ("Despite the 31% speed reduction, travel time rises.", "up"),
        ("Hospital prevalence shows a negative growth of 10.7%.", "down"),
        ("The four-week growth is -58.3%.", "down"),
        ("The strategy improves average travel time.", "down"),
    ],
)
def test_direction(text: str, expected: str | None) -> None:
    assert direction(text) == expected


def test_a_denied_direction_leaves_the_others() -> None:
    assert directions("Travel time does not increase.") == {"down", "flat"}
    assert direction("Travel time does not increase.") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a decrease of 33.27 %", -33.27),
        ("a -56.7% reduction", -56.7),
        ("it rises by 4%", 4.0),
        ("it warms by 0.35°C", 0.35),
        ("Travel time improves by 9.85%.", -9.85),
        ("reducing total CO2 emissions by 34.36%", -34.36),
        ("no number here", None),
    ],
)
def test_signed_change(text: str, expected: float | None) -> None:
    assert signed_change(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean journey times", {"travel_time"}),
        ("CO2 emissions per vehicle", {"co2_per_vehicle"}),
        ("the total temperature change", {"temperature_change"}),
        ("the average temperature", {"temperature"}),
        ("growth over the first four weeks", {"four_week_growth"}),
        ("black carbon and methane", {"bc", "ch4"}),
        ("the mood of pedestrians", set()),
    ],
)
def test_subjects(text: str, expected: set[str]) -> None:
    assert subjects(text) == expected
