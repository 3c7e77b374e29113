"""A domain's claims and what is known about each, as arrays.

A failure is never a value: a claim whose verification or label failed takes part in no metric, and
the coverage beside every metric falls instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulrag.errors import InputError
from simulrag.method.selection import Candidates, confidence_before
from simulrag.metrics.intervals import Floats, Ints
from simulrag.records import DECIDED, VOTES, Answer, Claim, LabelValue, claim_hash

LabelRow = tuple[str, str, LabelValue | None]
"""Question id, claim hash and label; None where the judge failed."""
LabelLookup = Mapping[tuple[str, str], LabelValue | None]

PARTLY_VERIFIED = "answer.verify: selected verified only some claims"
"""Why no method that verifies claims can be measured on such answers."""

NO_LABEL, TRUE, FALSE, UNDECIDED = range(4)
_CODE: dict[LabelValue | None, int] = {
    None: NO_LABEL,
    "true": TRUE,
    "false": FALSE,
    "undecided": UNDECIDED,
}
_NOT_ASKED = -1


def label_lookup(labels: Iterable[LabelRow]) -> LabelLookup:
    """Labels by question and claim hash. Raises InputError where two rows contradict each other."""
    found: dict[tuple[str, str], LabelValue | None] = {}
    for question, claim, label in labels:
        if found.setdefault((question, claim), label) != label:
            raise InputError(
                f"labels: question '{question}' has two different judge labels for the claim "
                f"{claim}: remove one"
            )
    return found


@dataclass(frozen=True)
class ClaimPool:
    """All claims of the questions that were answered, one entry a claim in every array.

    ``before`` and ``after``: the label of the text before and after its update, NO_LABEL, TRUE,
    FALSE or UNDECIDED. ``decided``: verification said aligned or contradicted; ``verified``: it
    came to an end; ``judged``: it was asked. ``boundary`` is 1, 0 or -1 (not asked), ``verbalized``
    NaN where it was not asked. ``confidence``: before verification, by centrality and where the
    answers voted, by votes.
    ``question`` and ``scenario``: indices into a domain's answers and scenarios.
    """

    confidence: Mapping[str, Floats]
    verbalized: Floats
    boundary: NDArray[np.int8]
    checkable: NDArray[np.bool_]
    before: NDArray[np.int8]
    after: NDArray[np.int8]
    judged: NDArray[np.bool_]
    verified: NDArray[np.bool_]
    decided: NDArray[np.bool_]
    question: Ints
    scenario: Ints

    def __len__(self) -> int:
        return len(self.question)

    @cached_property
    def partly_verified(self) -> bool:
        """Verification was asked for some claims only, those that UE+SBA selected.

        Another method's claims have no verdict then, so only the labels before it can be measured,
        and a claim is usable where that one exists.
        """
        return bool((self.checkable & ~self.judged).any())

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Nothing about the claim failed."""
        usable: NDArray[np.bool_] = self.before != NO_LABEL
        if self.partly_verified:
            return usable
        # With no evidence there is nothing about verification that could fail.
        usable = usable & (self.after != NO_LABEL) & (~self.checkable | self.verified)
        if self.verbalized_asked:
            usable = usable & ~np.isnan(self.verbalized)
        return usable & (self.boundary != _NOT_ASKED) if self.boundary_asked else usable

    @cached_property
    def verbalized_asked(self) -> bool:
        """Whether any claim has a stated confidence."""
        return bool((~np.isnan(self.verbalized)).any())

    @cached_property
    def boundary_asked(self) -> bool:
        """Whether the simulator boundary was asked for any claim."""
        return bool((self.boundary != _NOT_ASKED).any())

    def candidates(self, centrality: str) -> Candidates:
        """The pool as selection sees it."""
        return Candidates(
            question=self.question.tolist(),
            confidence=self.confidence[centrality].tolist(),
            verbalized=[None if np.isnan(value) else value for value in self.verbalized.tolist()],
            boundary=[None if one == _NOT_ASKED else one == 1 for one in self.boundary.tolist()],
            checkable=self.checkable.tolist(),
        )

    def coverage(self, completed: Sequence[bool]) -> float | None:
        """The mean over all questions of the share of its claims that are usable; a failed one: 0.

        ``completed``: one entry a question. An answered question without claims lost none.
        """
        if not completed:
            return None
        size = np.bincount(self.question, minlength=len(completed))
        good = np.bincount(self.question[self.usable], minlength=len(completed))
        share = np.where(size > 0, good / np.maximum(size, 1), np.asarray(completed))
        return float(share.mean())


@dataclass
class PoolBuilder:
    """Takes one answer after another and keeps numbers only."""

    centralities: Sequence[str]
    confidence: list[list[float]] = field(default_factory=list)
    votes: list[float | None] = field(default_factory=list)
    numbers: list[tuple[float, int, bool, int, int, bool, bool, bool, int, int]] = field(
        default_factory=list
    )

    def add(self, answer: Answer, labels: LabelLookup, question: int, scenario: int) -> None:
        """Take the claims of a complete answer. Raises InputError for a missing confidence."""
        checkable = answer.retrieval is not None and bool(answer.retrieval.evidence)
        for claim in answer.claims:
            self.confidence.append([confidence_before(claim, name) for name in self.centralities])
            self.votes.append(claim.confidence.get(VOTES))
            before = labels.get((answer.question_id, claim_hash(claim.text)))
            after = labels.get((answer.question_id, claim_hash(claim.updated_text)))
            self.numbers.append(
                (
                    float("nan") if claim.verbalized is None else claim.verbalized,
                    _NOT_ASKED if claim.boundary is None else int(claim.boundary),
                    checkable,
                    _CODE[before],
                    _CODE[after],
                    claim.verdict is not None,
                    *_verdict(claim),
                    question,
                    scenario,
                )
            )

    def build(self) -> ClaimPool:
        """The arrays. Shares of the votes are a confidence where every claim has one."""
        scores = np.array(self.confidence, dtype=float).reshape(-1, len(self.centralities))
        confidence = dict(zip(self.centralities, scores.T, strict=True))
        shares = [share for share in self.votes if share is not None]
        if shares and len(shares) == len(self.votes):
            confidence[VOTES] = np.array(shares, dtype=float)
        columns = list(zip(*self.numbers, strict=True)) or [()] * 10
        types = (float, np.int8, bool, np.int8, np.int8, bool, bool, bool, np.int64, np.int64)
        (
            verbalized,
            boundary,
            checkable,
            before,
            after,
            judged,
            verified,
            decided,
            question,
            scenario,
        ) = (np.array(column, dtype=kind) for column, kind in zip(columns, types, strict=True))
        return ClaimPool(
            confidence=confidence,
            verbalized=verbalized,
            boundary=boundary,
            checkable=checkable,
            before=before,
            after=after,
            judged=judged,
            verified=verified,
            decided=decided,
            question=question,
            scenario=scenario,
        )


def _verdict(claim: Claim) -> tuple[bool, bool]:
    """Whether verification came to an end, and whether it decided the claim."""
    if claim.verdict is None:
        return False, False
    return claim.verdict.status != "error", claim.verdict.status in DECIDED
