"""Which claims people are asked to label, and in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from simulrag.errors import InputError
from simulrag.records import Answer, Claim, Label, Question, Record, claim_hash


class OfferedClaim(Record):
    """A claim to label, with what a person needs to judge it.

    It holds neither the judge's label nor the verdict: a person who saw them would not be a second
    opinion. ``evidence``: the simulator runs that the reference was written from.
    """

    question_id: str
    domain: str
    claim_hash: str
    text: str
    question: str
    reference: str
    evidence: str


def offers(
    questions: Sequence[Question],
    answers: Sequence[Answer],
    labels: Sequence[Label],
    *,
    sample: int | None = None,
    seed: int = 0,
) -> list[OfferedClaim]:
    """The claims to offer, each text of a question once, at most ``sample`` of them.

    Claims before and after verification, and statements, that went to the judge: those that it left
    undecided or failed at come first, then the others so that any beginning of the list holds each
    verdict in proportion (the text after an edit is a stratum of its own). Order and choice are
    fixed by ``seed``, and a larger sample begins with the smaller one. Raises InputError where an
    answer's question is not among ``questions``.
    """
    if sample is not None and sample < 1:
        raise InputError(f"{sample} is not a sample of claims: give 1 or more")
    asked = {question.question_id: question for question in questions}
    judged = {(label.question_id, label.claim_hash): label for label in labels}
    open_ones: list[OfferedClaim] = []
    strata: dict[str, list[OfferedClaim]] = {}
    for answer in answers:
        if answer.failure is not None:
            continue
        if answer.question_id not in asked:
            raise InputError(
                f"question '{answer.question_id}' has an answer and is not in the benchmark: "
                "answer and benchmark files must belong together"
            )
        for text, stratum in _texts(answer).items():
            label = judged.get((answer.question_id, claim_hash(text)))
            if label is None:
                continue
            offer = _offer(asked[answer.question_id], answer, text)
            if label.label in (None, "undecided"):
                open_ones.append(offer)
            else:
                strata.setdefault(stratum, []).append(offer)
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    rng.shuffle(open_ones)
    return [*open_ones, *_spread(strata, rng)][:sample]


def _texts(answer: Answer) -> dict[str, str]:
    """Each distinct text of a question and its stratum; the first that has it decides."""
    texts: dict[str, tuple[str, str]] = {}
    for claim in answer.claims:
        texts.setdefault(claim_hash(claim.text), (claim.text, _status(claim)))
        if claim.after != claim.text:
            updated = claim.after
            texts.setdefault(claim_hash(updated), (updated, f"{_status(claim)}, after"))
    for one in answer.final.statements:
        texts.setdefault(claim_hash(one.text), (one.text, one.standing))
    return dict(texts.values())


def _status(claim: Claim) -> str:
    return "not verified" if claim.verdict is None else claim.verdict.status


def _offer(question: Question, answer: Answer, text: str) -> OfferedClaim:
    runs = question.evidence or answer.evidence
    return OfferedClaim(
        question_id=question.question_id,
        domain=question.domain,
        claim_hash=claim_hash(text),
        text=text,
        question=question.text,
        reference=question.reference_answer,
        evidence="\n\n".join(run.text for run in runs),
    )


def _spread(strata: Mapping[str, list[OfferedClaim]], rng: random.Random) -> list[OfferedClaim]:
    """Each stratum shuffled and laid out evenly over the whole: a beginning is in proportion."""
    placed: list[tuple[float, str, OfferedClaim]] = []
    for name in sorted(strata):
        group = strata[name]
        rng.shuffle(group)
        placed += [((rank + 0.5) / len(group), name, one) for rank, one in enumerate(group)]
    return [one for _, _, one in sorted(placed, key=lambda item: item[:2])]
