"""Boundary, verification and judging of single claims."""

from __future__ import annotations

import pytest

from simulrag.models.offline.boundary import in_boundary
from simulrag.models.offline.judging import judge, tolerance
from simulrag.models.offline.verification import verify

HANDBOOK = """# Road

### compare

Both states.

Arguments:

| name | type | unit | range | default | meaning |
| --- | --- | --- | --- | --- | --- |
| speed_factor | number | - | 0.3 to 1.5 | 1.0 | speed |

Outputs:

| name | type | unit | meaning |
| --- | --- | --- | --- |
| travel_time_change_percent | number | percent | change of the mean travel time |
| days_until_empty | number | days | days until the reservoir is empty |
"""
QUESTION = (
    "Limits fall by 23%. What is the change in average travel time, and is it minor (under 5%), "
    "moderate (5-20%) or significant (over 20%)?"
)
EVIDENCE = (
    "Average travel time: 65.82 s with the interventions against 73.99 s in the baseline, "
    "a change of -11.04 %."
)


@pytest.mark.parametrize(
    ("claim", "inside"),
    [
        ("Average travel time decreases by 11%.", True),
        ("Trips become shorter.", True),
        ("The change in travel time is moderate.", True),
        ("The reservoir is empty after 40 days.", True),
        ("Residents will feel healthier.", False),
        ("The policy is a good trade-off.", False),
        ("Travel time matters to commuters.", False),
        ("The local economy grows by 3%.", False),
    ],
)
def test_boundary(claim: str, inside: bool) -> None:
    assert in_boundary(HANDBOOK, QUESTION, claim) is inside


@pytest.mark.parametrize(
    ("claim", "updated"),
    [
        ("Average travel time decreases by 11%.", None),
        ("Average travel time decreases by 11.0 percent.", None),
        ("Average travel time decreases by 14%.", "Average travel time decreases by 11.04%."),
        ("Average travel time increases by 11.04%.", "Average travel time decreases by 11.04%."),
        (
            "An increase in travel time of 8% follows.",
            "A decrease in travel time of 11.04% follows.",
        ),
        ("Travel time rises.", "Travel time falls."),
        ("Average travel time falls to 1.2 minutes.", "Average travel time falls to 1.1 minutes."),
        ("I expect travel time to stay unchanged.", "I expect travel time to decrease by 11.04%."),
        ("Travel time remains stable.", "Travel time decreases by 11.04%."),
        ("The change in travel time is significant.", "The change in travel time is moderate."),
    ],
)
def test_verification(claim: str, updated: str | None) -> None:
    reply = verify(QUESTION, EVIDENCE, claim)
    assert reply == {
        "is_included": True,
        "should_update": updated is not None,
        "updated_claim": updated or claim,
    }


@pytest.mark.parametrize(
    "claim",
    [
        "Idling decreases by 93%.",
        "The measure reduces fuel consumption.",
        "Pedestrians are safer.",
        "Limits fall by 23%.",
    ],
)
def test_the_same_topic_is_not_enough(claim: str) -> None:
    reply = verify(QUESTION, EVIDENCE, claim)
    assert reply == {"is_included": False, "should_update": False, "updated_claim": claim}


def test_a_quantity_of_the_users_own() -> None:
    question = "If demand rises by 20 percent, how many days until the reservoir is empty?"
    evidence = (
        "With demand at 1.2 times today's the time until the reservoir is empty is 76.9 days."
    )
    reply = verify(question, evidence, "The reservoir is empty after 60 days.")
    assert reply["should_update"] is True
    assert reply["updated_claim"] == "The reservoir is empty after 76.9 days."
    assert (
        verify(question, evidence, "The reservoir is empty after 77 days.")["should_update"]
        is False
    )


REFERENCE = (
    "Average travel time decreases by 11.04%, a moderate change. The plan is effective overall."
)


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Trips get 11% shorter.", "true"),
        ("Trips get 12% shorter.", "false"),
        ("Travel time grows by 11.04%.", "false"),
        ("The change in travel time counts as minor.", "false"),
        ("The change in travel time counts as moderate.", "true"),
        ("The plan is ineffective overall.", "false"),
        ("On balance the plan makes things worse.", "false"),
        ("Overall the plan is a success.", "true"),
        ("Overall the plan is a trade-off.", "false"),
        ("CO2 falls by 30%.", "undecided"),
        ("House prices rise.", "undecided"),
    ],
)
def test_labels(claim: str, label: str) -> None:
    reply = judge(QUESTION, REFERENCE, claim, None)
    assert reply["label"] == label
    assert str(reply["reason"]).endswith(".")


def test_the_tolerance_of_the_prompt_counts() -> None:
    assert tolerance("Compare numbers with a tolerance of 10 percent of the reference's") == 10
    assert tolerance("Compare numbers at the precision that the claim itself gives") is None
    assert judge(QUESTION, REFERENCE, "Trips get 12% shorter.", 10.0)["label"] == "true"


def test_the_beginning_of_a_number_is_not_that_number() -> None:
    said = judge("How much?", "The level rises by 12.9%.", "The level rises by 1", None)
    assert said["reason"] != "The reference says so in these words."
