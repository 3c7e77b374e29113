"""Generation: what is accepted, what is counted as rejected, and where it stops."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
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
from simulrag.method.verification import VerificationBatch
from simulrag.models.base import Completion
from simulrag.questions.open.generation import generate
from simulrag.questions.open.records import Template
from simulrag.questions.open.writing import BenchmarkQuestion, ReferenceClaims
from simulrag.records import Usage
from simulrag.task import Task


class Writer:
    """Stands for the gateway, to write exactly the faults that a test names.

    ``spoil(situation, text)`` changes a right reference; ``fail`` raises for a task.
    """

    def __init__(self, spoil: Any = None, fail: dict[str, type[ModelError]] | None = None) -> None:
        self.spoil = spoil or (lambda _, text: text)
        self.fail = fail or {}

    async def ask(
        self,
        task: Task,
        *,
        sample_index: int = 0,
        check: Any = None,
        **values: Any,
    ) -> Completion:
        if task.name in self.fail:
            raise self.fail[task.name](f"{task.name} failed")
        replies = {
            "reference_claims": self._claims,
            "benchmark_question": self._question,
            "verify_batch": self._verdicts,
        }
        parsed = replies[task.name](**values)
        return Completion(text="", parsed=parsed, usage=Usage(), model_version="", cached=False)

    def _question(self, situation: str, asks: str, context: str) -> BenchmarkQuestion:
        values = dict(
            zip(
                ["s", "travel_time_change_percent", "i", "co2_change_percent"],
                map(float, re.findall(r"-?\d+\.\d+", context)),
                strict=True,
            )
        )
        question, answer = [situation], []
        for ask in json.loads(asks):
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
        reference = self.spoil(situation, " ".join(answer))
        return BenchmarkQuestion(question=" ".join(question), reference_answer=reference)

    def _verdicts(self, question: str, context: str, claims: list[str]) -> VerificationBatch:
        """The evidence decides every claim; it says that times increase."""
        return VerificationBatch.model_validate(
            {
                "claims": [
                    {
                        "index": index,
                        "is_included": True,
                        "should_update": "time decreases" in claim,
                        "updated_claim": claim.replace("decreases", "increases"),
                    }
                    for index, claim in enumerate(claims)
                ]
            }
        )

    def _claims(self, question: str, reference: str) -> ReferenceClaims:
        return ReferenceClaims.model_validate(
            {
                "claims": [
                    {
                        "claim": part,
                        "kind": "quantitative" if re.search(r"\d%", part) else "qualitative",
                    }
                    for part in re.split(r"(?<=\.) ", reference)
                ]
            }
        )


@pytest.fixture
async def simulations(tmp_path: Path, corridor: Any) -> AsyncIterator[Simulations]:
    with CallCache(tmp_path / "cache", stage="benchmark") as cache:
        yield Simulations(corridor, cache)


async def run(
    simulations: Simulations, writer: Writer, template: Template, n: int, **more: Any
) -> Any:
    return await generate(
        writer,
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
    _, questions, _ = await run(simulations, Writer(), template, 3)
    reworded = Writer(lambda _, text: text.replace("The change in", "The size of the change in"))
    _, others, _ = await run(simulations, reworded, template, 3)
    assert [q.text for q in questions] == [q.text for q in others]
    assert not {q.question_id for q in questions} & {q.question_id for q in others}


async def test_right_questions_are_accepted_with_their_evidence(
    simulations: Simulations, template: Template
) -> None:
    templates, questions, summary = await run(simulations, Writer(), template, 12)
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

    _, few, _ = await run(simulations, Writer(wrong_for_odd), template, 5)
    _, many, _ = await run(simulations, Writer(wrong_for_odd), template, 9)
    assert many[:5] == few
    runs = simulations.runs
    _, again, _ = await run(simulations, Writer(wrong_for_odd), template, 9)
    assert again == many
    assert simulations.runs == runs


async def test_rejected_scenarios_are_counted_by_reason_and_replaced(
    simulations: Simulations, template: Template
) -> None:
    def wrong_once_in_three(situation: str, text: str) -> str:
        rest = int(re.findall(r"\d+", situation)[0]) % 3
        return text.replace("time increases by ", "time falls by 1") if rest else text

    _, questions, summary = await run(
        simulations, Writer(wrong_once_in_three), template, 6, draws_per_question=8
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

    _, questions, summary = await run(simulations, Writer(wrong), template, 4, draws_per_question=2)
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
        _, questions, summary = await run(simulations, Writer(), narrow, 10)
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
    _, questions, summary = await run(simulations, Writer(fail={task: error}), template, 2)
    assert questions == []
    assert summary.rejected_by_reason == {kind: 6}
    assert {rejection.step for rejection in summary.rejections} == {"question"}


async def test_a_provider_out_of_reach_stops_generation(
    simulations: Simulations, template: Template
) -> None:
    with pytest.raises(ModelError, match="benchmark_question failed"):
        await run(simulations, Writer(fail={"benchmark_question": ModelUnavailable}), template, 2)


async def test_a_missing_engine_stops_generation(
    simulations: Simulations, template: Template, corridor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise MissingEngineError("the engine is not installed")

    monkeypatch.setattr(corridor, "run", missing)
    with pytest.raises(MissingEngineError, match="not installed"):
        await run(simulations, Writer(), template, 2)


@pytest.mark.parametrize(("n", "count"), [(0, 3), (5, 0)])
async def test_a_benchmark_of_nothing_is_refused(
    simulations: Simulations, n: int, count: int
) -> None:
    with pytest.raises(InputError, match="at least one question and one template"):
        await generate(Writer(), simulations, "urban", n=n, seed=0, template_count=count)
