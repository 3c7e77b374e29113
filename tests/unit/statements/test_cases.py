"""Two cases set side by side: what tells them apart, and which a sentence speaks of."""

from __future__ import annotations

import pytest

from simulrag.statements.cases import named, of_paragraph, pair

R0 = "Two seasons in Ohio are compared: one with an R0 of 1.5, the other with an R0 of 2.1. How?"


def test_a_question_is_read_once_for_each_case() -> None:
    cases = pair(R0 + " What is the peak with an R0 of 2.1?")
    assert cases is not None
    assert cases.words == ("with an R0 of 1.5", "with an R0 of 2.1")
    assert "2.1" not in cases.texts[0]
    assert "1.5" not in cases.texts[1]
    assert "in Ohio" in cases.texts[0]
    assert "in Ohio" in cases.texts[1]


@pytest.mark.parametrize(
    "question",
    [
        "One of the lanes is closed. How does the travel time change?",
        "How does the peak in Ohio and Texas develop with an R0 of 2?",
        "Compare the temperature if CO2 rises by 5% with the temperature if SO2 falls by 5%.",
    ],
)
def test_other_questions_are_no_pairs(question: str) -> None:
    assert pair(question) is None


@pytest.mark.parametrize(
    ("words", "text", "cases"),
    [
        (("in Texas and Ohio", "in New York"), "In New York the peak is 3.", [1]),
        (("in Texas and Ohio", "in New York"), "Influenza season in Texas, Ohio (together).", [0]),
        (("under ssp126", "under ssp585"), "Under ssp585 it is warmer than under ssp126.", [1, 0]),
        (("under ssp126", "under ssp585"), "Compared with ssp126, ssp585 is warmer.", [1, 0]),
        (("in Rome", "in Oslo"), "The first is warmer.", [0]),
        (("in Rome", "in Oslo"), "It grows over the first four weeks.", []),
        (
            ("without any intervention", "with a school closure of 6 weeks"),
            "Schools are closed for 6 weeks.",
            [1],
        ),
    ],
)
def test_sentences_name_cases(words: tuple[str, str], text: str, cases: list[int]) -> None:
    assert named(text, words) == cases


def test_a_paragraph_without_the_measure_is_the_case_without_it() -> None:
    words = ("without any intervention", "with a school closure of 6 weeks")
    assert of_paragraph("Season in Ohio with R0 1.5. The peak is 86 people.", words) == 0
    assert of_paragraph("Season in Ohio. Schools are closed for 6 weeks.", words) == 1
