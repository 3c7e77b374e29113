"""Closed-book answers, the priors behind them, and the final answer."""

from __future__ import annotations

import re
from random import Random

import pytest

from simulrag.models.offline.claims import decompose, entail
from simulrag.models.offline.closed_book import closed_book
from simulrag.models.offline.priors import (
    Climate,
    Influenza,
    Traffic,
    climate,
    global_warming_degc,
    influenza,
    traffic,
)
from simulrag.models.offline.situations import (
    field_of,
    read_climate,
    read_influenza,
    read_traffic,
)
from simulrag.models.offline.synthesis import final
from simulrag.statements import class_words, direction, quantities

TRAFFIC = (
    "Limits on the ring road come down by 25% and the signal at the square gives way to a "
    "priority junction. By how many percent does average travel time change, and is that minor "
    "(under 10%), moderate (10-20%) or significant (over 20%)? What happens to CO2 emissions?"
)
CLIMATE = (
    "In Lyon in 2060 under ssp370, how much warmer or cooler is the local temperature than its "
    "historical average in 1990 if CO2 emissions rise by 20%?"
)
EPIDEMIC = (
    "A flu season starts in Ohio and Texas with an R0 of 2.6, high seasonality and 20% prior "
    "immunity. Please forecast hospital prevalence: initial trend, peak severity and its timing."
)
UNKNOWN = "How much does the yield of wheat change if rain falls by 20%?"


def answers(question: str, count: int = 12) -> list[str]:
    return [closed_book(question, Random(seed)) for seed in range(count)]


@pytest.mark.parametrize("question", [TRAFFIC, CLIMATE, EPIDEMIC, UNKNOWN])
def test_answers_are_reproducible_and_differ_between_samples(question: str) -> None:
    assert answers(question) == answers(question)
    assert len(set(answers(question))) >= 6


@pytest.mark.parametrize("question", [TRAFFIC, CLIMATE, EPIDEMIC, UNKNOWN])
def test_answers_state_numbers(question: str) -> None:
    for answer in answers(question):
        stated = [q for q in quantities(answer) if q.unit != "year"]
        assert stated or "same" in answer or "unchanged" in answer


def test_a_traffic_answer_states_the_class_of_its_own_number() -> None:
    for answer in answers(TRAFFIC, 30):
        numbers = [
            abs(quantities(c)[0].value)
            for c in decompose("", answer, None)
            if "travel time" in c.lower() and quantities(c)
        ]
        number = numbers[0] if numbers else 0.0
        expected = "minor" if number < 10 else "moderate" if number <= 20 else "significant"
        assert class_words(answer, ["minor", "moderate", "significant"])[0] == expected


def test_samples_share_a_belief_and_questions_do_not() -> None:
    def travel(question: str, seed: int) -> float:
        claims = decompose("", closed_book(question, Random(seed)), None)
        claim = next((c for c in claims if "travel time" in c.lower() and "%" in c), None)
        if claim is None:  # "stays about the same"
            return 0.0
        sign = -1 if direction(claim) == "down" else 1
        return sign * quantities(claim)[0].value

    within = [[travel(f"Case {n}. {TRAFFIC}", s) for s in range(6)] for n in range(12)]
    spread_within = sum(max(row) - min(row) for row in within) / len(within)
    middles = [sum(row) / len(row) for row in within]
    assert max(middles) - min(middles) > spread_within > 0


def test_questions_are_read() -> None:
    assert field_of(TRAFFIC) == "traffic"
    assert field_of(CLIMATE) == "climate"
    assert field_of(EPIDEMIC) == "epidemic"
    assert field_of(UNKNOWN) == "other"
    road = read_traffic(TRAFFIC)
    assert (road.speed_factor, road.green_wave) == (pytest.approx(0.75), True)
    setting = read_climate(CLIMATE)
    assert (setting.scenario, setting.past_year, setting.future_year) == ("ssp370", 1990, 2060)
    assert setting.co2 == pytest.approx(0.2)
    season = read_influenza(EPIDEMIC)
    assert season == Influenza(2.6, 0.2, 2, "high", "prevalence")


def test_priors_point_the_way_that_textbooks_do() -> None:
    assert traffic(Traffic(speed_factor=0.6))["travel_time"].mean > 10
    assert traffic(Traffic(green_wave=True))["idling"].mean == pytest.approx(-60)
    assert traffic(Traffic(demand_factor=0.8))["co2"].mean == pytest.approx(-20)
    assert traffic(Traffic())["travel_time"].mean == pytest.approx(0)
    assert climate(Climate(future_year=2090))["change"].mean > 1
    assert climate(Climate(so2=-0.2))["aerosol_change"].mean > 0
    assert global_warming_degc("ssp585", 2090) == pytest.approx(4.4)
    assert global_warming_degc("ssp126", 2050) == pytest.approx(1.7)
    assert influenza(Influenza(2.5, 0.1))["growth"].at(0) > 100
    assert influenza(Influenza(1.5, 0.6))["growth"].at(0) < 0


def test_odd_questions_are_answered_too() -> None:
    for question in ("", "?", "Why?", "Tell me about tea.", "éà 5% ((", "What is 2 + 2?" * 50):
        assert closed_book(question, Random(0)).strip()


CLAIMS = [
    "Overall the outcome is mixed.",
    "Total CO2 emissions fall by 7.25%.",
    "The change in average travel time is moderate.",
    "Average travel time rises by 12%.",
]


def test_final_follows_the_question_and_adds_no_number() -> None:
    text = final(TRAFFIC, CLAIMS)
    assert entail(text, CLAIMS) == [True] * 4
    assert [q.value for q in quantities(text)] == [12, 7.25]
    assert text.index("12%") < text.index("moderate") < text.index("7.25%") < text.index("mixed")
    assert "open" not in text


def test_final_says_what_stays_open() -> None:
    assert re.search(r"CO2[^.]*open", final(TRAFFIC, CLAIMS[2:]))
    nothing = final(TRAFFIC, [])
    assert "open" in nothing
    assert not quantities(nothing)
