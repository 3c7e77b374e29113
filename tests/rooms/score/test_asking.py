"""What models are asked about an answer: each question fails by itself, and says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import Field

from rooms.score.asking import DETAILS, Panel, ask_about, declared
from rooms.score.desk import TokenLikelihoods
from rooms.score.records import AnswerToScore, ScoredAnswer, Variant
from rooms.score.settings import ScoreParams
from simulators.base import Tool
from simulators.json_schema import ToolModel, measured
from simulrag.errors import CallsPending, ModelUnavailable
from simulrag.records import Evidence, ToolCall
from simulrag.testing import ScriptedModel

FACTS = ["The peak is 12.5 weeks after the start.", "It falls by 7 percent."]
GIVEN = AnswerToScore(
    question="When is the peak?",
    answer="The peak comes after 12.5 weeks.",
    evidence=(" ".join(FACTS),),
    claims=("The peak comes after 12.5 weeks.", "It is small."),
)
SETTINGS = ScoreParams(samples=3, asked_back=2)


class Arguments(ToolModel):
    city_name: str
    start_year: int
    factor: float
    zone: str = Field(json_schema_extra={"detail": "place"})


class Outputs(ToolModel):
    rise_percent: float = measured("percent", "rise")
    weeks_to_peak: float = measured("weeks", "time of the peak")


TOOL = Tool("t", "", Arguments, Outputs, "")


def replies(failing: Sequence[object] = ()) -> Any:
    """By task, or task and sample; those named fail."""

    def reply(task: str, values: dict[str, Any]) -> object:
        if task in failing or (task, values["sample_index"]) in failing:
            return ModelUnavailable(f"{task} is down")
        found: dict[str, Callable[[], object]] = {
            "score_details": lambda: {
                "claims": [
                    {
                        "index": i,
                        "scenario": "yes",
                        "place": "n/a",
                        "time": "no",
                        "magnitude": "yes",
                    }
                    for i, _ in enumerate(values["claims"])
                ]
            },
            "score_mask": lambda: {"answer": "[SCENARIO] comes after 12.5 weeks."},
            "score_ask_back": lambda: {"questions": ["When?", "How late?"]},
            "evaluation_decompose": lambda: {"claims": [{"claim": values["answer"]}]},
            "read_claims": lambda: {
                "claims": [
                    dict.fromkeys(READING, None) | {"index": i, "kind": "other"}
                    for i, _ in enumerate(values["claims"])
                ]
            },
            "verify_batch": lambda: {
                "claims": [
                    {
                        "index": i,
                        "is_included": "12.5" in values["context"],
                        "should_update": False,
                        "updated_claim": "",
                    }
                    for i, _ in enumerate(values["claims"])
                ]
            },
        }
        return found[task]()

    return reply


READING = ("output", "run", "against", "value", "unit", "direction", "class_word")


async def asked(
    given: AnswerToScore = GIVEN,
    settings: ScoreParams = SETTINGS,
    *,
    failing: Sequence[object] = (),
    **more: Any,
) -> ScoredAnswer:
    model = ScriptedModel(by_task=replies(failing))
    panel = Panel(
        model, [(model, sample) for sample in range(settings.samples)], {"t": TOOL}, **more
    )
    return await ask_about(given, FACTS, panel, settings, forced=bool(more))


async def test_everything_is_asked_for() -> None:
    found = await asked()
    assert found.votes == ((("yes", "n/a", "no", "yes"),) * 2,) * 3
    assert len(found.asked_plainly) == 2
    assert (found.masked, len(found.asked_back)) == ("[SCENARIO] comes after 12.5 weeks.", 2)
    assert (found.readings, found.verdicts, found.forced, found.reasons) == ({}, (), (), {})


@pytest.mark.parametrize(
    ("failing", "reasons", "judges"),
    [
        ([("score_details", 1)], ["judge 2"], 2),
        (["score_details"], ["judge 1", "judge 2", "judge 3"], 0),
        (["score_mask"], ["asking back"], 3),
        (["score_ask_back"], ["asking back", "asking plainly"], 3),
    ],
)
async def test_a_failed_call_leaves_the_others(
    failing: Sequence[object], reasons: list[str], judges: int
) -> None:
    found = await asked(failing=failing)
    assert sorted(found.reasons) == reasons
    assert sum(None not in votes for votes in found.votes) == judges
    assert all("is down" in reason for reason in found.failures)


async def test_variants_are_taken_apart_and_read() -> None:
    again = Variant(question="And when?", answer="After 3 weeks.")
    given = GIVEN.model_copy(update={"paraphrased": again, "perturbed": Variant(failure="refused")})
    found = await asked(given)
    assert sorted(found.readings) == ["answer", "paraphrase"]
    lost = await asked(given, failing=["evaluation_decompose"])
    assert sorted(lost.readings) == ["answer"]
    assert list(lost.reasons) == ["reading paraphrase"]


async def test_a_variant_is_taken_apart_and_read_by_its_own_question() -> None:
    again = Variant(question="And when in spring?", answer="After 3 weeks.")
    model = ScriptedModel(by_task=replies())
    given = GIVEN.model_copy(update={"perturbed": again})
    await ask_about(given, FACTS, Panel(model, [], {"t": TOOL}), SETTINGS, forced=False)
    by_task = [(one["task"], one["question"]) for one in model.asked if "question" in one]
    assert ("evaluation_decompose", again.question) in by_task
    read = {question for task, question in by_task if task == "read_claims"}
    assert read == {GIVEN.question, again.question}


async def test_dependence_leaves_each_fact_out() -> None:
    found = await asked(settings=SETTINGS.model_copy(update={"dependence": True}))
    assert found.verdicts == (("aligned",) * 2, ("indeterminate",) * 2, ("aligned",) * 2)


async def test_context_use_is_asked_with_all_without_each_and_with_none() -> None:
    shown: list[list[str]] = []

    async def told(_: AnswerToScore, facts: Sequence[str]) -> Sequence[float]:
        shown.append(list(facts))
        return TokenLikelihoods(tokens=(1,), logprobs=(-1.0 / (1 + len(facts)),)).logprobs

    found = await asked(probabilities=told, proxy="local: small")
    assert shown == [FACTS, FACTS[1:], FACTS[:1], []]
    assert [len(row) for row in found.forced] == [1, 1, 1, 1]
    assert found.proxy == "local: small"


async def test_no_answer_is_asked_nothing_and_waiting_is_no_failure() -> None:
    assert (await asked(GIVEN.model_copy(update={"answer": " "}))).reasons == {
        "answer": "it is empty"
    }
    waiting = ScriptedModel(by_task=lambda *_: CallsPending("waits"))
    with pytest.raises(CallsPending):
        await ask_about(GIVEN, FACTS, Panel(waiting, [(waiting, 0)], {}), SETTINGS, forced=False)
    assert {one["task"] for one in waiting.asked} == {
        "score_details",
        "score_mask",
        "score_ask_back",
    }


def test_fields_belong_to_details_as_declared_or_by_name() -> None:
    run = Evidence(
        simulator="s", call=ToolCall(tool="t", arguments={}), seed=0, outputs={}, text="t"
    )
    assert declared([run, run], {"t": TOOL}) == {
        "scenario": ["factor"],
        "place": ["city_name", "zone"],
        "time": ["start_year", "weeks_to_peak"],
        "magnitude": ["rise_percent"],
    }
    assert DETAILS == ("scenario", "place", "time", "magnitude")
    assert declared([run], {}) == {}
