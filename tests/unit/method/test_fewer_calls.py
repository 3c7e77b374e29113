"""Options of the method that ask less, or once more: what they ask, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simulrag.errors import ReplyInvalid
from simulrag.method.decomposition import DecompositionBatch, decompose_all
from simulrag.method.settings import ClaimsPerCall
from simulrag.method.simulation import Simulations
from simulrag.stand_in import Prompted
from simulrag.task import tasks
from simulrag.testing import ScriptedModel
from tests.unit.method.planned import Plan, answered, plan


def said(*answers: list[str]) -> dict[str, Any]:
    """The reply to answers in one call, the last one first."""
    listed = [{"claims": [{"claim": text} for text in one]} for one in answers]
    return {"answers": [{"index": at, **one} for at, one in enumerate(listed)][::-1]}


async def test_answers_in_one_call_are_split_in_their_order() -> None:
    ask = ScriptedModel(said(["It falls.", "it  falls."]), said([], ["Good."]))
    found = await decompose_all("q?", ["a", "b", "c"], ask, limit=2, answers_per_call=2)
    assert found == [("It falls.",), (), ("Good.",)]
    assert [call["answers"] for call in ask.asked] == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (said(["x"], ["y", "z"]), "answer 1: 2 claims where at most 1 are allowed"),
        (said(["x"]), "missing: 1"),
    ],
)
async def test_a_reply_of_too_many_claims_or_too_few_answers_is_refused(
    reply: object, problem: str
) -> None:
    with pytest.raises(ReplyInvalid, match=problem):
        await decompose_all("q?", ["a", "b"], ScriptedModel(reply), limit=1, answers_per_call=5)


async def test_one_decomposition_of_all_samples_gives_the_same_answer(
    simulations: Simulations,
) -> None:
    one, many = [
        await answered(plan(), simulations, claims_per_call=ClaimsPerCall(decompose=size))
        for size in (5, 1)
    ]
    assert one[0].answer_claims == many[0].answer_claims
    assert one[0].final == many[0].final
    tasks_asked = [Counter(str(call["task"]) for call in ask.asked) for _, ask in (one, many)]
    assert tasks_asked[1] - tasks_asked[0] == Counter(decompose=3)
    assert tasks_asked[0] - tasks_asked[1] == Counter(decompose_batch=1)


def test_a_plan_goes_on_with_claims_of_every_answer() -> None:
    shown = {"question": "q?", "answers": ["One. Two. Three", "Four"], "limit": 2}
    text = tasks()["decompose_batch"].without_model(Prompted(shown, "seed"))
    reply = DecompositionBatch.model_validate_json(text)
    assert [[item.claim for item in one.claims] for one in reply.answers] == [
        ["One.", "Two."],
        ["Four."],
    ]


async def test_at_the_whole_budget_verdicts_tell_what_is_in_reach(simulations: Simulations) -> None:
    """Nobody was asked before: what speaks is sent, and what is not decided lies outside."""
    whole = {"final_budgets_percent": (100.0,), "verify": "selected"}
    asked, _ = await answered(plan(), simulations, **whole)
    found, model = await answered(plan(), simulations, **whole, boundary="verdicts")
    assert "boundary_batch" not in {call["task"] for call in model.asked}
    assert found.text == asked.text
    reach = {claim.text: claim.boundary for claim in found.claims}
    # The number that speaks for the warmth is not in the evidence; its rival was not sent.
    assert (reach["It is deep."], reach["8 degrees."], reach["9 degrees."]) == (True, False, None)


async def test_a_smaller_budget_still_asks_for_the_boundary(simulations: Simulations) -> None:
    usual, _ = await answered(plan(), simulations)
    found, model = await answered(plan(), simulations, boundary="verdicts")
    assert "boundary_batch" in {call["task"] for call in model.asked}
    assert [text.text for text in found.baselines] == [text.text for text in usual.baselines]
    assert [claim.boundary for claim in found.claims] == [one.boundary for one in usual.claims]
    assert found.final.statements[-2].standing == "outside"
    assert found.final.statements[-2].text == "8 degrees."


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
