"""Labels: is a claim true by the reference? Each (question, claim text) is judged once.

The judge sees question, reference and claim alone: no method, no verdict and no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import StrictStr

from simulrag.errors import ModelError
from simulrag.method.asking import ask_in_batches, batches, together
from simulrag.method.claims import decompose_final
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Numbered, Reply
from simulrag.records import (
    Answer,
    FinalClaims,
    FinalText,
    Label,
    Question,
    claim_hash,
)
from simulrag.stand_in import MARK, finding
from simulrag.task import Task


class Judgement(Reply):
    """Reply to ``label``."""

    label: Literal["true", "false", "undecided"]
    reason: StrictStr


class NumberedJudgement(Judgement, Numbered):
    """One claim's part of a JudgementBatch."""


class JudgementBatch(Batch):
    """Reply to ``label_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedJudgement]


Tolerance = Literal["rounding"] | float
"""A claim's own rounding, or percent of the reference."""


def _judged_alike(claim: str) -> dict[str, object]:
    label = {"right": "true", "wrong": "false", "open": "undecided"}[finding(claim)]
    return {"label": label, "reason": MARK}


LABEL = Task(
    "label", Judgement, tokens=25, stand_in=lambda prompted: _judged_alike(prompted.text("claim"))
)
LABEL_BATCH = Task(
    "label_batch",
    JudgementBatch,
    step="label",
    stand_in=lambda prompted: {
        "claims": [
            {"index": index, **_judged_alike(text)}
            for index, text in enumerate(prompted.listed("claims"))
        ]
    },
)


async def final_claims(question: Question, answer: Answer, ask: Asker) -> tuple[FinalClaims, ...]:
    """Take final answers apart: the answer's own, one closed-book sample's and the baselines'.

    All go through the same prompt. A text that failed stays failed and is asked nothing.
    """
    return tuple(await together(_final_claims(question, final, ask) for final in answer.finals))


async def _final_claims(question: Question, final: FinalText, ask: Asker) -> FinalClaims:
    decomposed = FinalClaims(
        question_id=question.question_id, line=final.line, failure=final.failure
    )
    if final.failure is not None:
        return decomposed
    try:
        claims = await decompose_final(question.text, final.text, ask)
    except ModelError as error:
        return decomposed.model_copy(update={"failure": str(error)})
    return decomposed.model_copy(update={"claims": claims})


def texts_to_label(answer: Answer, finals: tuple[FinalClaims, ...]) -> tuple[str, ...]:
    """Every claim text of a question once: before and after its update, those of the answer's
    statements, and the final answers'."""
    texts = [text for claim in answer.claims for text in (claim.text, claim.after)]
    texts += [statement.text for statement in answer.final.statements]
    texts += [text for final in finals for text in final.claims]
    distinct: dict[str, str] = {}
    for text in texts:
        distinct.setdefault(claim_hash(text), text)
    return tuple(distinct.values())


async def label_claims(
    question: Question,
    texts: Sequence[str],
    ask: Asker,
    tolerance: Tolerance,
    *,
    claims_per_call: int = 1,
) -> tuple[Label, ...]:
    """Label each text. A judge that failed leaves no label and its reason, never 'false'.

    With more ``claims_per_call`` question and reference are said once for so many texts; a call
    that failed is then the failure of each of them.
    """
    parts = await together(
        _judged(question, part, ask, tolerance, batched=claims_per_call > 1)
        for part in batches(texts, claims_per_call)
    )
    return tuple(label for part in parts for label in part)


async def _judged(
    question: Question, texts: Sequence[str], ask: Asker, tolerance: Tolerance, *, batched: bool
) -> list[Label]:
    shown: dict[str, Any] = {
        "question": question.text,
        "reference": question.reference_answer,
        "tolerance": tolerance,
    }
    judgements: Sequence[Judgement]
    try:
        if batched:
            judgements = await ask_in_batches(
                LABEL_BATCH, texts, ask, claims_per_call=len(texts), **shown
            )
        else:
            completion = await ask.ask(LABEL, claim=texts[0], **shown)
            judgements = [completion.parsed]
    except ModelError as error:
        return [_label(question, text, failure=str(error)) for text in texts]
    return [
        _label(question, text, judgement=judgement)
        for text, judgement in zip(texts, judgements, strict=True)
    ]


def _label(
    question: Question, text: str, *, judgement: Judgement | None = None, failure: str | None = None
) -> Label:
    return Label(
        question_id=question.question_id,
        claim_hash=claim_hash(text),
        text=text,
        label=None if judgement is None else judgement.label,
        reason="" if judgement is None else judgement.reason,
        failure=failure,
    )
