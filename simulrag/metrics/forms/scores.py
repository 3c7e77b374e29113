"""The measures of single answers, which tables are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from simulrag.metrics.forms.bleu import bleu, bleu_char
from simulrag.metrics.forms.exact import exact, exact_folded
from simulrag.metrics.forms.factual import Factual
from simulrag.metrics.forms.similarity import TextEncoder, bert_scores, phrase_similarities
from simulrag.questions.forms.answering import Condition, FormAnswer
from simulrag.questions.forms.records import Form, Formed, Level
from simulrag.records import Record

METRICS: dict[Form, tuple[str, ...]] = {
    "choice": ("accuracy",),
    "freeform": ("bleu", "bleu_char", "bertscore", "fa", "p_supports", "label_mass"),
    "cloze": ("exact", "exact_folded", "ps"),
}
"""What each form is measured by. An encoder's or an evaluator's name is added in the tables."""


class FormScore(Record):
    """One answer's measures, by name; None where there is no value, with the reason of it.

    ``reference`` and ``answer``: the texts that are compared; "" of a failed answer.
    """

    question_id: str
    scenario_id: str
    form: Form
    level: Level
    condition: Condition
    text: str
    reference: str
    answer: str = ""
    values: dict[str, float | None] = Field(default={})
    reasons: dict[str, str] = Field(default={})
    failure: str | None = None


def scored(
    pairs: Sequence[tuple[Formed, FormAnswer]],
    factual: Mapping[int, Factual],
    encoder: TextEncoder | str,
) -> list[FormScore]:
    """Each answer's measures. ``factual``: by index; ``encoder``: or why there is none."""
    similar = {} if isinstance(encoder, str) else _similar(pairs, encoder)
    found = []
    for index, (question, answer) in enumerate(pairs):
        row = FormScore(
            question_id=question.question_id,
            scenario_id=question.scenario_id,
            form=question.form,
            level=question.level,
            condition=answer.condition,
            text=question.text,
            reference=question.answer_text,
            answer=answer.answer,
            failure=answer.failure,
        )
        if answer.failure is None:
            values, reasons = _values(row, factual.get(index), similar.get(index), encoder)
            row = row.model_copy(update={"values": values, "reasons": reasons})
        found.append(row)
    return found


def _values(
    row: FormScore,
    factual: Factual | None,
    similar: float | None,
    encoder: TextEncoder | str,
) -> tuple[dict[str, float | None], dict[str, str]]:
    pair = (row.reference, row.answer)
    no_vectors = encoder if isinstance(encoder, str) else "a text without words"
    if row.form == "choice":
        return {"accuracy": float(row.reference == row.answer)}, {}
    if row.form == "cloze":
        same = {"exact": float(exact(*pair)), "exact_folded": float(exact_folded(*pair))}
        return {**same, "ps": similar}, {} if similar is not None else {"ps": no_vectors}
    told = factual or Factual(reason="not asked for")
    values: dict[str, float | None] = {
        "bleu": bleu(*pair),
        "bleu_char": bleu_char(*pair),
        "bertscore": similar,
        "fa": told.accuracy,
        "p_supports": told.p_supports,
        "label_mass": told.label_mass,
    }
    reasons = {} if similar is not None else {"bertscore": no_vectors}
    if told.reason:
        reasons |= {"fa": told.reason, "p_supports": told.reason}
    if told.label_mass is None:
        reasons["label_mass"] = told.reason or "sampled replies have none"
    return values, reasons


def _similar(
    pairs: Sequence[tuple[Formed, FormAnswer]], encoder: TextEncoder
) -> dict[int, float | None]:
    """Phrase similarity of clozes and BERTScore of freeform answers, by index."""
    there = [(i, asked, told) for i, (asked, told) in enumerate(pairs) if told.failure is None]
    clozes = [one for one in there if one[1].form == "cloze"]
    free = [one for one in there if one[1].form == "freeform"]
    phrases = [(asked.text, asked.answer_text, told.answer) for _, asked, told in clozes]
    texts = [(asked.answer_text, told.answer) for _, asked, told in free]
    found: list[float | None] = [*phrase_similarities(encoder, phrases)]
    found += bert_scores(encoder, texts)
    return {one[0]: value for one, value in zip([*clozes, *free], found, strict=True)}
