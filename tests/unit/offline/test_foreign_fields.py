"""Fields that no rule knows: guesses, arguments, checks and merging by the question's words."""

from __future__ import annotations

from random import Random

import pytest

from simulrag.models.offline.asking_other import other_points
from simulrag.models.offline.claims import entail, merge
from simulrag.models.offline.closed_book import closed_book
from simulrag.models.offline.handbook import ArgumentRow
from simulrag.models.offline.stated import stated_value
from simulrag.models.offline.templates import spoken
from simulrag.models.offline.verification import verify

HARES = "the mean number of hares against today's hunting"
LYNXES = "the mean number of lynxes against today's hunting"
CLASSES = "minor (under 10%), moderate (10 to 25%) or significant (over 25%)"
QUESTION = (
    "Suppose that hunting is set to 2.3. "
    f"How large is the change of {HARES}, and is it {CLASSES}? "
    f"What do you expect for the change of {LYNXES}, and would it count as {CLASSES}?"
)
EVIDENCE = (
    "With 2.3 times today's hunting, the mean number of hares changes by 30.7 percent and the mean "
    "number of lynxes changes by -13.2 percent."
)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        (QUESTION, [(HARES, "change"), (LYNXES, "change")]),
        ("How many days until the tank is empty?", [("the days until the tank is empty", "level")]),
        ("How do yield and the protein share change?", [("the yield", "change")]),
        (
            "What is the peak in blood? How large is the peak in tissue?",
            [("the peak in blood", "level")],
        ),
        ("When does the tank run dry?", [("the time until the tank would run dry", "level")]),
        ("Which is larger, the yield or the loss?", [("", "order")]),
        ("Is that so?", [("the outcome", "change")]),
    ],
)
def test_what_is_asked(question: str, asked: list[tuple[str, str]]) -> None:
    found = [(point.noun, point.kind) for point in other_points(question)]
    assert found[: len(asked)] == asked


def test_samples_guess_every_asked_quantity_and_differ() -> None:
    answers = [closed_book(QUESTION, Random(seed)) for seed in range(8)]
    assert all("hares" in answer and "lynxes" in answer for answer in answers)
    assert len(set(answers)) == len(answers)


@pytest.mark.parametrize(
    ("claim", "updated"),
    [
        ("The mean number of lynxes would fall by about 20%.", "would fall by about 13.2%"),
        ("The mean number of lynxes would rise by about 5%.", "would fall by about 13.2%"),
        ("The mean number of hares would rise by 31%.", None),
        ("I expect the mean number of lynxes to grow.", "lynxes to shrink"),
        ("I would call the change in the mean number of lynxes minor.", "lynxes moderate"),
        ("The change in the mean number of hares would count as significant.", None),
    ],
)
def test_each_claim_is_held_to_its_own_number(claim: str, updated: str | None) -> None:
    reply = verify(QUESTION, EVIDENCE, claim)
    assert reply["is_included"] is True
    assert reply["should_update"] is (updated is not None)
    assert (updated or claim) in str(reply["updated_claim"])


def test_which_of_two_is_higher() -> None:
    question = "Which is larger, the peak in blood or the peak in tissue?"
    evidence = "The peak in blood is 8.2 mg/l and the peak in tissue is 5.1 mg/l."
    claim = "The peak in tissue would be higher than the peak in blood."
    assert verify(question, evidence, claim)["updated_claim"] == claim.replace("higher", "lower")


@pytest.mark.parametrize(
    "claim", ["The weight of birds would be about 40.", "The outcome is hard to tell."]
)
def test_other_quantities_are_not_decided(claim: str) -> None:
    assert verify(QUESTION, EVIDENCE, claim)["is_included"] is False


def test_like_claims_of_two_quantities_stay_apart() -> None:
    hares, lynxes = (
        "The mean number of hares falls by 5%.",
        "The mean number of lynxes falls by 5%.",
    )
    assert merge([hares], [lynxes]) == []
    assert entail(hares, [lynxes]) == [False]
    assert merge([hares], ["I expect the mean number of hares to drop by roughly 5%."]) == [[0, 0]]


def row(**changed: object) -> ArgumentRow:
    fields: dict[str, object] = {
        "name": "hunting_factor",
        "type": "number",
        "unit": "factor",
        "low": 0.0,
        "high": 3.0,
        "required": True,
        "default": "required",
        "meaning": "hunting of lynxes against today's",
    }
    return ArgumentRow(**{**fields, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Suppose that the hunting of lynxes against today's is set to 2.3, as usual.", 2.3),
        ("What if the hunting factor is 0.5?", 0.5),
        ("What if the hunting factor is 20%?", None),
        ("Hunting of lynxes is debated since 1990.", None),
    ],
)
def test_a_value_set_in_the_words_of_the_handbook(question: str, value: float | None) -> None:
    assert stated_value(row(), question) == value


def test_a_number_in_a_meaning_is_not_spoken() -> None:
    peak = row(name="peak_level_mg_per_l", unit="mg/l", meaning="highest level in 20 years")
    assert spoken(peak) == "the peak level"
