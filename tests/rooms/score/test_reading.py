"""What claims say: the precision rule worked by hand, and replies that name what is not listed."""

from __future__ import annotations

import pytest

from rooms.score.reading import ClaimReading, read_claims, readable_runs, stated_range
from simulators.base import Tool, ToolModel
from simulrag.errors import ReplyInvalid
from simulrag.records import Evidence
from simulrag.testing import ScriptedModel
from tests.making import evidence


class AnswerToScore(ToolModel):
    limit: float
    seed: int | None = None


class Returned(ToolModel):
    co2_mg: float
    idling_s: float | None = None
    trend: str = "rapid growth"


TOOL = Tool("run", "Runs.", AnswerToScore, Returned, "")


def run(limit: float) -> Evidence:
    outputs = {"co2_mg": 39079585.18, "idling_s": None, "trend": "rapid growth"}
    return evidence("", outputs, tool="run", limit=limit, seed=None)


RUNS = readable_runs([run(0.87), run(1.0)], {"run": TOOL})
NOTHING: dict[str, object] = dict.fromkeys(
    ("output", "run", "against", "value", "unit", "direction", "class_word")
)


def read(index: int, **said: object) -> dict[str, object]:
    return {"index": index, "kind": "other", **NOTHING, **said}


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("21.4", [21.35, 21.4, 21.45], [21.34, 21.46]),
        ("86", [85.5, 86.26, 86.5], [85.4]),
        ("4,000", [3999.5, 4000.4], [3795.5]),
        ("1.2 million", [1.15e6, 1.25e6], [1.26e6]),
        ("about 90", [85, 86.26, 95], [84.9, 95.1]),
        ("roughly 4,000", [3600, 3795.5, 4400], [3599, 4401]),
        ("about 85", [82.5, 86.26, 87.5], [82.4, 87.6]),
        ("about 5", [4.5, 5.5], [4.4]),
        ("about 10", [9, 11], [8.9]),
        ("about 1.8", [1.75, 1.85], [1.74]),
        ("about 21.50", [21.25, 21.75], [21.24]),
        ("about 0", [0.5], [0.6]),
        ("5 to 15", [5, 9.2, 15], [4.9, 15.1]),
        ("between 15 and 5", [5, 15], [16]),
        ("at least 30", [30, 1e9], [29.9]),
        ("over 30", [30.1], [30, 29]),
        ("at most 2", [0, 2], [2.1]),
        ("under 2", [1.99], [2, 2.5]),
    ],
)
def test_what_a_number_holds_for(text: str, inside: list[float], outside: list[float]) -> None:
    stated = stated_range(text)
    assert stated is not None
    assert [value for value in inside if not stated.holds_for(value)] == []
    assert [value for value in outside if stated.holds_for(value)] == []
    assert stated.holds_for(-inside[-1])  # signs are told by the direction


@pytest.mark.parametrize("text", ["", "a lot", "2022-11-15", "5, 7 and 9"])
def test_what_is_not_one_number_is_not_compared(text: str) -> None:
    assert stated_range(text) is None


def test_the_list_shows_no_value_and_no_output_that_is_missing() -> None:
    assert [output.name for output in RUNS[0].outputs] == ["co2_mg", "trend"]
    assert RUNS[0].words == 'run {"limit": 0.87}'
    assert "39079585" not in str(RUNS)


async def test_claims_are_read_in_order_over_calls() -> None:
    claims = [f"Claim {n}." for n in range(21)]
    number = read(1, kind="number", output="co2_mg", run=2, against=1, value="about 14", unit="%")
    ask = ScriptedModel(
        {"claims": [number, read(0), *(read(n) for n in range(2, 10))]},
        {"claims": [read(n) for n in range(11)]},
    )
    readings = await read_claims("Q?", claims, RUNS, ask)
    assert [len(str(call["claims"]).split(",")) for call in ask.asked] == [10, 11]
    assert len(readings) == 21
    assert (readings[1].output, readings[1].run, readings[1].against) == ("co2_mg", 2, 1)
    assert readings[1].value == "about 14"
    assert readings[0] == readings[20] == ClaimReading(kind="other")


async def test_nothing_is_asked_without_claims() -> None:
    assert await read_claims("Q?", [], RUNS, ScriptedModel()) == ()


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"output": "speed", "run": 1}, "run 1 has no output 'speed' in the list"),
        ({"output": "co2_mg", "run": 3}, "no such run"),
        ({"output": "idling_s", "run": 1}, "has no output 'idling_s'"),
        ({"output": "co2_mg"}, "name the run"),
        ({"run": 1}, "without an output"),
        ({"output": "co2_mg", "run": 1, "against": 1}, "not compared with itself"),
    ],
)
async def test_what_is_not_in_the_list_is_refused(said: dict[str, object], problem: str) -> None:
    with pytest.raises(ReplyInvalid, match=problem):
        await read_claims("Q?", ["C."], RUNS, ScriptedModel(*[{"claims": [read(0, **said)]}] * 3))


async def test_a_claim_left_out_or_read_as_what_is_not_there_is_asked_for_alone() -> None:
    bad = read(1, output="speed", run=1)
    for first in ([read(0), read(2)], [read(0), bad, read(2)]):
        ask = ScriptedModel({"claims": first}, {"claims": [read(0, kind="reason")]})
        readings = await read_claims("Q?", ["C.", "D.", "E."], RUNS, ask)
        assert [one.kind for one in readings] == ["other", "reason", "other"]
        assert [one["claims"] for one in ask.asked] == [["C.", "D.", "E."], ["D."]]
