"""Numbers with their units, as texts write them."""

from __future__ import annotations

from datetime import date

import pytest

from simulrag.statements import Quantity, quantities, same_number


def only(text: str) -> Quantity:
    (item,) = quantities(text)
    return item


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("a cut by `27`%", 27, "percent"),
        ("27 percent fewer", 27, "percent"),
        ("minus 4.5 %", -4.5, "percent"),
        ("a change of −33.27%", -33.27, "percent"),
        ("it is 11.82°C", 11.82, "degc"),
        ("8.7 degrees Celsius", 8.7, "degc"),
        ("65.82 s per trip", 65.82, "s"),
        ("38,300,266.68 mg", 38300266.68, "mg"),
        ("a median of 1,741 cases", 1741, "cases"),
        ("**2.0** cases", 2.0, "cases"),
        ("6.7 weeks in", 6.7, "weeks"),
        ("about 38 million mg", 38e6, "mg"),
        ("a median value of 1988", 1988, ""),
        ("in 1988", 1988, "year"),
        ("a 12-week wave", 12, "weeks"),
    ],
)
def test_value_and_unit(text: str, value: float, unit: str) -> None:
    item = only(text)
    assert item.value == pytest.approx(value)
    assert item.unit == unit


@pytest.mark.parametrize("text", ["under ssp126", "CO2 and CH4", "SO2", "an R0", "no number"])
def test_digits_of_names_are_no_quantities(text: str) -> None:
    assert quantities(text) == []


def test_a_dash_between_numbers_is_no_sign_and_shares_the_unit() -> None:
    assert [(q.value, q.unit) for q in quantities("moderate (10-30%)")] == [
        (10, "percent"),
        (30, "percent"),
    ]
    assert [(q.value, q.unit) for q in quantities("0.2 to 1.0°C")] == [(0.2, "degc"), (1.0, "degc")]


@pytest.mark.parametrize("text", ["2022-10-05", "5 October 2022", "October 5th, 2022"])
def test_dates(text: str) -> None:
    item = only(f"It starts on {text} there.")
    assert item.unit == "date"
    assert date.fromordinal(int(item.value)) == date(2022, 10, 5)


def test_a_date_without_a_year() -> None:
    item = only("around December 9th")
    assert (item.value, item.unit) == (1209, "month_day")
    assert same_number(item, only("2022-12-09"))
    assert not same_number(item, only("2022-12-10"))


def test_an_impossible_date_is_none() -> None:
    assert all(item.unit != "date" for item in quantities("2022-13-40"))


@pytest.mark.parametrize(
    ("claim", "other", "same"),
    [
        ("33%", "33.27%", True),
        ("33.3%", "33.27%", True),
        ("33.2%", "33.27%", False),
        ("33.27%", "-33.27%", False),
        ("1.2 minutes", "73.99 s", True),
        ("1.3 minutes", "73.99 s", False),
        ("35 cases", "35.0", True),
        ("35%", "35 s", False),
    ],
)
def test_numbers_compare_at_the_rounding_of_the_claim(claim: str, other: str, same: bool) -> None:
    assert same_number(only(claim), only(other)) is same


def test_a_tolerance_in_percent_replaces_the_rounding() -> None:
    assert same_number(only("35%"), 33.27, tolerance_percent=10)
    assert not same_number(only("37%"), 33.27, tolerance_percent=10)


def test_spans_point_at_the_number_and_its_unit() -> None:
    text = "a drop of -33.27 % overall"
    item = only(text)
    assert text[item.start : item.end] == "-33.27"
    assert text[item.start : item.unit_end] == "-33.27 %"


@pytest.mark.parametrize("text", ["1e400 percent", "1" + "0" * 400, "0." + "0" * 400 + "1 %"])
def test_what_no_float_holds_is_no_quantity(text: str) -> None:
    assert quantities(text) == []
