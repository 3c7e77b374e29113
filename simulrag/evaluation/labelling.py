"""Labels: is a claim true by the reference? Each (question, claim text) is judged once.

The judge sees question, reference and claim alone: no evidence, no method, no verdict.
"""

from __future__ import annotations

from simulrag.errors import ModelError
from simulrag.method.concurrency import together
from simulrag.method.decomposition import decompose_final
from simulrag.models.base import Asker
from simulrag.models.replies import Judgement
from simulrag.records import Answer, FinalClaims, Label, Question, claim_hash


async def final_claims(question: Question, answer: Answer, ask: Asker) -> tuple[FinalClaims, ...]:
    """The final answers of SimulRAG and of one closed-book sample, each as claims."""
    closed_book = answer.closed_book[0] if answer.closed_book else ""

    async def one(method: str, text: str) -> FinalClaims:
        try:
            claims = await decompose_final(question.text, text, ask)
        except ModelError as error:
            return FinalClaims.model_validate(
                {"question_id": question.question_id, "method": method, "failure": str(error)}
            )
        return FinalClaims.model_validate(
            {"question_id": question.question_id, "method": method, "claims": claims}
        )

    return tuple(await together([one("simulrag", answer.final), one("closed_book", closed_book)]))


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
