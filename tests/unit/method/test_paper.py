"""Algorithm 1 over a question whose graph is worked by hand: draft, choose, conclude."""

from __future__ import annotations

import pytest

from simulrag.errors import CallsPending, ModelUnavailable
from simulrag.method.paper import choose, conclude, draft
from simulrag.method.recipes import answer_question
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends, QuestionState
from simulrag.records import Answer, Failure
from simulrag.testing import ScriptedModel
from tests.making import answer, claim, question
from tests.unit.method.conftest import PAPER
from tests.unit.method.planned import NO_TOOL, Plan, sound

QUESTION = question(text="How deep is it?")
SETTINGS = PAPER.model_copy(update={"samples": 2, "kappa": 0.4, "verbalized": False})


def model(**changes: object) -> ScriptedModel:
    """Two answers share the first claim, each has one of its own; nobody can check "It is old".

    ``changes`` replace the reply to a task.
    """
    shared, cold, old = "It is 12 m deep.", "It is cold.", "It is old."
    return Plan(
        answers=[[shared, cold], [shared, old]],
        aligned=[shared, old],
        corrected={cold: "It is warm."},
        outside=[old],
        replies=changes,
    ).model()


async def test_a_draft_holds_all_that_needs_no_other_question(simulations: Simulations) -> None:
    ask = model()
    settings = SETTINGS.model_copy(update={"verify": "selected"})
    drafted = await draft(QUESTION, Backends(ask, simulations), settings)
    assert drafted.failure is None
    assert drafted.retrieval is not None
    assert drafted.retrieval.context == "It is 12.0 m."
    assert drafted.closed_book == ("Answer 0", "Answer 1")
    assert [claim.text for claim in drafted.claims] == [
        "It is 12 m deep.",
        "It is cold.",
        "It is old.",
    ]
    assert drafted.claims[0].sources == ((0, 0), (1, 0))
    assert [claim.support for claim in drafted.claims] == [
        (True, True),
        (True, False),
        (False, True),
    ]
    assert [claim.boundary for claim in drafted.claims] == [True, True, False]
    # Five nodes, a path claim - answer - claim - answer - claim: distances 1+1+2+2 and 1+2+3+4.
    closeness = [claim.confidence["closeness"] for claim in drafted.claims]
    assert closeness == pytest.approx([4 / 6, 4 / 10, 4 / 10])
    assert all(claim.verdict is None for claim in drafted.claims)
    assert drafted.usage["entailment"].calls == 2
    assert "final" not in {call["task"] for call in ask.asked}


def drafted_claims(name: str, failed: bool = False) -> Answer:
    """Three claims of 0.6, 0.4 and 0.4, the last outside the boundary."""
    claims = [claim("a", 0.6), claim("b", 0.4), claim("c", 0.4, boundary=False)]
    failure = Failure(step="merge", reason="no reply") if failed else None
    return answer(name, claims, closed_book=("one", "two"), failure=failure)


def test_choices_spend_each_budget_over_all_questions() -> None:
    drafts = [drafted_claims("a"), drafted_claims("b", failed=True), drafted_claims("c")]
    settings = SETTINGS.model_copy(update={"final_budgets_percent": (25.0, 100.0)})
    choices = choose(drafts, settings)
    assert [[choice.line.budget_percent for choice in own] for own in choices] == [[25, 100]] * 3
    # 25 % of 6 claims are 1.5, rounded half up: the two least confident within the boundary.
    assert [own[0].selected for own in choices] == [(1,), (), (1,)]
    assert [own[1].selected for own in choices] == [(0, 1), (), (0, 1)]
    assert {choice.kappa for own in choices for choice in own} == {0.4}


@pytest.mark.parametrize(("kappa", "kappas"), [(0.4, [0, 0, 0.4, 0.4]), (0.0, [0, 0])])
def test_each_choice_without_kappa_too_where_that_is_another(
    kappa: float, kappas: list[float]
) -> None:
    more = {"final_budgets_percent": (25.0, 100.0), "without_kappa": True, "kappa": kappa}
    (choices,) = choose([drafted_claims("a")], SETTINGS.model_copy(update=more))
    assert [choice.kappa for choice in choices] == kappas
    assert [choice.line.budget_percent for choice in choices] == [25, 100] * (len(kappas) // 2)


def test_tau_makes_one_choice_without_a_budget() -> None:
    (choices,) = choose([drafted_claims("a")], SETTINGS.model_copy(update={"tau": 0.5}))
    assert [(choice.line.budget_percent, choice.selected) for choice in choices] == [(None, (1,))]


def test_kappa_is_a_quantile_of_the_development_part() -> None:
    settings = SETTINGS.model_copy(
        update={"kappa": None, "kappa_quantile": 0.9, "kappa_development": 1.0}
    )
    (choices,) = choose([drafted_claims("a")], settings)
    assert choices[0].kappa == 0.4  # the lower neighbour of the 0.9 quantile of 0.4, 0.4, 0.6


async def test_a_conclusion_keeps_corrects_and_writes(simulations: Simulations) -> None:
    use = Backends(model(), simulations)
    settings = SETTINGS.model_copy(
        update={"kappa": 0.5, "verify": "selected", "final_budgets_percent": (50.0, 100.0)}
    )
    drafted = await draft(QUESTION, use, settings)
    (choices,) = choose([drafted], settings)
    concluded = await conclude(QUESTION, drafted, choices, use, settings)
    # At 100 %: both claims in reach; "It is old" keeps its 0.4, below kappa.
    final = concluded.final
    assert (final.line.budget_percent, final.selected, final.kept) == (100, (0, 1), (0, 1))
    assert final.text == "It is 12 m deep. / It is warm."
    assert concluded.verified
    assert [claim.after for claim in concluded.claims][1:] == ["It is warm.", "It is old."]
    # 50 % of 3 claims are 2: the same two.
    (smaller,) = concluded.baselines
    assert smaller.line == final.line.model_copy(update={"budget_percent": 50})
    assert smaller.line.samples == 2
    assert smaller.text == final.text


async def test_verdicts_do_not_hang_on_who_selected_the_claim(simulations: Simulations) -> None:
    """All verified once, or the selected ones: one answer, of other calls."""
    use = Backends(model(), simulations)
    found = []
    for verify in ("all", "selected"):
        settings = SETTINGS.model_copy(
            update={"verify": verify, "final_budgets_percent": (34.0,), "kappa": 0.0}
        )
        drafted = await draft(QUESTION, use, settings)
        (choices,) = choose([drafted], settings)
        found.append(await conclude(QUESTION, drafted, choices, use, settings))
    every, some = found
    assert every.final == some.final
    assert sum(claim.verdict is not None for claim in every.claims) == 3
    assert sum(claim.verdict is not None for claim in some.claims) == len(some.final.selected) == 1


async def test_one_question_by_itself(simulations: Simulations) -> None:
    settings = SETTINGS.model_copy(update={"kappa": 0.0}).for_one_question()
    found = await answer_question(QUESTION, Backends(model(), simulations), settings)
    assert found.text == "It is 12 m deep. / It is warm. / It is old."
    assert found.baselines == ()
    assert [item.outputs for item in found.evidence] == [{"depth_m": 12.0}]


async def test_without_a_tool_nothing_is_verified(simulations: Simulations) -> None:
    use = Backends(model(plan=NO_TOOL), simulations)
    found = await answer_question(QUESTION, use, SETTINGS)
    assert found.failure is None
    assert not found.verified
    assert found.final.selected == ()
    assert found.text == "It is 12 m deep. / It is cold. / It is old."


@pytest.mark.parametrize(
    ("task", "step"),
    [
        ("plan", "retrieve"),
        ("closed_book", "answer"),
        ("decompose", "decompose"),
        ("merge", "merge"),
        ("entailment", "score"),
        ("boundary_batch", "assess"),
        ("verify_batch", "verify"),
        ("final", "synthesise"),
    ],
)
async def test_a_failure_is_the_questions_own_and_names_its_step(
    simulations: Simulations, task: str, step: str
) -> None:
    ask = model(**{task: ModelUnavailable("no reply")})
    found = await answer_question(QUESTION, Backends(ask, simulations), SETTINGS)
    assert found.failure is not None
    assert (found.failure.step, found.failure.reason) == (step, "no reply")
    assert found.text == ""


async def test_the_stated_confidence_fails_alone(simulations: Simulations) -> None:
    ask = model(verbalized_batch=ModelUnavailable("no reply"))
    settings = SETTINGS.model_copy(update={"verbalized": True})
    found = await answer_question(QUESTION, Backends(ask, simulations), settings)
    assert (found.failure, [one.step for one in found.failed_steps]) == (None, ["verbalize"])
    assert {claim.verbalized for claim in found.claims} == {None}
    assert found.text == "It is 12 m deep. / It is warm. / It is old."


async def test_a_run_that_fails_goes_back_to_the_model_and_then_fails_the_question(
    simulations: Simulations,
) -> None:
    ask = model(plan=sound("dry"))
    found = await draft(QUESTION, Backends(ask, simulations), SETTINGS)
    assert found.failure is not None
    assert found.failure.reason == "no water there"
    assert sum(call["task"] == "plan" for call in ask.asked) == SETTINGS.max_attempts


async def test_calls_that_wait_stop_the_question_after_all_that_does_not_hang_on_them(
    simulations: Simulations,
) -> None:
    ask = model(plan=CallsPending("waits"))
    with pytest.raises(CallsPending):
        await draft(QUESTION, Backends(ask, simulations), SETTINGS)
    assert "boundary_batch" in {call["task"] for call in ask.asked}


def test_a_misspelt_field_is_no_note(simulations: Simulations) -> None:
    work = QuestionState(QUESTION, Backends(model(), simulations))
    with pytest.raises(TypeError, match="no field closed_bok"):
        work.note(closed_bok=())
