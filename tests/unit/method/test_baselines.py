"""Baselines: what they call, what they share, and SimulRAG from one sample."""

from __future__ import annotations

from typing import Any

import pytest

from simulrag.errors import ModelUnavailable
from simulrag.method.baselines import baseline_texts, first_sample, first_sample_selection
from simulrag.method.merging import Merging
from simulrag.method.selection import candidates_of
from simulrag.models.base import Completion
from simulrag.models.replies import ClaimPairs, DecomposedClaim, Decomposition
from simulrag.records import Answer, Claim, FinalText, Retrieval, Usage, Verdict
from tests.unit.metrics.synthetic import evidence


class Scripted:
    """Answers each task in a way that shows what it was given."""

    def __init__(self, refuse: str = "") -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refuse = refuse

    async def ask(self, task: str, schema: Any = None, **values: Any) -> Completion:
        self.asked.append((task, values))
        if task == self.refuse:
            raise ModelUnavailable(f"{task}: no reply")
        text = f"{task} text"
        parsed: Decomposition | ClaimPairs | None = None
        if task == "final":
            text = " / ".join(values["claims"])
        elif task == "input_rag":
            text = f"Grounded {values['sample_index']}."
        elif task == "output_rag":
            text = f"Revised {values['answer']}"
        elif task == "decompose":
            parsed = Decomposition(claims=[DecomposedClaim(claim=values["answer"])])
        elif task == "merge":
            parsed = ClaimPairs(pairs=[])
        return Completion(text, parsed, Usage(calls=1), "scripted", cached=False)


def claim(text: str, *samples: int, boundary: bool = True, updated: str | None = None) -> Claim:
    status = "contradicted" if updated else "aligned"
    return Claim(
        text=text,
        sources=tuple((sample, 0) for sample in samples),
        confidence={"closeness": 0.5},
        boundary=boundary,
        verdict=Verdict.model_validate({"status": status, "updated_claim": updated}),
    )


def answer(found: bool = True) -> Answer:
    return Answer(
        question_id="q",
        domain="urban",
        retrieval=Retrieval(
            status="retrieved" if found else "not_applicable",
            evidence=(evidence(),) if found else (),
        ),
        closed_book=("A0.", "A1."),
        claims=(
            claim("One.", 0, updated="One, mended."),
            claim("Two.", 1, updated="Two, mended."),
            claim("Three.", 0, 1, boundary=False),
        ),
    )


async def texts(
    given: Answer, chosen: tuple[int, ...] = (0,), refuse: str = ""
) -> tuple[dict[tuple[str, int], FinalText], Scripted]:
    ask = Scripted(refuse)
    made = await baseline_texts("q?", given, chosen, ask, limit=12)
    return {(text.method, text.samples): text for text in made}, ask


async def test_each_baseline_by_its_own_way() -> None:
    made, _ = await texts(answer())
    shown = {line: text.text for line, text in made.items()}
    assert shown == {
        ("input_rag", 1): "Grounded 0.",
        ("output_rag", 1): "Revised A0.",
        ("closed_book", 2): "One. / Two. / Three.",
        ("input_rag", 2): "Grounded 0. / Grounded 1.",
        ("output_rag", 2): "Revised A0. / Revised A1.",
        ("simulrag", 1): "One, mended. / Three.",
    }


async def test_only_its_own_calls_are_counted() -> None:
    made, _ = await texts(answer())
    calls = {
        line: {task: usage.calls for task, usage in text.usage.items()}
        for line, text in made.items()
    }
    assert calls["closed_book", 2] == {"final": 1}
    assert calls["input_rag", 1] == {"input_rag": 1}
    assert calls["output_rag", 2] == {"decompose": 2, "final": 1, "merge": 1, "output_rag": 2}


async def test_without_evidence_they_are_the_closed_book_answer() -> None:
    made, ask = await texts(answer(found=False))
    assert made["input_rag", 1].text == made["output_rag", 1].text == "A0."
    assert not {"input_rag", "output_rag"} & {task for task, _ in ask.asked}


async def test_a_failure_fails_one_text() -> None:
    made, _ = await texts(answer(), refuse="output_rag")
    failed = {line for line, text in made.items() if text.failure is not None}
    assert failed == {("output_rag", 1), ("output_rag", 2)}
    assert made["output_rag", 1].text == ""


async def test_one_sample_needs_its_verdicts() -> None:
    given = answer()
    bare = given.claims[0].model_copy(update={"verdict": None})
    made, _ = await texts(given.model_copy(update={"claims": (bare, *given.claims[1:])}))
    assert ("simulrag", 1) not in made


@pytest.mark.parametrize(("budget", "count"), [(0, 0), (25, 10), (50, 20), (100, 20)])
def test_first_sample_selection_spends_the_budget_inside_the_boundary(
    budget: float, count: int
) -> None:
    # 20 questions, 2 claims of the first sample each, one of them inside the boundary.
    answers = [answer().model_copy(update={"question_id": f"q{i}"}) for i in range(20)]
    pool = [candidates_of([one]) for one in answers]
    firsts = [first_sample(one) for one in answers]
    chosen = first_sample_selection(pool, firsts, budget_percent=budget, by_question=False, seed=3)
    assert sum(map(len, chosen)) == count
    assert {i for own in chosen for i in own} <= {0}
    assert chosen == first_sample_selection(
        pool, firsts, budget_percent=budget, by_question=False, seed=3
    )


@pytest.mark.parametrize(("merging", "sizes"), [("chain", [1, 2, 3]), ("tree", [1, 1, 2])])
async def test_samples_are_merged_as_simulrag_merges_its_own(
    merging: Merging, sizes: list[int]
) -> None:
    given = answer().model_copy(update={"closed_book": ("A0.", "A1.", "A2.", "A3.")})
    ask = Scripted(refuse="input_rag")
    await baseline_texts("q?", given, (), ask, limit=12, merging=merging)
    assert [len(v["existing"]) for task, v in ask.asked if task == "merge"] == sizes
