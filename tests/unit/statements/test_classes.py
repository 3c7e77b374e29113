"""Thresholds that a question states, and the class words of a text."""

from __future__ import annotations

import math

from simulrag.statements import class_of, class_words, thresholds

TWO = (
    "What is the percentage change in average vehicle idling time, and is this reduction "
    "considered minor (under 25%), moderate (25-75%), or significant (over 75%)? How do overall "
    "CO2 emissions change, and is this a negligible (less than 10% reduction), notable (10% to 30% "
    "reduction), or substantial (over 30% reduction) change?"
)
ONE = (
    "Is the magnitude of this temperature change negligible (< 0.2°C), modest (0.2°C to 1.0°C), or "
    "significant (1.0°C or more) at the points [(-12.5, 3.1)]?"
)


def test_each_asked_quantity_has_its_own_classes() -> None:
    idling, co2 = thresholds(TWO)
    assert (idling.subject, idling.unit) == ("idling", "percent")
    assert [c.name for c in idling.classes] == ["minor", "moderate", "significant"]
    assert (idling.classes[1].low, idling.classes[1].high) == (25, 75)
    assert idling.classes[2].high == math.inf
    assert (co2.subject, [c.name for c in co2.classes]) == (
        "co2",
        ["negligible", "notable", "substantial"],
    )


def test_symbols_degrees_and_coordinates() -> None:
    (asked,) = thresholds(ONE)
    assert (asked.subject, asked.unit) == ("temperature_change", "degc")
    assert [c.name for c in asked.classes] == ["negligible", "modest", "significant"]


def test_the_class_of_a_value_and_its_edges() -> None:
    classes = thresholds(TWO)[0].classes
    assert [class_of(v, classes) for v in (24.99, 25, 75, 75.01)] == [
        "minor",
        "moderate",
        "moderate",
        "significant",
    ]
    (asked,) = thresholds(ONE)
    assert class_of(1.0, asked.classes) == "modest"
    assert class_of(1.01, asked.classes) == "significant"


def test_no_thresholds() -> None:
    assert (
        thresholds("How does an R0 (R0) of 2.4 behave with a reduction (reducing CO2 by 5%)?") == []
    )


def test_class_words_are_whole_and_not_denied() -> None:
    names = ["minor", "moderate", "significant"]
    assert class_words("A significant, not a minor, change.", names) == ["significant"]
    assert class_words("It is significantly lower.", names) == []
    assert class_words("Moderate, then minor.", names) == ["moderate", "minor"]
