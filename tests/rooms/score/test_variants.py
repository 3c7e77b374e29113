"""Paraphrases keep every number, perturbations are scenarios that were run; what they will cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.params import load_params
from rooms.score.settings import ScoreParams
from rooms.score.variants import (
    calls_of,
    other_scenario,
    paraphrase,
    perturb,
    settings_of_variants,
)
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.questions.records import Template
from simulrag.records import Retrieval
from simulrag.testing import ScriptedModel
from tests.integration.projects import ROOT
from tests.making import answer, evidence, question
from tests.rooms.planning import PAID, planned, to_plan_in

QUESTION = question(text="Limits drop by 23 percent. What happens?", reference_answer="")


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        ("What happens where limits are cut by 23 percent?", None),
        ("What happens where limits are cut by 32 percent?", "left out: ['23']; numbers added"),
        ("limits drop by 23  percent. What happens?", "the same as before"),
    ],
)
async def test_a_paraphrase_keeps_its_numbers(reply: str, failure: str | None) -> None:
    found = await paraphrase(QUESTION, ScriptedModel({"question": reply}))
    assert found.failure is None if failure is None else failure in (found.failure or "")
    assert found.question == ("" if failure else reply)


async def test_a_perturbation_is_another_scenario_with_its_runs(
    template: Template, corridor: Any, tmp_path: Path
) -> None:
    asked: list[dict[str, object]] = []

    def reply(_: str, values: dict[str, object]) -> object:
        asked.append(values)
        return {"question": f"{values['situation']} What happens?"}

    with CallCache(tmp_path, stage="s") as cache:
        runs = Simulations(corridor, cache)
        model = ScriptedModel(by_task=reply)
        again = await perturb(QUESTION, template, model, runs, seed=1, simulator_seed=0)
        scenario = other_scenario(QUESTION, template, 1)
        assert scenario is not None
        assert again.failure is None
        assert asked[0]["situation"] == scenario.situation
        arguments = again.evidence[0].call.arguments
        assert arguments["speed_factor"] == scenario.calls[0].arguments["speed_factor"]
        same = QUESTION.model_copy(update={"scenario_id": scenario.scenario_id})
        other = other_scenario(same, template, 1)
        assert other is not None
        assert other.scenario_id != scenario.scenario_id
        old = ScriptedModel({"question": "Limits drop by 2 percent. And now?"})
        lost = await perturb(QUESTION, template, old, runs, seed=1, simulator_seed=0)
        assert "does not give" in (lost.failure or "")
        corridor.failing_below = 2
        refused = await perturb(QUESTION, template, model, runs, seed=5, simulator_seed=0)
        assert "gridlock" in (refused.failure or "")
        none = await perturb(QUESTION, None, model, runs, seed=1, simulator_seed=0)
        assert "no template" in (none.failure or "")


def test_every_stand_in_fits_the_step_that_asked_for_it(tmp_path: Path) -> None:
    """Of an own benchmark to be made, with all that is asked of models, so nothing is uncounted."""
    models = {f"llm.{role}": PAID for role in ("benchmark", "answer", "judge")}
    settings = {"domains": ["urban"], "variants": 1, "samples": 2, "dependence": True}
    wanted = {"score": settings, "benchmark.questions": 2}
    found = planned(to_plan_in(tmp_path, **models, **wanted), "score")
    asked = {"details", "mask", "ask_back", "paraphrase", "perturb"}
    assert {f"score_{name}" for name in asked} < {task for _, task in found}
    assert all(task.calls and task.input_tokens and task.output_tokens for task in found.values())


@pytest.mark.parametrize(
    ("methods", "beside"),
    [
        (["grounded"], ()),
        (["closed_book", "grounded"], ("rag",)),
        (["simulrag", "input_rag"], ("paper", "rag")),
        (["rag_looks", "grounded"], ()),
        ([], ("paper", "rag")),
    ],
)
def test_beside_a_variants_answer_stands_only_what_is_scored(
    methods: list[str], beside: tuple[str, ...]
) -> None:
    params = load_params(ROOT / "params.yaml")
    for wanted in (
        {"methods": methods, "varied": []},
        {"methods": methods and ["closed_book", *methods], "varied": methods},
    ):
        score = params.room(ScoreParams).model_copy(update=wanted)
        settings = settings_of_variants(answer("q", []), params.model_copy(update={"score": score}))
        assert settings.beside == beside


def test_a_method_rests_on_the_runs_of_its_own_looks() -> None:
    runs = tuple(evidence(factor=number) for number in (1, 2, 3))
    retrieval = Retrieval(status="retrieved", evidence=runs, looks=(1, 2))
    told = answer("q", [], retrieval=retrieval)
    rests = {name: len(calls_of(name, told)) for name in ("grounded", "rag_looks", "input_rag")}
    assert rests == {"grounded": 3, "rag_looks": 2, "input_rag": 1}
    assert calls_of("closed_book", told) == ()
