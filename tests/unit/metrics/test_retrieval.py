"""Tool-call accuracy, worked by hand: tools, single arguments, failures, what is not counted."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
from scipy.optimize import linear_sum_assignment

from simulrag.metrics.families.retrieval import NO_CALLS, ORACLE, _pairing, retrieval
from simulrag.records import Answer, Evidence, Failure, Question, Retrieval, ToolCall
from tests.making import answer, evidence, question
from tests.unit.metrics.measuring import data_of


def call(tool: str = "compare", **arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments={"seed": None, **arguments})


def run(made: ToolCall) -> Evidence:
    return evidence().model_copy(update={"call": made})


def pair(
    name: str, known: tuple[ToolCall, ...], made: tuple[ToolCall, ...], **more: Any
) -> tuple[Question, Answer]:
    asked = question(name, f"s-{name}").model_copy(update={"calls": known})
    fields = {"status": "retrieved", "attempts": 1, **more}
    retrieval = Retrieval.model_validate({"evidence": tuple(map(run, made)), **fields})
    return asked, answer(name, (), retrieval=retrieval)


def measured(pairs: list[tuple[Question, Answer]]) -> dict[str, dict[str, Any]]:
    questions, answers = zip(*pairs, strict=True)
    rows = retrieval(data_of(answers, questions=questions))
    return {row.text("argument") or row.metric: dataclasses.asdict(row) for row in rows}


def test_runs_of_later_looks_are_no_wrong_calls() -> None:
    known, further = call(speed=0.8, lanes=2), call(speed=0.7, lanes=2)
    found = measured([pair("looked", (known,), (known, further), looks=(1,))])
    assert found["call"]["value"] == 1.0


def test_worked_by_hand() -> None:
    pairs = [
        pair("right", (call(speed=0.8, lanes=2),), (call(speed=0.8, lanes=2),)),
        pair("rounded", (call(speed=0.3, lanes=2),), (call(speed=0.1 + 0.2, lanes=2.0),)),
        pair("wrong", (call(speed=0.5, lanes=1),), (call(speed=0.6, lanes=1),)),
        pair("other", (call(speed=0.5, lanes=1),), (call("simulate", speed=0.5, lanes=1),)),
        pair("lost", (call(speed=0.5, lanes=1),), (), status="failed", attempts=2),
        pair("none", (call(speed=0.5, lanes=1),), (), status="not_applicable"),
    ]
    found = measured(pairs)
    assert found["tool"]["value"] == pytest.approx(3 / 6)
    assert found["call"]["value"] == pytest.approx(2 / 6)
    # The seed never differs, so 6 speeds and 6 lanes count; 2 speeds and 3 lanes are right.
    assert (found["arguments"]["value"], found["arguments"]["n"]) == (pytest.approx(5 / 12), 12)
    assert found["speed"]["value"] == pytest.approx(2 / 6)
    assert found["lanes"]["value"] == pytest.approx(3 / 6)
    assert found["seed"]["value"] == pytest.approx(3 / 6)
    for name in ("failed", "not_applicable", "second_attempt"):
        assert found[name]["value"] == pytest.approx(1 / 6)
    assert found["tool"]["lower_95"] < 0.5 < found["tool"]["upper_95"]


def test_several_calls_are_matched_in_any_order() -> None:
    known = (call(speed=0.8), call(speed=0.5))
    found = measured(
        [
            pair("swapped", known, known[::-1]),
            pair("once", known, known[1:]),
            pair("thrice", known, (*known, call(speed=0.1))),
        ]
    )
    assert found["call"]["value"] == pytest.approx(1 / 3)
    assert found["tool"]["value"] == pytest.approx(1 / 3)
    assert (found["speed"]["value"], found["speed"]["n"]) == (pytest.approx(5 / 6), 6)


def test_an_argument_too_many_is_no_exact_call_and_true_is_not_one() -> None:
    found = measured([pair("more", (call(speed=1),), (call(speed=1, lanes=3),))])
    assert (found["tool"]["value"], found["call"]["value"]) == (1, 0)
    assert measured([pair("bool", (call(on=True),), (call(on=1),))])["on"]["value"] == 0
    nested = measured([pair("list", (call(at=[1, {"x": 2}]),), (call(at=[1.0, {"x": 2}]),))])
    assert nested["at"]["value"] == 1


def test_a_question_that_broke_before_retrieval_lowers_the_coverage() -> None:
    asked = question("q2", "s2").model_copy(update={"calls": (call(speed=1),)})
    broken = answer(
        "q2", (), retrieval=None, failure=Failure(step="retrieve", reason="the server hung up")
    )
    found = measured([pair("q1", (call(speed=2),), (call(speed=2),)), (asked, broken)])
    assert (found["tool"]["value"], found["tool"]["n"]) == (1, 1)
    assert found["tool"]["coverage"] == 0.5


def test_what_cannot_be_measured_says_why() -> None:
    oracle = pair("q", (), (call(speed=1),), status="oracle")
    unknown = pair("q", (), (call(speed=1),))
    for given, reason in ((oracle, ORACLE), (unknown, NO_CALLS)):
        found = measured([given])
        assert {row["reason"] for row in found.values()} == {reason}
        assert {row["value"] for row in found.values()} == {None}
    alone = measured([pair("q", (call(speed=1),), (call(speed=1),))])
    assert "no argument differs" in alone["arguments"]["reason"]
    assert alone["tool"]["reason"] == "no interval: one scenario only"


def test_the_pairing_is_as_good_as_the_best() -> None:
    rng = random.Random(4)
    for _ in range(60):
        rows, columns = rng.randint(1, 7), rng.randint(0, 7)
        gain = [[rng.randint(0, 4) for _ in range(columns)] for _ in range(rows)]
        found = _pairing(gain)
        assert len(set(found.values())) == len(found)
        best = (
            sum(
                gain[i][j] for i, j in zip(*linear_sum_assignment(gain, maximize=True), strict=True)
            )
            if columns
            else 0
        )
        assert sum(gain[i][j] for i, j in found.items()) == best
