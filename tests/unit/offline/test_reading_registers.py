"""Wordings that no template of ours writes: worded numbers, roads, several cases, free claims."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.models.offline.claims import decompose
from simulrag.models.offline.phrasing import canonical
from simulrag.models.offline.places import listed, points, states
from simulrag.models.offline.roads import lane_step
from simulrag.models.offline.templates import templates
from simulrag.models.offline.tool_calls import tool_calls
from simulrag.models.offline.verification import verify
from simulrag.statements import quantities

HANDBOOKS = Path(__file__).parents[3] / "simulators" / "replay" / "handbooks"
CLIMATE = (HANDBOOKS / "climate.md").read_text()
QUESTION = (
    "Speed limits fall by 20%. What is the percentage change in average idling time, and is this "
    "reduction minor (under 25%), moderate (25-75%), or significant (over 75%)?"
)
EVIDENCE = (
    "Average travel time: 65.82 s with the interventions against 73.99 s in the baseline, a change "
    "of -11.04 %.\nAverage idling time: 1.00 s with the interventions against 14.49 s in the "
    "baseline, a change of -93.10 %."
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a fifth fewer vehicles use the road", "20% fewer traffic demand use the road"),
        ("two in ten drivers stay home", "20% less traffic demand stay home"),
        ("the limit is cut from 50 to 40 km/h", "the limit is cut to 80% of today's limit"),
        ("volumes 15 percent above today's", "volumes 15 percent higher than today's"),
        ("half the population immune", "50% of the population immune"),
        ("from September twenty-first, 2022", "from September 21, 2022"),
        ("a third lane is added", "a third lane is added"),
        ("traffic doubles", "traffic rises by 100%"),
    ],
)
def test_worded_numbers_have_one_form(text: str, read: str) -> None:
    assert canonical(text) == read


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("One of two lanes is given to buses", -1),
        ("the road loses a lane", -1),
        ("a third lane is added", 1),
        ("it is widened by one lane", 1),
        ("both lanes stay open", 0),
    ],
)
def test_a_lane_comes_or_goes(text: str, step: int) -> None:
    assert lane_step(text) == step


def test_places_in_letters_lists_and_words() -> None:
    assert states("TX and OK start; New England and the tri-state area do not") == [
        "Texas",
        "Oklahoma",
    ]
    assert listed("Compare Madrid, Rome and Oslo in 2050", "Rome") == ["Madrid", "Rome", "Oslo"]
    assert points("at longitude 116.4, latitude 39.9") == [[116.4, 39.9]]


def test_one_call_for_each_pathway_and_year() -> None:
    calls = tool_calls("How warm is Perth in 2035 and in 2095 under SSP1-2.6?", CLIMATE, [])
    assert [call["arguments"]["year"] for call in calls] == [2035, 2095]  # type: ignore[index,call-overload]
    calls = tool_calls("Lagos in 2080: how warm under SSP1-2.6 and under ssp 585?", CLIMATE, [])
    assert [call["arguments"]["scenario"] for call in calls] == ["ssp126", "ssp585"]  # type: ignore[index,call-overload]


def test_a_gas_that_is_not_named_stays_as_it_is() -> None:
    question = "A quarter more carbon dioxide: how warm is Oslo in 2055, middle-of-the-road?"
    (call,) = tool_calls(question, CLIMATE, [])
    assert call["arguments"] == {
        "city_name": "Oslo",
        "year": 2055,
        "scenario": "ssp245",
        "delta_CO2": 25.0,
        "delta_CH4": 0.0,
    }


@pytest.mark.parametrize(
    ("claim", "updated"),
    [
        ("Waiting drops 5 to 8 percent.", "Waiting drops 93.10 percent."),
        ("Travel time rises from 74 s to 80 s.", "Travel time falls from 74 s to 65.82 s."),
        ("Idling takes 45% more time.", "Idling takes 93.10% less time."),
        ("Journey times lengthen by a tenth.", "Journey times shorten by 11.04%."),
        (
            "Idling makes the drop a moderate one.",
            "Idling makes the drop a significant one.",
        ),
        (
            "Idle time shrinks from 14.49 s to about 6 s. That is a reduction of 58.6%.",
            "Idle time shrinks from 14.49 s to about 1.00 s. That is a reduction of 93.10%.",
        ),
        (
            "Average travel time is cut by 11%, idling by 93.1%.",
            "Average travel time is cut by 11%, idling by 93.1%.",
        ),
    ],
)
def test_free_claims_are_put_right_whole(claim: str, updated: str) -> None:
    reply = verify(QUESTION, EVIDENCE, claim)
    assert reply["is_included"] is True
    assert reply["updated_claim"] == updated
    assert reply["should_update"] is (updated != claim)


def test_a_direction_follows_from_two_temperatures() -> None:
    evidence = (
        "The historical average temperature for Oslo in 1981 was 8.2°C. The projected temperature "
        "for Oslo in 2086 is 8.91°C. The net temperature difference is 0.71°C."
    )
    for claim in ("The place gets colder by 2086.", "Expect cooling of 0.71°C."):
        assert verify("How does the temperature change?", evidence, claim)["should_update"] is True


def test_no_number_is_lost_or_invented() -> None:
    answer = "Cars wait roughly 45% less; CO2 is cut by 20%, idling by 93.1%. Trips take 66.5 s."
    numbers = [item.value for claim in decompose("", answer, 12) for item in quantities(claim)]
    assert sorted(set(numbers)) == [20.0, 45.0, 66.5, 93.1]


def test_templates_hold_words_fixed_and_vary_numbers() -> None:
    found = templates(CLIMATE, 12)
    assert {item["runs"][0]["tool"] for item in found} == {
        "history_temperature",
        "future_temperature",
        "diy_greenhouse",
    }
    assert len({item["template_id"] for item in found}) == len(found) == 12
    for item in found:
        lowest = {p["argument"]: f"{p['low']:g}" for p in item["placeholders"]}
        filled = item["situation"].format(**lowest)
        (call,) = tool_calls(f"{filled} What is the temperature?", CLIMATE, [])
        fixed = {part["argument"]: part["value"] for part in item["runs"][0]["fixed"]}
        assert call["tool"] == item["runs"][0]["tool"]
        assert fixed.items() <= call["arguments"].items()  # type: ignore[union-attr]
