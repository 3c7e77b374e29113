"""Questions by role: the published counts, and one scenario asked by several people."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rooms.score import roles
from rooms.score.roles import asked_by_roles, hazard_questions
from simulrag.errors import InputError
from tests.making import question

FOLDER = Path(roles.__file__).parent


def test_the_published_counts() -> None:
    pairs = list(csv.DictReader((FOLDER / "hazards.csv").open()))
    professions = list(csv.DictReader((FOLDER / "professions.csv").open()))
    places = {(row["county"], row["state"]) for row in pairs}
    assert (len(pairs), len(places), len({row["hazard"] for row in pairs})) == (173, 158, 7)
    assert (len(professions), len({row["sector"] for row in professions})) == (41, 5)
    assert (len(roles.TIMELINES), len(roles.CONCERNS)) == (5, 3)


def test_draws_are_distinct_filled_and_stay_when_more_are_asked_for() -> None:
    found = hazard_questions(300, seed=3)
    assert found[:20] == hazard_questions(20, seed=3) != hazard_questions(20, seed=4)
    assert len({one.question_id for one in found}) == 300
    assert not any(
        wrong in one.text for one in found for wrong in ("{", " a ice", "a coastal flooding")
    )
    with pytest.raises(InputError, match="at least 1"):
        hazard_questions(0)


def test_roles_ask_about_the_same_scenario() -> None:
    asked = asked_by_roles([question(text="Why?", reference_answer="So.")])
    assert [one.text.split(".")[0] for one in asked] == [
        "I am a mayor",
        "I am a hospital planner",
        "I am a traffic engineer",
    ]
    assert {(one.scenario_id, one.reference_answer) for one in asked} == {("s", "So.")}
    assert len({one.question_id for one in asked}) == 3
    with pytest.raises(InputError, match="'lake'"):
        asked_by_roles([question(domain="lake")])
