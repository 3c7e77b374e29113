"""Labels: is a claim true by the reference? Each (question, claim text) is judged once.

The judge sees question, reference and claim alone: no evidence, no method, no verdict.
"""

from __future__ import annotations

from simulrag.errors import ModelError
from simulrag.method.concurrency import together
from simulrag.method.decomposition import decompose_final
from simulrag.models.base import Asker
from simulrag.models.replies import Judgement
from simulrag.records import Answer, FinalClaims, FinalText, Label, Question, claim_hash


async def final_claims(question: Question, answer: Answer, ask: Asker) -> tuple[FinalClaims, ...]:
    """Every final answer as claims: SimulRAG's, one closed-book sample's and the baselines'.

    All go through the same prompt. A text that failed stays failed and is asked nothing.
    """
    texts = [
        FinalText(method="simulrag", samples=max(1, len(answer.closed_book)), text=answer.final),
        *(FinalText(method="closed_book", samples=1, text=text) for text in answer.closed_book[:1]),
        *answer.baselines,
    ]

    async def one(final: FinalText) -> FinalClaims:
        claims: tuple[str, ...] = ()
        failure = final.failure
        if failure is None:
            try:
                claims = await decompose_final(question.text, final.text, ask)
            except ModelError as error:
                failure = str(error)
        return FinalClaims(
            question_id=question.question_id,
            method=final.method,
            samples=final.samples,
            claims=claims,
            failure=failure,
        )

    return tuple(await together(one(final) for final in texts))


def texts_to_label(answer: Answer, finals: tuple[FinalClaims, ...]) -> tuple[str, ...]:
    """Every claim text of a question once: before and after its update, and the final answers'."""
    texts = [text for claim in answer.claims for text in (claim.text, claim.updated_text)]
    texts += [text for final in finals for text in final.claims]
    return tuple({claim_hash(text): text for text in reversed(texts)}.values())[::-1]


async def label_claims(
    question: Question, texts: tuple[str, ...], ask: Asker, tolerance: str | float
) -> tuple[Label, ...]:
    """One label a text. A judge that failed leaves no label and its reason, never 'false'."""

    async def one(text: str) -> Label:
        base = {"question_id": question.question_id, "claim_hash": claim_hash(text), "text": text}
        try:
            completion = await ask.ask(
                "label",
                Judgement,
                question=question.text,
                reference=question.reference_answer,
                claim=text,
                tolerance=tolerance,
            )
        except ModelError as error:
            return Label.model_validate({**base, "label": None, "failure": str(error)})
        judgement: Judgement = completion.parsed
        return Label.model_validate({**base, "label": judgement.label, "reason": judgement.reason})

    return tuple(await together(one(text) for text in texts))
