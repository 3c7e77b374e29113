"""Answers to compare with: what they call, what they share, and SimulRAG from one sample."""

from __future__ import annotations

import pytest

from simulrag.errors import ModelUnavailable
from simulrag.method.answering import (
    baseline_ways,
    final_texts,
    first_sample,
    first_sample_selection,
    first_sample_way,
)
from simulrag.method.selection import candidates_of
from simulrag.records import Answer, FinalText, Retrieval, Selection
from simulrag.testing import ScriptedModel
from tests.making import answer, claim, corrected, evidence, line


def model(refuse: str = "") -> ScriptedModel:
    """Answers each task in a way that shows what it was given."""

    def reply(task: str, values: dict[str, object]) -> object:
        match task:
            case _ if task == refuse:
                return ModelUnavailable(f"{task}: no reply")
            case "final":
                return " / ".join(values["claims"])  # type: ignore[arg-type]
            case "input_rag":
                return f"By {values['context']}"
            case "output_rag":
                return f"{values['answer']} By {values['context']}"
        raise AssertionError(task)

    return ScriptedModel(by_task=reply)


FOUND = Retrieval(status="retrieved", evidence=(evidence("It falls."),))


def two_samples(retrieval: Retrieval = FOUND) -> Answer:
    """Each made a claim that was corrected; one outside the boundary is both's."""
    claims = [
        claim("One.", verdict=corrected("One, mended."), sources=((0, 0),)),
        claim("Two.", verdict=corrected("Two, mended."), sources=((1, 0),)),
        claim("Three.", boundary=False, sources=((0, 0), (1, 0))),
    ]
    return answer("q", claims, closed_book=("A0.", "A1."), retrieval=retrieval)


async def texts(
    given: Answer, refuse: str = ""
) -> tuple[dict[tuple[str, int], FinalText], ScriptedModel]:
    ask = model(refuse)
    choice = Selection(line=line("simulrag", 2, 25, 0), selected=(0,), first_sample=(0,))
    ways = baseline_ways("q?", given)
    made = await final_texts([*ways, *first_sample_way("q?", given, choice)], ask)
    return {(text.line.method, text.line.samples): text for text in made}, ask


async def test_each_by_its_own_way() -> None:
    made, _ = await texts(two_samples())
    assert {way: text.text for way, text in made.items()} == {
        ("input_rag", 1): "By It falls.",
        ("output_rag", 1): "A0. By It falls.",
        ("simulrag", 1): "One, mended. / Three.",
    }
    assert made["simulrag", 1].line.budget_percent == 25
    assert made["input_rag", 1].line.budget_percent is None


async def test_they_see_the_evidence_of_the_first_look_alone() -> None:
    runs = (evidence("It falls."), evidence("It rises."))
    found = Retrieval(status="retrieved", evidence=runs, looks=(1, 2))
    made, _ = await texts(two_samples(found))
    assert made["input_rag", 1].text == "By It falls."
    assert made["output_rag", 1].text == "A0. By It falls."


async def test_only_its_own_calls_are_counted() -> None:
    made, _ = await texts(two_samples())
    calls = {
        way: {task: usage.calls for task, usage in text.usage.items()} for way, text in made.items()
    }
    assert calls == {
        ("input_rag", 1): {"input_rag": 1},
        ("output_rag", 1): {"output_rag": 1},
        ("simulrag", 1): {"final": 1},
    }


async def test_without_evidence_they_are_the_closed_book_answer() -> None:
    made, ask = await texts(two_samples(Retrieval(status="not_applicable")))
    assert made["input_rag", 1].text == made["output_rag", 1].text == "A0."
    assert not {"input_rag", "output_rag"} & {call["task"] for call in ask.asked}


async def test_a_failure_fails_one_text() -> None:
    made, _ = await texts(two_samples(), refuse="output_rag")
    failed = {way for way, text in made.items() if text.failure is not None}
    assert failed == {("output_rag", 1)}
    assert made["output_rag", 1].text == ""


async def test_one_sample_needs_its_verdicts() -> None:
    given = two_samples()
    bare = given.claims[0].model_copy(update={"verdict": None})
    made, _ = await texts(given.model_copy(update={"claims": (bare, *given.claims[1:])}))
    assert ("simulrag", 1) not in made


@pytest.mark.parametrize(("budget", "count"), [(0, 0), (25, 10), (50, 20), (100, 20)])
def test_one_sample_spends_the_budget_inside_the_boundary(budget: float, count: int) -> None:
    # 20 questions, 2 claims of the first sample each, one of them inside the boundary.
    answers = [two_samples().model_copy(update={"question_id": f"q{i}"}) for i in range(20)]
    pool = [candidates_of([one]) for one in answers]
    firsts = [first_sample(one) for one in answers]
    chosen = first_sample_selection(pool, firsts, budget_percent=budget, by_question=False, seed=3)
    assert sum(map(len, chosen)) == count
    assert {i for own in chosen for i in own} <= {0}
    assert chosen == first_sample_selection(
        pool, firsts, budget_percent=budget, by_question=False, seed=3
    )
