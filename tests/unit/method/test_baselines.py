"""Answers to compare with: what they call, what they share, and SimulRAG from one sample."""

from __future__ import annotations

import pytest

from simulrag.errors import ModelUnavailable
from simulrag.method.baselines import (
    baseline_ways,
    final_texts,
    first_sample,
    first_sample_selection,
    first_sample_way,
)
from simulrag.method.selection import candidates_of
from simulrag.method.settings import Merging, MethodSettings
from simulrag.records import (
    Answer,
    Claim,
    Evidence,
    FinalText,
    Line,
    Retrieval,
    Selection,
    ToolCall,
    Verdict,
)
from simulrag.testing import ScriptedModel

RUN = Evidence(
    simulator="s", call=ToolCall(tool="t", arguments={}), seed=0, outputs={}, text="The evidence."
)


def model(refuse: str = "") -> ScriptedModel:
    """Answers each task in a way that shows what it was given."""

    def reply(task: str, values: dict[str, object]) -> object:
        match task:
            case _ if task == refuse:
                return ModelUnavailable(f"{task}: no reply")
            case "final":
                return " / ".join(values["claims"])  # type: ignore[arg-type]
            case "input_rag":
                return f"Grounded {values['sample_index']}."
            case "output_rag":
                return f"Revised {values['answer']}"
            case "decompose":
                return {"claims": [{"claim": values["answer"]}]}
            case "merge":
                return {"pairs": []}
        raise AssertionError(task)

    return ScriptedModel(by_task=reply)


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
            status="retrieved" if found else "not_applicable", evidence=(RUN,) if found else ()
        ),
        closed_book=("A0.", "A1."),
        claims=(
            claim("One.", 0, updated="One, mended."),
            claim("Two.", 1, updated="Two, mended."),
            claim("Three.", 0, 1, boundary=False),
        ),
    )


async def texts(
    given: Answer, refuse: str = "", merging: Merging = "tree"
) -> tuple[dict[tuple[str, int], FinalText], ScriptedModel]:
    ask = model(refuse)
    line = Line(method="simulrag", samples=2, budget_percent=25, kappa=0)
    choice = Selection(line=line, selected=(0,), first_sample=(0,))
    ways = baseline_ways("q?", given, MethodSettings(merging=merging))
    made = await final_texts([*ways, *first_sample_way("q?", given, choice)], ask)
    return {(text.line.method, text.line.samples): text for text in made}, ask


async def test_each_by_its_own_way() -> None:
    made, _ = await texts(answer())
    assert {line: text.text for line, text in made.items()} == {
        ("input_rag", 1): "Grounded 0.",
        ("output_rag", 1): "Revised A0.",
        ("closed_book", 2): "One. / Two. / Three.",
        ("input_rag", 2): "Grounded 0. / Grounded 1.",
        ("output_rag", 2): "Revised A0. / Revised A1.",
        ("simulrag", 1): "One, mended. / Three.",
    }
    assert made["simulrag", 1].line.budget_percent == 25
    assert made["closed_book", 2].line.budget_percent is None


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
    assert not {"input_rag", "output_rag"} & {call["task"] for call in ask.asked}


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
def test_one_sample_spends_the_budget_inside_the_boundary(budget: float, count: int) -> None:
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
    _, ask = await texts(given, refuse="input_rag", merging=merging)
    merges = [call for call in ask.asked if call["task"] == "merge"]
    assert [len(call["existing"]) for call in merges] == sizes  # type: ignore[arg-type]
