"""Decomposition, merging, support and stated certainty on text that no template of ours made."""

from __future__ import annotations

from random import Random

import pytest

from simulrag.models.offline.claims import decompose, entail, merge, verbalized
from simulrag.statements import quantities

TRAFFIC = (
    "The bridge closure lengthens average travel time by 8.5%, which counts as moderate. "
    "Meanwhile idling drops 40% and CO2 falls by 12 percent. "
    "This reduction is significant. Overall, the plan is a trade-off."
)


def numbers(texts: list[str]) -> list[float]:
    return sorted({abs(q.value) for text in texts for q in quantities(text)})


def test_clauses_with_their_own_numbers_become_claims_of_their_own() -> None:
    claims = decompose("", TRAFFIC, None)
    assert "Idling drops 40%." in claims
    assert "CO2 falls by 12 percent." in claims
    assert all(len([q for q in quantities(claim) if q.unit == "percent"]) <= 1 for claim in claims)
    assert numbers(claims) == numbers([TRAFFIC])


def test_which_and_this_are_replaced_by_what_they_point_at() -> None:
    claims = decompose("", TRAFFIC, None)
    assert not [c for c in claims if c.lower().startswith(("this ", "it ", "which "))]
    moderate = next(claim for claim in claims if "moderate" in claim)
    assert "travel time" in moderate
    assert "CO2" in next(claim for claim in claims if "significant" in claim)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            "Total emissions of CO2 decrease by 5.2%, and average idling time by 61%.",
            [
                "Total emissions of CO2 decrease by 5.2%.",
                "Average idling time decreases by 61%.",
            ],
        ),
        (
            "The peak of hospital prevalence stays low, with a median of 19.0 cases.",
            [
                "The peak of hospital prevalence stays low.",
                "The peak of hospital prevalence has a median of 19.0 cases.",
            ],
        ),
        (
            "The package helps the climate, with total CO2 emissions falling by 9.1%.",
            ["The package helps the climate.", "Total CO2 emissions fall by 9.1%."],
        ),
        (
            "The temperature in 2050 is 18.3°C. It represents a warming trend.",
            [
                "The temperature in 2050 is 18.3°C.",
                "The temperature in 2050 represents a warming trend.",
            ],
        ),
    ],
)
def test_decompose_by_example(answer: str, expected: list[str]) -> None:
    assert decompose("", answer, None) == expected


def test_markdown_and_lists_lose_no_number() -> None:
    answer = "**Outlook**\n- Growth of 366.7% in four weeks\n- A peak of `22.0` cases by week 6.9"
    assert numbers(decompose("", answer, None)) == [6.9, 22.0, 366.7]


def test_remarks_that_answer_nothing_are_left_out() -> None:
    question = "What is the percentage change in average travel time?"
    answer = "Average travel time rises by 4%. Jazz was born in New Orleans."
    assert decompose(question, answer, None) == ["Average travel time rises by 4%."]


def test_the_limit_keeps_numbers_first_and_the_order_of_the_answer() -> None:
    claims = decompose("", TRAFFIC, 3)
    assert claims == [
        "The bridge closure lengthens average travel time by 8.5%.",
        "Idling drops 40%.",
        "CO2 falls by 12 percent.",
    ]
    assert decompose("", "", None) == []


EXISTING = [
    "Average travel time falls by 11%.",
    "Total CO2 emissions decline.",
    "The change in idling time is moderate.",
]


@pytest.mark.parametrize(
    ("new", "pairs"),
    [
        (["Travel time would drop by about 11%."], [[0, 0]]),
        (["Average travel time rises by 11%."], []),
        (["Average travel time falls by 12%."], []),
        (["Idling falls by 11%."], []),
        (["I expect CO2 emissions to fall."], [[1, 0]]),
        (["CO2 emissions increase."], []),
        (["CO2 emissions fall by 11%."], []),
        (["Idling time changes to a significant degree."], []),
        (["By the stated thresholds the change in idling time is moderate."], [[2, 0]]),
        (["The moon is far.", "Travel time decreases by 11%."], [[0, 1]]),
    ],
)
def test_merge(new: list[str], pairs: list[list[int]]) -> None:
    assert merge(EXISTING, new) == pairs


def test_the_two_scenarios_of_a_comparison_are_not_one_thing() -> None:
    gases = "The greenhouse gas scenario would be the warmer of the two."
    aerosols = "The aerosol scenario would be the warmer of the two."
    assert merge([gases], [aerosols]) == []
    assert entail(gases, [gases, aerosols]) == [True, False]
    levels = ["The baseline temperature is 20.0°C.", "The historical temperature is 20.0°C."]
    assert merge(levels[:1], levels[1:]) == []


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("Average travel time decreases by 11%.", True),
        ("Average travel time decreases by 11.04%.", True),
        ("Average travel time decreases by 11.1%.", False),
        ("Average travel time decreases.", True),
        ("Average travel time increases.", False),
        ("Average travel time increases by 11.04%.", False),
        ("Idling decreases by 11.04%.", False),
        ("Fuel use falls.", False),
        ("The change in total CO2 emissions is moderate.", True),
        ("The change in total CO2 emissions is minor.", False),
    ],
)
def test_support_needs_subject_number_direction_and_class(claim: str, supported: bool) -> None:
    answer = "Average travel time would fall by 11.04%. The rise in CO2 emissions is moderate."
    assert entail(answer, [claim]) == [supported]


def test_silence_is_no_support() -> None:
    assert entail("", ["Travel time falls."]) == [False]
    assert entail("Nothing is known.", ["Travel time falls.", "The peak is 3 cases."]) == [
        False,
        False,
    ]


def test_verbalized_is_a_probability_with_spread_and_prefers_directions() -> None:
    number = [verbalized("q", f"Idling falls by {n}.4%.", Random(n)) for n in range(60)]
    way = [verbalized(f"q{n}", "Idling falls.", Random(n)) for n in range(60)]
    assert all(0 <= value <= 1 and round(value, 2) == value for value in number + way)
    assert len(set(number)) > 10
    assert sum(way) / 60 > sum(number) / 60 + 0.1
    assert verbalized("q", "Idling falls.", Random(1)) == verbalized(
        "q", "Idling falls.", Random(1)
    )
