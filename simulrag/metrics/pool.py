"""A domain's claims and what is known about each, ready to be counted.

A failure is never a value: a claim whose verification or label failed takes part in no metric, and
the coverage beside every metric falls instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulrag.errors import InputError
from simulrag.method.selection import DECIDED, Candidates, candidates_of
from simulrag.records import Answer, Claim, Label, LabelValue, claim_hash

LabelLookup = Mapping[tuple[str, str], LabelValue | None]

PARTLY_VERIFIED = "answer.verify: selected verified only some claims"
"""Why no method that verifies claims can be measured on such answers."""


@dataclass(frozen=True)
class ClaimPool:
    """All claims of the questions that were answered, one entry a claim in every array.

    ``before`` and ``after``: the label of the text before and after its update. ``decided``:
    verification said aligned or contradicted. ``usable``: nothing about the claim failed.
    ``partly_verified``: verification was asked for some claims only, those that UE+SBA selected.
    Another method's claims have no verdict then, so only the labels before it can be measured, and
    a claim is usable where that one exists.
    ``scenario`` and ``question`` are indices below ``scenarios`` and ``questions``, which count
    failed questions too. ``coverage``: the mean over all questions of the share of its claims that
    are usable, a failed question counting 0.
    """

    domain: str
    answers: tuple[Answer, ...]
    claims: tuple[Claim, ...]
    before: NDArray[np.str_]
    after: NDArray[np.str_]
    decided: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    scenario: NDArray[np.int64]
    question: NDArray[np.int64]
    scenarios: int
    questions: int
    coverage: float | None
    partly_verified: bool = False

    def candidates(self, centrality: str) -> Candidates:
        """The pool as selection sees it."""
        return candidates_of(self.answers, centrality)

    def asked(self, field: str) -> bool:
        """Whether any claim has a ``verbalized`` or ``boundary`` answer."""
        return any(getattr(claim, field) is not None for claim in self.claims)


def label_lookup(labels: Iterable[Label]) -> LabelLookup:
    """Labels by question and claim hash. Raises InputError where two rows contradict each other."""
    found: dict[tuple[str, str], LabelValue | None] = {}
    for label in labels:
        key = (label.question_id, label.claim_hash)
        if found.setdefault(key, label.label) != label.label:
            raise InputError(
                f"labels: question '{label.question_id}' has two different judge labels for "
                f"'{label.text[:60]}': remove one"
            )
    return found


def scenario_index(
    questions: Sequence[str], scenario_of: Mapping[str, str]
) -> tuple[NDArray[np.int64], int]:
    """The index of every question's scenario, and how many distinct ones there are."""
    missing = [question for question in questions if question not in scenario_of]
    if missing:
        raise InputError(
            f"question '{missing[0]}' has an answer and is not in the benchmark: "
            "answer and benchmark files must belong together"
        )
    number: dict[str, int] = {}
    indices = [number.setdefault(scenario_of[q], len(number)) for q in questions]
    return np.array(indices, dtype=np.int64), len(number)


def pool_of(
    domain: str, answers: Sequence[Answer], labels: LabelLookup, scenario_of: Mapping[str, str]
) -> ClaimPool:
    """The claims of one domain's answers, in the answers' order.

    Raises InputError for a question answered twice or absent from ``scenario_of``.
    """
    ids = [answer.question_id for answer in answers]
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise InputError(f"answers: question '{twice}' is there twice: remove one row")
    scenario, scenarios = scenario_index(ids, scenario_of)
    rows = [
        (index, answer, claim)
        for index, answer in enumerate(answers)
        if answer.failure is None
        for claim in answer.claims
    ]
    claims = tuple(claim for _, _, claim in rows)
    question = np.array([index for index, _, _ in rows], dtype=np.int64)
    before = [labels.get((a.question_id, claim_hash(c.text))) for _, a, c in rows]
    after = [labels.get((a.question_id, claim_hash(c.updated_text))) for _, a, c in rows]
    asked = [
        field
        for field in ("verbalized", "boundary")
        if any(getattr(c, field) is not None for c in claims)
    ]
    partly = any(_checkable(answer) and claim.verdict is None for _, answer, claim in rows)
    usable = np.array(
        [
            first is not None
            and (
                partly
                or (
                    second is not None
                    and _verified(answer, claim)
                    and all(getattr(claim, field) is not None for field in asked)
                )
            )
            for (_, answer, claim), first, second in zip(rows, before, after, strict=True)
        ],
        dtype=bool,
    )
    return ClaimPool(
        domain=domain,
        answers=tuple(answers),
        claims=claims,
        before=np.array([label or "" for label in before], dtype=np.str_),
        after=np.array([label or "" for label in after], dtype=np.str_),
        decided=np.array([_decided(claim) for claim in claims], dtype=bool),
        usable=usable,
        scenario=scenario[question],
        question=question,
        scenarios=scenarios,
        questions=len(answers),
        coverage=_coverage(answers, question, usable),
        partly_verified=partly,
    )


def _decided(claim: Claim) -> bool:
    return claim.verdict is not None and claim.verdict.status in DECIDED


def _checkable(answer: Answer) -> bool:
    return answer.retrieval is not None and bool(answer.retrieval.evidence)


def _verified(answer: Answer, claim: Claim) -> bool:
    """Whether verification came to an end; with no evidence there is nothing that could fail."""
    if not _checkable(answer):
        return True
    return claim.verdict is not None and claim.verdict.status != "error"


def _coverage(
    answers: Sequence[Answer], question: NDArray[np.int64], usable: NDArray[np.bool_]
) -> float | None:
    if not answers:
        return None
    size = np.bincount(question, minlength=len(answers))
    good = np.bincount(question[usable], minlength=len(answers))
    complete = np.array([answer.failure is None for answer in answers])
    # An answered question without claims lost none.
    share = np.where(size > 0, good / np.maximum(size, 1), complete)
    return float(share.mean())
