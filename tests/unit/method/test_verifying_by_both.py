"""``verify_by: both``: a model's verdicts, and the simulator's value where both agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.library import LibrarySimulator
from simulrag.calls import CallCache
from simulrag.method.algorithm import Instruments, draft
from simulrag.method.simulation import Simulations
from simulrag.records import Verdict
from tests.making import ALIGNED, SILENT, corrected
from tests.unit.method.planned import QUESTION, SETTINGS, Plan, answered
from tests.unit.method.test_retrieval import corpus

DEPTHS = ["12 m deep.", "20 m deep.", "12.0 m deep.", "21 m deep.", "It is cold.", "It is old."]


def lake(**changes: object) -> Plan:
    """One answer of six claims about a lake that is 12 m deep."""
    made = Plan(
        answers=[DEPTHS],
        aligned=["12 m deep.", "20 m deep.", "It is cold."],
        corrected={"12.0 m deep.": "13 m deep."},
        depths={text: text.split()[0] for text in DEPTHS[:4]},
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


async def test_the_models_verdict_stands_and_a_value_only_where_both_find_it_aligned(
    simulations: Simulations,
) -> None:
    found, model = await answered(lake(), simulations, samples=1, verify_by="both")
    assert {claim.text: claim.verdict for claim in found.claims} == {
        "12 m deep.": Verdict(status="aligned", found="12 m"),
        "20 m deep.": ALIGNED,  # by arithmetic it is wrong
        "12.0 m deep.": corrected("13 m deep."),
        "21 m deep.": SILENT,
        "It is cold.": ALIGNED,  # of no output
        "It is old.": SILENT,
    }
    shown = {call["task"]: call["claims"] for call in model.asked if "claims" in call}
    assert shown["read_claims"] == shown["verify_batch"] == DEPTHS


@pytest.mark.parametrize("alone", ["model", "point"])
async def test_by_one_of_them_alone_the_other_is_not_asked(
    simulations: Simulations, alone: str
) -> None:
    _, model = await answered(lake(), simulations, samples=1, verify_by=alone)
    asked = {call["task"] for call in model.asked} & {"read_claims", "verify_batch"}
    assert asked == {"verify_batch" if alone == "model" else "read_claims"}


def deep(**changes: object) -> Plan:
    """Two answers that agree on what is true and add what nobody can check."""
    return lake(
        answers=[["12 m deep.", "It is old."]] * 2,
        **changes,
    )


async def test_the_papers_answers_are_as_by_reading(
    simulations: Simulations,
) -> None:
    changes = {"samples": 2, "beside": ("paper", "rag"), "final_budgets_percent": (100.0,)}
    for verify_by in ("both", "model"):
        found, _ = await answered(deep(), simulations, **changes, verify_by=verify_by)
        one = [text.text for text in found.baselines if text.line.method == "simulrag"]
        assert [found.text, *one] == ["12 m deep. / It is old."] * 2  # of two samples, and of one


async def test_where_no_run_has_an_output_to_compare_with_only_the_model_reads(
    tmp_path: Path,
) -> None:
    """A library returns passages and no number."""
    model = deep().model()
    source = LibrarySimulator(corpus(tmp_path), retrieves_by="question")
    with CallCache(tmp_path / "calls", stage="test") as cache:
        use = Instruments(model, Simulations(source, cache))
        found = await draft(
            QUESTION, use, SETTINGS.model_copy(update={"samples": 2, "verify_by": "both"})
        )
    assert found.evidence
    assert [claim.verdict for claim in found.claims] == [ALIGNED, SILENT]
    assert "read_claims" not in {call["task"] for call in model.asked}


async def test_a_question_fails_where_its_claims_cannot_be_read(simulations: Simulations) -> None:
    made = deep(replies={"read_claims": {"claims": []}})
    found, _ = await answered(made, simulations, samples=2, verify_by="both")
    assert found.failure is not None
    assert found.failure.step == "verify"
