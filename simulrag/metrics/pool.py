"""A domain's claims and what is known about each, as arrays.

A failure is never a value: a claim whose verification or label failed takes part in no metric, and
the coverage beside every metric falls instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulrag.method.selection import Candidates
from simulrag.metrics.intervals import Floats, Ints
from simulrag.records import DECIDED

if TYPE_CHECKING:
    import polars as pl

PARTLY_VERIFIED = "answer.verify: selected verified only some claims"
"""Why no method that verifies claims can be measured on such answers."""

NO_LABEL, TRUE, FALSE, UNDECIDED = range(4)
_NOT_ASKED = -1


def _codes(labels: pl.Series) -> NDArray[np.int8]:
    """Labels as numbers."""
    codes = {"true": TRUE, "false": FALSE, "undecided": UNDECIDED}
    return labels.cast(str).replace_strict(codes, default=NO_LABEL).to_numpy().astype(np.int8)


@dataclass(frozen=True)
class ClaimPool:
    """All claims of the questions that were answered, one entry a claim in every array.

    ``before`` and ``after``: the label of the text before and after its update, NO_LABEL, TRUE,
    FALSE or UNDECIDED. ``decided``: verification said aligned or contradicted; ``verified``: it
    came to an end; ``judged``: it was asked. ``boundary`` is 1, 0 or -1 (not asked), ``verbalized``
    NaN where it was not asked. ``confidence``: before verification, by centrality.
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

    @classmethod
    def of(
        cls,
        claims: pl.DataFrame,
        centralities: Sequence[str],
        question: Sequence[int],
        scenario: Ints,
    ) -> ClaimPool:
        """Pool the frame of claims, by the question of each and the scenario of each question."""
        verdict, places = claims["verdict"], np.array(question, dtype=np.int64)
        return cls(
            confidence={name: claims[name].to_numpy() for name in centralities},
            verbalized=claims["verbalized"].fill_null(float("nan")).to_numpy(),
            boundary=claims["boundary"].cast(int).fill_null(_NOT_ASKED).to_numpy().astype(np.int8),
            checkable=claims["checkable"].to_numpy(),
            before=_codes(claims["label_before"]),
            after=_codes(claims["label_after"]),
            judged=verdict.is_not_null().to_numpy(),
            verified=(verdict != "error").fill_null(False).to_numpy(),
            decided=verdict.is_in(DECIDED).fill_null(False).to_numpy(),
            question=places,
            scenario=scenario[places],
        )

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
        """Show the pool as selection sees it."""
        return Candidates(
            question=self.question.tolist(),
            confidence=self.confidence[centrality].tolist(),
            verbalized=[None if np.isnan(value) else value for value in self.verbalized.tolist()],
            boundary=[None if code == _NOT_ASKED else code == 1 for code in self.boundary.tolist()],
            checkable=self.checkable.tolist(),
        )

    def coverage(self, completed: Sequence[bool]) -> float | None:
        """Average over all questions the share of its claims that are usable; a failed one: 0.

        ``completed``: one entry a question. An answered question without claims lost none.
        """
        if not completed:
            return None
        size = np.bincount(self.question, minlength=len(completed))
        good = np.bincount(self.question[self.usable], minlength=len(completed))
        share = np.where(size > 0, good / np.maximum(size, 1), np.asarray(completed))
        return float(share.mean())
