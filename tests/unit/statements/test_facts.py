"""What whole texts state: prose and JSON evidence."""

from __future__ import annotations

import json

from simulrag.statements.facts import facts, sentences, surface


def test_a_comparison_line_gives_both_levels_and_the_change() -> None:
    text = (
        "Average travel time: 65.82 s with the interventions against 73.99 s in the baseline, "
        "a change of -11.04 % (standard deviation over 3 replicates: 0.41 percentage points)."
    )
    found = [(f.subject, f.role, f.value) for f in facts(text)]
    assert found == [
        ("travel_time", "scenario", 65.82),
        ("travel_time", "baseline", 73.99),
        ("travel_time", "change", -11.04),
    ]


def test_json_is_read_by_its_keys() -> None:
    blob = {
        "percentage_changes": {"co2_emissions_change_pct": "-33.27"},
        "peak_timing": {"peak_date": "2022-11-21", "weeks_from_start": 6.7},
        "initial_trend": {"four_week_growth_percentage": 5800.0},
        "flag": True,
    }
    found = {(f.subject, f.quantity.unit): f.value for f in facts("Outlook: " + json.dumps(blob))}
    assert found[("co2", "percent")] == -33.27
    assert found[("peak_timing", "weeks")] == 6.7
    assert found[("four_week_growth", "percent")] == 5800.0
    assert ("peak_timing", "date") in found


def test_broken_json_is_read_as_prose() -> None:
    assert facts('{"travel_time_s": 1.0') == []


def test_the_situation_is_no_result() -> None:
    question = "What does a 31% speed reduction with 50% prior immunity do?"
    found = facts("Despite the 31% speed reduction idling drops by 93.1%.", question)
    assert [(f.subject, f.value) for f in found] == [("idling", -93.1)]
    # The same number as a result stays one.
    found = facts("Prevalence shows a 50% reduction in the first four weeks.", question)
    assert [(f.subject, f.value) for f in found] == [("four_week_growth", -50)]


def test_temperatures_and_their_difference_are_told_apart() -> None:
    text = (
        "The historical average temperature of Oslo in 1999 was 6.21°C. With a 12% change in CO2 "
        "the projected temperature in 2065 is 7.48°C. The total change is 1.27°C."
    )
    found = [
        (f.subject, f.value, sorted(f.years))
        for f in facts(text, "What does a 12% change in CO2 do?")
    ]
    assert found == [
        ("temperature", 6.21, [1999]),
        ("temperature", 7.48, [2065]),
        ("temperature_change", 1.27, []),
    ]


def test_sentences_keep_decimals_together() -> None:
    assert sentences("It is 6.2. Then 7.1 follows. Ända.") == [
        "It is 6.2.",
        "Then 7.1 follows.",
        "Ända.",
    ]


def test_surface() -> None:
    assert surface("Oslo is located on land.") == "land"
    assert surface("The grid cell lies at sea.") == "sea"
    assert surface("Is Oslo on land or at sea?") is None
    assert surface("Sea level rises.") is None
