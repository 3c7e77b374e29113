"""Generation: what is accepted, what is counted as rejected, and where it stops."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from simulators.base import MissingEngineError
from simulrag.calls import CallCache
from simulrag.errors import (
    InputError,
    ModelError,
    ModelUnavailable,
    ReplyInvalid,
    ReplyRefused,
    ReplyTruncated,
)
from simulrag.method.simulation import Simulations
from simulrag.questions.generation import generate
from simulrag.questions.records import Template
from simulrag.testing import ScriptedModel


def writer(
    spoil: Callable[[str, str], str] = lambda _, text: text,
    fail: Mapping[str, type[ModelError]] | None = None,
) -> ScriptedModel:
    """A model that answers every task rightly, but for the faults that a test names.

    ``spoil(situation, text)`` changes a right reference; ``fail`` raises for a task.
    """

    def reply(task: str, values: dict[str, Any]) -> object:
        if fail and task in fail:
            return fail[task](f"{task} failed")
        if task == "benchmark_question":
            return _question(values, spoil)
        if task == "reference_claims":
            parts = re.split(r"(?<=\.) ", values["reference"])
            kinds = {True: "quantitative", False: "qualitative"}
            return {
                "claims": [
                    {"claim": part, "kind": kinds[bool(re.search(r"\d%", part))]} for part in parts
                ]
            }
        # The evidence decides every claim; it says that times increase.
        return {
            "claims": [
                {
                    "index": index,
                    "is_included": True,
                    "should_update": "time decreases" in claim,
                    "updated_claim": claim.replace("decreases", "increases"),
                }
                for index, claim in enumerate(values["claims"])
            ]
        }

    return ScriptedModel(by_task=reply)


def _question(shown: dict[str, Any], spoil: Callable[[str, str], str]) -> object:
    """Every ask with its classes, and a reference that states each value and its class."""
    outputs = ["s", "travel_time_change_percent", "i", "co2_change_percent"]
    numbers = map(float, re.findall(r"-?\d+\.\d+", shown["context"]))
    values = dict(zip(outputs, numbers, strict=True))
    question, answer = [shown["situation"]], []
    for ask in json.loads(shown["asks"]):
        value = values[ask["output"]]
        names = [item["name"] for item in ask["classes"]]
        first, second = (item["from_magnitude"] for item in ask["classes"][1:])
        noun = ask["words"].removeprefix("the percentage change in ")
        question.append(
            f"What is {ask['words']}: {names[0]} (under {first:g}%), {names[1]} "
            f"({first:g}-{second:g}%) or {names[2]} (over {second:g}%)?"
        )
        name = names[sum(abs(value) >= limit for limit in (first, second))]
        way = "increases" if value > 0 else "decreases"
        answer.append(f"The {noun} {way} by {abs(value)}%. The change in {noun} is {name}.")
    reference = spoil(shown["situation"], " ".join(answer))
    return {"question": " ".join(question), "reference_answer": reference}


@pytest.fixture
async def simulations(tmp_path: Path, corridor: Any) -> AsyncIterator[Simulations]:
    with CallCache(tmp_path / "cache", stage="benchmark") as cache:
        yield Simulations(corridor, cache)


async def run(
    simulations: Simulations, model: ScriptedModel, template: Template, n: int, **more: Any
) -> Any:
    return await generate(
        model,
        simulations,
        "urban",
        n=n,
        seed=5,
        template_count=1,
        templates=[template],
        **more,
    )


async def test_another_reference_makes_another_question(
    simulations: Simulations, template: Template
) -> None:
    _, questions, _ = await run(simulations, writer(), template, 3)
    reworded = writer(lambda _, text: text.replace("The change in", "The size of the change in"))
    _, others, _ = await run(simulations, reworded, template, 3)
    assert [q.text for q in questions] == [q.text for q in others]
    assert not {q.question_id for q in questions} & {q.question_id for q in others}


async def test_right_questions_are_accepted_with_their_evidence(
    simulations: Simulations, template: Template
) -> None:
    templates, questions, summary = await run(simulations, writer(), template, 12)
    assert templates == [template]
    assert len(questions) == 12
    assert summary.model_dump() == {
        "domain": "urban",
        "requested": 12,
        "accepted": 12,
        "templates": 1,
        "scenarios": 12,
        "rejected": 0,
        "rejected_by_reason": {},
        "simulator_failures": 0,
        "exhausted": False,
        "rejections": (),
    }
    assert len({question.question_id for question in questions}) == 12
    for question in questions:
        (evidence,) = question.evidence
        assert question.calls == (evidence.call,)
        assert evidence.call.arguments["lanes"] == 2
        assert evidence.seed == 0
        assert re.fullmatch(r"urban-[0-9a-f]{12}", question.question_id)
        assert question.source == "generated"
        assert question.template_id == "slow-priority"
        assert [claim.kind for claim in question.reference_claims] == [
            "quantitative",
            "qualitative",
        ] * 2
        time = evidence.outputs["travel_time_change_percent"]
        assert isinstance(time, float)
        assert f"{abs(time)}%" in question.reference_answer
        assert f"{abs(time)}%" not in question.text


async def test_a_larger_benchmark_keeps_the_smaller_ones_questions(
    simulations: Simulations, template: Template
) -> None:
    def wrong_for_odd(situation: str, text: str) -> str:
        odd = int(re.findall(r"\d+", situation)[0]) % 2
        return text.replace("increases", "decreases") if odd else text

    _, few, _ = await run(simulations, writer(wrong_for_odd), template, 5)
    _, many, _ = await run(simulations, writer(wrong_for_odd), template, 9)
    assert many[:5] == few
    runs = simulations.runs
    _, again, _ = await run(simulations, writer(wrong_for_odd), template, 9)
    assert again == many
    assert simulations.runs == runs


async def test_rejected_scenarios_are_counted_by_reason_and_replaced(
    simulations: Simulations, template: Template
) -> None:
    def wrong_once_in_three(situation: str, text: str) -> str:
        rest = int(re.findall(r"\d+", situation)[0]) % 3
        return text.replace("time increases by ", "time falls by 1") if rest else text

    _, questions, summary = await run(
        simulations, writer(wrong_once_in_three), template, 6, draws_per_question=8
    )
    assert len(questions) == summary.accepted == 6
    assert summary.rejected == summary.scenarios - 6 > 0
    assert summary.rejected_by_reason == {"number": summary.rejected}
    assert len(summary.rejections) == summary.rejected
    first = summary.rejections[0]
    assert first.step == "check"
    assert any("reference: " in problem.detail for problem in first.problems)


async def test_drawing_stops_at_the_limit(simulations: Simulations, template: Template) -> None:
    def wrong(situation: str, text: str) -> str:
        return text.replace("increases", "decreases")

    _, questions, summary = await run(simulations, writer(wrong), template, 4, draws_per_question=2)
    assert questions == []
    assert (summary.scenarios, summary.rejected, summary.exhausted) == (8, 8, False)
    assert summary.rejected_by_reason == {"contradicted": 8}


async def test_failed_runs_are_counted_and_small_ranges_are_exhausted(
    tmp_path: Path, make_corridor: Any, template: Template
) -> None:
    narrow = Template.model_validate(
        {
            **template.model_dump(),
            "situation": "The limit falls by {speed_factor} percent, the junction gets signs.",
            "placeholders": [
                {
                    "name": "speed_factor",
                    "argument": "speed_factor",
                    "low": 0.61,
                    "high": 0.64,
                    "decimals": 2,
                    "wording": "percent_reduction",
                }
            ],
            "runs": [
                {
                    "tool": "compare",
                    "words": "the plan",
                    "uses": ["speed_factor"],
                    "fixed": [{"argument": "use_priority_junction", "value": True}],
                }
            ],
        }
    )
    with CallCache(tmp_path / "cache", stage="benchmark") as cache:
        simulations = Simulations(make_corridor(failing_below=0.62), cache)
        _, questions, summary = await run(simulations, writer(), narrow, 10)
    assert len(questions) == 3
    assert summary.exhausted
    assert summary.simulator_failures == 1
    assert summary.rejected_by_reason == {"simulator": 1}
    (rejection,) = summary.rejections
    assert rejection.step == "simulator"
    assert rejection.problems[0].detail == "gridlock at speed factor 0.61"


@pytest.mark.parametrize("task", ["benchmark_question", "reference_claims", "verify_batch"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ReplyInvalid, "invalid_reply"),
        (ReplyRefused, "refused"),
        (ReplyTruncated, "truncated"),
    ],
)
async def test_a_reply_that_cannot_be_used_rejects_the_scenario(
    simulations: Simulations, template: Template, task: str, error: type[ModelError], kind: str
) -> None:
    _, questions, summary = await run(simulations, writer(fail={task: error}), template, 2)
    assert questions == []
    assert summary.rejected_by_reason == {kind: 6}
    assert {rejection.step for rejection in summary.rejections} == {"question"}


async def test_a_provider_out_of_reach_stops_generation(
    simulations: Simulations, template: Template
) -> None:
    with pytest.raises(ModelError, match="benchmark_question failed"):
        await run(simulations, writer(fail={"benchmark_question": ModelUnavailable}), template, 2)


async def test_a_missing_engine_stops_generation(
    simulations: Simulations, template: Template, corridor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise MissingEngineError("the engine is not installed")

    monkeypatch.setattr(corridor, "run", missing)
    with pytest.raises(MissingEngineError, match="not installed"):
        await run(simulations, writer(), template, 2)


@pytest.mark.parametrize(("n", "count"), [(0, 3), (5, 0)])
async def test_a_benchmark_of_nothing_is_refused(
    simulations: Simulations, n: int, count: int
) -> None:
    with pytest.raises(InputError, match="at least one question and one template"):
        await generate(writer(), simulations, "urban", n=n, seed=0, template_count=count)
