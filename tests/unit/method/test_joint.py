"""One call over all claim sets: every claim once, its sources and its support kept."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.errors import ReplyInvalid
from simulrag.method.algorithm import Instruments, answer_question
from simulrag.method.joint import merge_jointly
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.testing import ScriptedModel
from tests.unit.method.planned import NO_TOOL, QUESTION, Plan

SETS = (
    ("It falls by 20 %.", "That is good."),
    ("A fall of 20 %.", "It falls by 30 %."),
    (),
    ("It falls.",),
)
"""Claims 0 to 4, of answers 0, 0, 1, 1 and 3."""


def said(*claims: int, answers: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"claims": list(claims), "answers": list(answers)}


def about(name: str, kind: str, *alternatives: dict[str, Any], rests_on: Any = ()) -> Any:
    facet = {"kind": kind, "exclusive": True, "alternatives": list(alternatives)}
    return {"about": name, "facets": [facet], "rests_on": list(rests_on)}


TRAVEL = {
    "about": "travel time",
    "facets": [
        {"kind": "direction", "exclusive": True, "alternatives": [said(4, answers=(0, 1))]},
        {"kind": "number", "exclusive": True, "alternatives": [said(3), said(2, 0)]},
    ],
    "rests_on": [],
}
REPLY = {"subjects": [about("worth it", "judgement", said(1), rests_on=(1,)), TRAVEL]}


async def test_sources_and_support_are_kept() -> None:
    ask = ScriptedModel(REPLY)
    found = await merge_jointly("q?", SETS, ask)
    assert [(claim.text, claim.sources) for claim in found.claims] == [
        ("It falls by 20 %.", ((0, 0), (1, 0))),
        ("That is good.", ((0, 1),)),
        ("It falls by 30 %.", ((1, 1),)),
        ("It falls.", ((3, 0),)),
    ]
    assert found.support == (
        (True, True, False, True),
        (True, False, True, True),
        (False, False, False, False),
        (False, False, False, True),
    )
    judged, travel = found.subjects
    assert (judged.claims, judged.rests_on) == ((1,), (1,))
    assert [(facet.kind, facet.claims) for facet in travel.facets] == [
        ("direction", (3,)),
        ("number", (0, 2)),
    ]
    (asked,) = ask.asked
    assert asked["claims"][2] == {"answer": 1, "text": "A fall of 20 %."}  # type: ignore[index]


async def test_nothing_claimed_is_nothing_asked() -> None:
    ask = ScriptedModel()
    found = await merge_jointly("q?", ((), ()), ask)
    assert (found.claims, found.support, found.subjects) == ((), ((), ()), ())
    assert ask.asked == []


@pytest.mark.parametrize(
    ("subjects", "problem"),
    [
        ([about("a", "other", said(0, 1, 2, 3))], "missing: 4"),
        ([about("a", "other", said(0, 1, 2, 3, 4, answers=(4,)))], "answers 4 are unknown"),
        ([about("a", "other", said(0, 1, 2, 3, 4), rests_on=(0,))], "subject 0 rests on 0"),
    ],
)
async def test_a_reply_that_is_no_partition_is_refused(subjects: Any, problem: str) -> None:
    with pytest.raises(ReplyInvalid, match=problem):
        await merge_jointly("q?", SETS, ScriptedModel({"subjects": subjects}))


@pytest.mark.parametrize("method", ["paper", "reconciled"])
async def test_it_stands_in_for_merging_entailment_and_grouping(
    method: Literal["paper", "reconciled"], simulations: Simulations
) -> None:
    """Two answers, of two claims each, of which the first are the same."""
    made = Plan(
        answers=[["It is 12 m deep.", "It is old."], ["It is 12 m deep.", "It is cold."]],
        subjects=[
            ("depth", [("number", True, ["It is 12 m deep."])], []),
            ("rest", [("other", True, ["It is old.", "It is cold."])], []),
        ],
        replies={"plan": NO_TOOL},
    )
    settings = MethodSettings(
        method=method,
        samples=2,
        merging="joint",
        verbalized=False,
        kappa=0,
        final_budgets_percent=(100.0,),
    )
    ask = made.model()
    done = await answer_question(QUESTION, Instruments(ask, simulations), settings)
    assert done.failure is None
    assert [claim.support for claim in done.claims] == [(True, True), (True, False), (False, True)]
    assert done.claims[0].confidence["closeness"] == pytest.approx(4 / 6)
    asked = [str(call["task"]) for call in ask.asked]
    assert asked.count("joint") == 1
    assert {"merge", "entailment", "subjects"} & set(asked) == set()
    grouped = [subject.about for subject in done.subjects]
    assert grouped == (["depth", "rest"] if method == "reconciled" else [])


@given(st.data())
async def test_every_claim_is_in_one_merged_claim_and_one_facet(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    total = sum(sizes)
    sets = [[f"{a}.{c}" for c in range(size)] for a, size in enumerate(sizes)]
    group = data.draw(st.lists(st.integers(0, 3), min_size=total, max_size=total))
    groups = [[at for at in range(total) if group[at] == one] for one in sorted(set(group))]
    facet = data.draw(st.integers(1, 3))
    reply = {
        "subjects": [
            about(str(start), "other", *(said(*one) for one in groups[start : start + facet]))
            for start in range(0, len(groups), facet)
        ]
    }
    found = await merge_jointly("q?", sets, ScriptedModel(reply))
    sources = [source for claim in found.claims for source in claim.sources]
    assert sorted(sources) == [(a, c) for a, size in enumerate(sizes) for c in range(size)]
    places = [claim for subject in found.subjects for claim in subject.claims]
    assert sorted(places) == list(range(len(found.claims)))
    for at, claim in enumerate(found.claims):
        assert {a for a, row in enumerate(found.support) if row[at]} == {
            a for a, _ in claim.sources
        }
