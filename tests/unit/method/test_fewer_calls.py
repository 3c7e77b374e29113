"""A second look: what it asks, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.method.simulation import Simulations
from tests.unit.method.planned import Plan, answered, plan


def unsure(*places: str, **changes: Any) -> Plan:
    """Nothing decides the area, which is in reach; a second look sounds at these places."""
    calls = [{"tool": "sound", "arguments": {"place": place}} for place in places]
    made = plan(replies={"second_look": {"calls": calls}}, **changes)
    made.corrected.pop("2 ha wide.")
    made.aligned.remove("3 ha wide.")
    return made


async def test_what_is_left_open_in_reach_is_put_to_the_simulator_once_more(
    simulations: Simulations,
) -> None:
    found, model = await answered(unsure("there"), simulations, second_look=True)
    (looked,) = [call for call in model.asked if call["task"] == "second_look"]
    left = ["2 ha wide.", "Worth a swim.", "3 ha wide."]
    assert looked["claims"] == left
    first, again = [call for call in model.asked if call["task"] == "verify_batch"]
    assert again["claims"] == left
    assert str(again["context"]) == f"{first['context']}\n\nIt is 12.0 m."
    assert [one.call.arguments["place"] for one in found.evidence] == ["here", "there"]
    assert found.simulator_runs == 2
    assert found.usage["second_look"].calls == 1


@pytest.mark.parametrize("places", [(), ("here",), ("dry",)])
async def test_where_a_second_look_finds_nothing_the_verdicts_stand(
    simulations: Simulations, places: tuple[str, ...]
) -> None:
    """No call; the call that was made; a call whose run fails."""
    usual, _ = await answered(unsure(), simulations)
    found, model = await answered(unsure(*places), simulations, second_look=True)
    assert (found.claims, found.final) == (usual.claims, usual.final)
    assert [call["task"] for call in model.asked].count("verify_batch") == 1
    assert found.retrieval is not None
    assert found.retrieval.problems == (("no water there",) if places == ("dry",) else ())


async def test_a_second_look_of_three_runs_is_refused_and_the_question_goes_on(
    simulations: Simulations,
) -> None:
    found, _ = await answered(unsure("a", "b", "c"), simulations, second_look=True)
    assert found.failure is None
    assert found.retrieval is not None
    assert "3 calls where at most 2 are allowed" in found.retrieval.problems[0]


async def test_where_all_is_decided_there_is_no_second_look(simulations: Simulations) -> None:
    made = plan(aligned=["It is deep.", "3 ha wide.", "Worth a swim."])
    _, model = await answered(made, simulations, second_look=True)
    assert "second_look" not in {call["task"] for call in model.asked}
