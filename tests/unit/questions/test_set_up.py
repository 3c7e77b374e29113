"""Questions that state their set-up and ask beyond the simulator's reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.stages.simulators import identity
from simulators.base import set_up_facts
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.errors import ReplyInvalid
from simulrag.method.simulation import Simulations
from simulrag.questions.check import check_reference
from simulrag.questions.records import SetUpTemplate
from simulrag.questions.scenarios import SampledScenario, run_scenario, scenario_stream
from simulrag.questions.templates import draw_templates
from simulrag.questions.writing import write_question
from simulrag.records import Question, ReferenceClaim
from simulrag.testing import ScriptedModel
from tests.unit.questions.conftest import Corridor, corridor_template

SET_UP = "Lanes are counted from 1 to 3."
BEYOND = "What should the city weigh besides?"


def with_set_up(set_up: str = SET_UP) -> SetUpTemplate:
    return SetUpTemplate(**corridor_template().model_dump(), set_up=set_up, beyond=[BEYOND])


def test_a_reference_claim_from_evidence_is_written_as_before() -> None:
    plain = {"text": "It falls.", "kind": "qualitative"}
    evident = ReferenceClaim.model_validate(plain)
    assert evident.source == "evidence"
    assert evident.model_dump() == plain
    wondered = evident.model_copy(update={"source": "open"})
    assert ReferenceClaim.model_validate_json(wondered.model_dump_json()) == wondered


async def test_a_set_up_has_the_handbooks_numbers(corridor: Corridor) -> None:
    good = {"templates": [with_set_up().model_dump()]}
    ask = ScriptedModel(good)
    ((template,), _) = await draw_templates(ask, corridor, 1, set_up=True)
    assert isinstance(template, SetUpTemplate)
    assert ask.asked[0]["set_up"] is True
    bad = {"templates": [with_set_up("The road is 1234 m long.").model_dump()]}
    with pytest.raises(ReplyInvalid, match="1234, which the handbook does not"):
        await draw_templates(ScriptedModel(bad), corridor, 1, set_up=True)


async def test_the_writer_has_the_computed_values_and_open_points_are_no_reference(
    corridor: Corridor, tmp_path: Path
) -> None:
    template = with_set_up()
    with CallCache(tmp_path / "cache", stage="benchmark") as cache:
        simulations = Simulations(corridor, cache)
        scenario = next(scenario_stream([template], 1, "corridor"))
        evidence = await run_scenario(simulations, scenario)
    outputs = evidence[0].outputs
    written: dict[str, Any] = {}

    def reply(task: str, values: dict[str, object]) -> object:
        if task == "benchmark_question":
            written.update(values)
            said = " ".join(str(value) for value in values["asked"])  # type: ignore[attr-defined]
            asked = f"{SET_UP} {scenario.situation} {BEYOND}"
            return {"question": asked, "reference_answer": said, "open_points": ["Costs, 99 %."]}
        if task == "reference_claims":
            return {"claims": [{"claim": values["reference"], "kind": "quantitative"}]}
        claims: Any = values["claims"]
        assert all("Costs" not in claim for claim in claims)
        return {
            "claims": [
                {"index": i, "is_included": True, "should_update": False, "updated_claim": ""}
                for i in range(len(claims))
            ]
        }

    question = await write_question(
        ScriptedModel(by_task=reply), template, scenario, evidence, "corridor"
    )
    assert isinstance(question, Question), question
    change = outputs["travel_time_change_percent"]
    assert f"{change:g}" in written["asked"][0]
    assert (written["set_up"], written["beyond"]) == (SET_UP, [BEYOND])
    assert [claim.source for claim in question.reference_claims] == ["evidence", "open"]
    assert "Costs" not in question.reference_answer


async def test_a_question_without_its_set_up_is_rejected(
    corridor: Corridor, tmp_path: Path
) -> None:
    template = with_set_up("The road is 1000 m long.")
    with CallCache(tmp_path / "cache", stage="benchmark") as cache:
        scenario: SampledScenario = next(scenario_stream([template], 1, "corridor"))
        evidence = await run_scenario(Simulations(corridor, cache), scenario)

    def kinds(question: str) -> set[str]:
        problems = check_reference(
            question, "Nothing.", [], template=template, scenario=scenario, evidence=evidence
        )
        return {problem.detail for problem in problems if problem.detail.startswith("question")}

    assert kinds("How long does it take?") == {"question: 1000, of the set-up"}
    assert kinds("On 1,000 m of road, how long does it take?") == set()


def test_facts_go_with_the_handbook_that_they_belong_to(corridor: Corridor) -> None:
    assert "90 s" in set_up_facts(load("urban"))
    assert "486" in set_up_facts(load("epidemiology"))
    assert set_up_facts(load("climate")) == set_up_facts(corridor) == ""
    assert identity("d", corridor).keys() ^ identity("d", corridor, set_up=True).keys() == {
        "set_up_sha256"
    }
