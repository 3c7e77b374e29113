"""Searches: the bound that is drawn, the one setting that answers, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simulators.starter.simulator import Starter
from simulators.urban.simulator import UrbanSimulator
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.questions.check import check_reference
from simulrag.questions.scenarios import scenario_stream
from simulrag.questions.search import Search, SearchTemplate, search_templates_sorted
from simulrag.questions.search_runs import (
    NoWinnerError,
    Searched,
    found_by,
    printed,
    run_search,
)
from simulrag.records import Evidence, ToolCall

DEMANDS = [round(0.7 + 0.05 * step, 2) for step in range(20)]
HANDBOOK = "One reservoir and one town."


def search(**changes: object) -> dict[str, object]:
    """A threshold on the reservoir's demand, with changes."""
    return {
        "kind": "threshold",
        "tool": "run_scenario",
        "words": "a demand",
        "uses": [],
        "fixed": [{"argument": "inflow_m3_per_day", "value": 100}],
        "takes": "",
        "axes": [{"argument": "demand_factor", "values": DEMANDS}],
        "bounded": "days_until_empty",
        "side": "below",
        "output": "",
        "goal": "smallest",
        "question": "Which is the smallest factor that empties it in less than {bound} days?",
        "states": [],
        **changes,
    }


def template(*searches: dict[str, object]) -> SearchTemplate:
    return SearchTemplate.model_validate(
        {
            "template_id": "dry",
            "set_up": "One reservoir and one town.",
            "situation": "Demand may be 0.7 to 1.65 times today's, in steps of 0.05.",
            "placeholders": [],
            "choices": [],
            "searches": list(searches or [search()]),
        }
    )


def runs_of(*outputs: dict[str, float]) -> list[Evidence]:
    return [
        Evidence.model_validate(
            {
                "simulator": "s",
                "call": ToolCall(tool="t", arguments={}),
                "seed": 0,
                "outputs": output,
                "text": " and ".join(f"{value:.1f}" for value in output.values()),
            }
        )
        for output in outputs
    ]


async def searched(tmp_path: Path, made: SearchTemplate) -> Searched:
    with CallCache(tmp_path, stage="x") as cache:
        simulations = Simulations(Starter(), cache)
        whole = made.of_runs(with_arguments=True)
        stream = scenario_stream([whole], 1, "dry")
        return await run_search(simulations, whole, next(stream), "dry")


@given(
    st.lists(st.integers(-5000, 5000), min_size=12, max_size=40, unique=True),
    st.sampled_from([("below", "smallest"), ("below", "largest"), ("above", "smallest")]),
    st.integers(0, 5),
)
def test_a_bound_has_one_crossing_away_from_the_ends_and_is_no_round_number(
    tenths: list[int], wanted: tuple[str, str], seed: int
) -> None:
    side, goal = wanted
    values = [value / 10 for value in sorted(tenths, reverse=side == "below")]
    if goal == "largest":
        values.reverse()
    made = Search.model_validate(search(side=side, goal=goal))
    runs = runs_of(*({"days_until_empty": value} for value in values))
    bound, winner = found_by(made, runs, random.Random(seed))
    keeps = [(value < float(bound)) == (side == "below") for value in values]
    expected = keeps.index(True) if goal == "smallest" else len(keeps) - 1 - keeps[::-1].index(True)
    assert winner == expected
    assert 1 <= winner < len(values) - 1
    assert bound.strip("0").replace(".", "")[-1] not in "05"


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=12, max_size=40),
    st.integers(0, 5),
)
def test_the_best_within_a_bound_is_alone_and_not_the_best_of_all(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    made = Search.model_validate(
        search(kind="best", output="stored_m3", bounded="filled_percent", goal="largest")
    )
    runs = runs_of(*({"filled_percent": float(a), "stored_m3": float(b)} for a, b in pairs))
    try:
        bound, winner = found_by(made, runs, random.Random(seed))
    except NoWinnerError:
        assume(False)
    kept = [b for a, b in pairs if a < float(bound)]
    assert pairs[winner][0] < float(bound)
    assert kept.count(max(kept)) == 1
    assert pairs[winner][1] == max(kept)
    assert max(b for _, b in pairs) > max(kept)


@pytest.mark.parametrize(
    "values",
    [
        [float(value) for value in (9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8)],
        [5.0] * 12,
        [5.01 + 0.001 * step for step in range(12)],  # printed alike
    ],
    ids=["several crossings", "no crossing", "ties as printed"],
)
def test_what_has_no_single_answer_is_refused(values: list[float]) -> None:
    made = Search.model_validate(search())
    with pytest.raises(NoWinnerError, match="no bound on days_until_empty has a single answer"):
        found_by(made, runs_of(*({"days_until_empty": v} for v in values)), random.Random(1))


def test_an_output_that_the_text_does_not_print_is_refused() -> None:
    (run,) = runs_of({"days_until_empty": 4.0})
    with pytest.raises(NoWinnerError, match="does not print"):
        printed(run.model_copy(update={"text": "empty soon"}), "days_until_empty")


async def test_all_runs_are_made_and_the_winner_comes_first(tmp_path: Path) -> None:
    scenario, evidence = await searched(tmp_path, template())
    assert len(evidence) == len(scenario.calls) == len(scenario.words) == len(DEMANDS)
    winner, *others = evidence
    bound = float(scenario.situation.rpartition("less than ")[2].split()[0])
    days = {run.call.arguments["demand_factor"]: run.outputs["days_until_empty"] for run in others}
    assert winner.outputs["days_until_empty"] < bound  # type: ignore[operator]
    assert all(
        (value < bound) == (demand > winner.call.arguments["demand_factor"])  # type: ignore[operator]
        for demand, value in days.items()
    )


async def test_a_chain_goes_on_from_what_the_first_search_found(tmp_path: Path) -> None:
    first = search(axes=[{"argument": "demand_factor", "values": DEMANDS[:14]}])
    second = search(
        tool="run_for_days",
        takes="demand_factor",
        axes=[{"argument": "days", "values": list(range(10, 130, 10))}],
        bounded="stored_m3",
        goal="smallest",
    )
    _, evidence = await searched(tmp_path, template(first, second))
    (first_won, second_won), others = evidence[:2], evidence[2:]
    assert (first_won.call.tool, second_won.call.tool) == ("run_scenario", "run_for_days")
    demands = {
        run.call.arguments["demand_factor"] for run in others if run.call.tool == "run_for_days"
    }
    assert (
        demands
        == {first_won.call.arguments["demand_factor"]}
        == {second_won.call.arguments["demand_factor"]}
    )


async def test_the_reference_names_the_winner_and_the_question_does_not(tmp_path: Path) -> None:
    made = template()
    scenario, evidence = await searched(tmp_path, made)
    factor = evidence[0].call.arguments["demand_factor"]
    days = evidence[0].outputs["days_until_empty"]
    whole = made.of_runs(with_arguments=True)

    def kinds(question: str, reference: str) -> list[str]:
        problems = check_reference(
            question, reference, [], template=whole, scenario=scenario, evidence=evidence
        )
        return [problem.kind for problem in problems]

    assert kinds(scenario.situation, f"{factor}, after {days} days") == []
    assert kinds(scenario.situation, f"It is empty after {days} days") == ["missing"]
    assert kinds(f"{scenario.situation} Is it {factor}?", f"{factor}, after {days} days") == [
        "leak"
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"axes": [{"argument": "demand_factor", "values": [0.7, 0.8]}]}, "2 settings: give 12"),
        (
            {"axes": [{"argument": "demand_factor", "values": DEMANDS[::-1]}]},
            "no ascending numbers",
        ),
        ({"axes": [{"argument": "demand", "values": DEMANDS}]}, "has no argument 'demand'"),
        ({"axes": [{"argument": "demand_factor", "values": [*DEMANDS, 3.0]}]}, "refuses"),
        ({"bounded": "rain"}, "has no number 'rain'"),
        ({"question": "Which is it?"}, "holds no {bound}"),
        ({"takes": "demand_factor"}, "takes names an argument in the second search"),
        ({"output": "days_until_empty"}, "no output beside bounded"),
        ({"kind": "best"}, "best needs an output"),
    ],
)
def test_a_template_with_a_fault_is_left_out_and_the_fault_is_named(
    changes: dict[str, Any], words: str
) -> None:
    good, problems = search_templates_sorted([template(search(**changes))], Starter(), HANDBOOK)
    assert good == []
    assert words in problems[0]


def test_a_good_template_is_taken_once() -> None:
    good, problems = search_templates_sorted([template(), template()], Starter(), HANDBOOK)
    assert len(good) == 1
    assert problems == ["dry: the template_id is used twice"]


def test_replicates_of_a_road_are_a_least_number_and_are_told() -> None:
    road = UrbanSimulator(replicates=5)
    tool = road.tools["run_scenario"]
    assert [tool.arguments(replicates=asked).replicates for asked in (1, 5, 7)] == [5, 5, 7]
    assert tool.arguments().replicates == 5
    assert road.fingerprint() != UrbanSimulator().fingerprint()
    text = tool.describe(tool.arguments(), road.run("run_scenario", tool.arguments(), 0))
    assert "the mean of 5 runs" in text


async def test_a_factor_may_be_said_in_percent(tmp_path: Path) -> None:
    made = template()
    scenario, evidence = await searched(tmp_path, made)
    factor = cast(float, evidence[0].call.arguments["demand_factor"])
    days = evidence[0].outputs["days_until_empty"]
    whole = made.of_runs(with_arguments=True)
    for said in (f"{100 * factor:.0f} %", f"a change by {abs(100 * factor - 100):.0f} %"):
        reference = f"{factor}, which is {said}, after {days} days"
        assert not check_reference(
            scenario.situation, reference, [], template=whole, scenario=scenario, evidence=evidence
        )
