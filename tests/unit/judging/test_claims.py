"""Labels: each claim text judged once, by itself or beside others; what a failure leaves."""

from __future__ import annotations

from simulrag.errors import ModelUnavailable
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.records import FinalClaims, FinalText
from simulrag.testing import ScriptedModel
from tests.making import answer, claim, corrected, line, question

QUESTION = question(text="Deep?", reference_answer="12 m.")
LINE = line("simulrag", 2, 100, 0.3)
QUARTER = line("simulrag", 2, 25)
RAG = line("input_rag")
TRUE = {"label": "true", "reason": "stated"}
FALSE = {"label": "false", "reason": "another number"}


ANSWER = answer(
    "q",
    [claim("It is 9 m deep.", verdict=corrected("It is 12 m deep.")), claim("It is cold.")],
    closed_book=("First sample.", "Second sample."),
    final={"line": LINE, "text": "The final answer."},
    baselines=(
        FinalText(line=QUARTER, text="At a quarter."),
        FinalText(line=RAG, failure="no reply"),
    ),
)


async def test_every_final_answer_is_decomposed_with_its_line() -> None:
    ask = ScriptedModel(by_task=lambda _, values: {"claims": [{"claim": str(values["answer"])}]})
    finals = await final_claims(QUESTION, ANSWER, ask)
    assert [(final.line, final.claims, final.failure) for final in finals] == [
        (LINE, ("The final answer.",), None),
        (line("closed_book"), ("First sample.",), None),
        (QUARTER, ("At a quarter.",), None),
        (RAG, (), "no reply"),
    ]
    assert {call["task"] for call in ask.asked} == {"evaluation_decompose"}


def test_each_text_is_labelled_once() -> None:
    final = FinalClaims(question_id="q", line=LINE, claims=("it is  COLD.", "It is blue."))
    assert texts_to_label(ANSWER, (final,)) == (
        "It is 9 m deep.",
        "It is 12 m deep.",
        "It is cold.",
        "It is blue.",
    )


async def test_a_judge_that_fails_leaves_no_label() -> None:
    ask = ScriptedModel(TRUE, ModelUnavailable("no reply"), FALSE)
    labels = await label_claims(QUESTION, ["a", "b", "c"], ask, "rounding")
    assert [(item.label, item.failure) for item in labels] == [
        ("true", None),
        (None, "no reply"),
        ("false", None),
    ]
    assert ask.asked[0]["reference"] == "12 m."
    assert set(ask.asked[0]) == {
        "task",
        "sample_index",
        "question",
        "reference",
        "claim",
        "tolerance",
    }


async def test_several_claims_a_call_are_judged_by_number() -> None:
    ask = ScriptedModel(
        {"claims": [{"index": 0, **TRUE}]},
        {"claims": [{"index": 1, **FALSE}, {"index": 0, **TRUE}]},
    )
    labels = await label_claims(QUESTION, ["a", "b", "c"], ask, "rounding", claims_per_call=2)
    assert [call["claims"] for call in ask.asked] == [["a"], ["b", "c"]]
    assert [(item.text, item.label) for item in labels] == [
        ("a", "true"),
        ("b", "true"),
        ("c", "false"),
    ]


async def test_a_call_of_several_that_fails_is_the_failure_of_each() -> None:
    ask = ScriptedModel(ModelUnavailable("no reply"))
    labels = await label_claims(QUESTION, ["a", "b"], ask, "rounding", claims_per_call=9)
    assert [(item.label, item.failure) for item in labels] == [(None, "no reply")] * 2
