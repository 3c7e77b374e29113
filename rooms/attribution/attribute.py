"""Which evidence the claims of one question stand on, asked of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rooms.attribution.chances import ChanceEstimate, Chances, Item, context_of, items_of
from rooms.attribution.game import (
    FourChances,
    Value,
    Valued,
    by_source,
    leave_one_out,
    sets_asked,
    shapley,
    support_of,
)
from rooms.attribution.records import Attribution, ClaimSupport, ItemValue
from rooms.attribution.settings import AttributionParams
from simulrag.errors import ModelError
from simulrag.models.base import Asker, Counted
from simulrag.records import Answer, Standing, Verdict, VerdictStatus, claim_hash

_VERDICTS: Mapping[Standing, VerdictStatus] = {
    **dict.fromkeys(("checked", "added"), "aligned"),
    **dict.fromkeys(("corrected", "wrong"), "contradicted"),
    **dict.fromkeys(("judgement", "not_run", "beyond"), "indeterminate"),
}


class HeldClaim(NamedTuple):
    """A claim as it was drafted, with what all evidence says of it where that is known."""

    text: str
    verdict: Verdict | None
    standing: Standing | None = None


def held_claims(answer: Answer) -> list[HeldClaim]:
    """Return the statements of a text that was audited, else the claims of the published method."""
    if statements := answer.final.statements:
        return [
            HeldClaim(one.before or one.text, Verdict(status=_VERDICTS[one.standing]), one.standing)
            for one in statements
        ]
    return [HeldClaim(claim.text, claim.verdict) for claim in answer.claims]


async def attribute(
    question: str,
    answer: Answer,
    ask: Asker,
    settings: AttributionParams,
) -> Attribution:
    """Find out what each claim of ``answer`` stands on, as it was drafted.

    The draft, because its verdict by all evidence was paid for already (with one source, by
    verdicts, nothing is asked at all), and because a corrected claim is supported by construction:
    it was written from the evidence. A failed call is the result's ``failure``. Raises CallsPending
    where calls wait for a batch.
    """
    counted = Counted(ask)
    work = _OneQuestion(question, answer, counted, settings)
    result = Attribution(
        question_id=answer.question_id,
        domain=answer.domain,
        estimator=settings.estimator,
        chances=settings.chances,
        sources=tuple(dict.fromkeys(run.simulator for run in answer.evidence)),
    )
    try:
        claims = await work.claims()
    except ModelError as error:
        result = result.model_copy(update={"failure": str(error)})
    else:
        result = result.model_copy(update={"claims": claims})
    return result.model_copy(update={"usage": dict(sorted(counted.usage.items()))})


class _OneQuestion:
    """One question's claims, items and chances."""

    def __init__(
        self,
        question: str,
        answer: Answer,
        ask: Asker,
        settings: AttributionParams,
    ) -> None:
        self.settings = settings
        self.evidence = answer.evidence
        self.items = items_of(answer.evidence)
        self.held = held_claims(answer)
        self.texts = [claim.text for claim in self.held]
        self.chances = Chances(
            question,
            self.texts,
            ask,
            kind=settings.chances,
            claims_per_call=settings.claims_per_call,
            repeats=settings.repeats,
            known={self.context(self.all): [claim.verdict for claim in self.held]},
        )

    @property
    def all(self) -> frozenset[int]:
        return frozenset(range(len(self.items)))

    @property
    def runs(self) -> frozenset[int]:
        return frozenset(i for i, item in enumerate(self.items) if item.kind == "simulation")

    def context(self, shown: frozenset[int]) -> str:
        return context_of(self.evidence, self.items, shown)

    async def claims(self) -> tuple[ClaimSupport, ...]:
        if not self.items or not self.texts:
            return tuple(
                ClaimSupport(claim_hash=claim_hash(text), text=text, support="neither", standing=at)
                for text, _, at in self.held
            )
        four = (frozenset[int](), self.all - self.runs, self.runs, self.all)
        others = self._sets()
        await self.chances.prepare(self.context(shown) for shown in (*four, *others))
        by_claim: list[tuple[ItemValue, ...]] = [()] * len(self.texts)
        if self.settings.estimator != "by_source":
            by_claim = [self._values(claim, others) for claim in range(len(self.texts))]
        return tuple(self._claim(claim, four, values) for claim, values in enumerate(by_claim))

    def _claim(
        self, claim: int, four: Sequence[frozenset[int]], values: tuple[ItemValue, ...]
    ) -> ClaimSupport:
        text, _, standing = self.held[claim]
        estimates = [self._chance(claim, shown) for shown in four]
        support = ClaimSupport(
            claim_hash=claim_hash(text), text=text, support=None, items=values, standing=standing
        )
        chances = [estimate.chance for estimate in estimates if estimate.chance is not None]
        if len(chances) < len(estimates):
            reason = next(estimate.reason for estimate in estimates if estimate.chance is None)
            return support.model_copy(update={"failure": reason})
        names = ("none", "documents", "simulator", "both")
        conditions = FourChances(**dict(zip(names, chances, strict=True)))
        return support.model_copy(
            update={
                "conditions": conditions,
                "shares": by_source(conditions),
                "support": support_of(conditions, self.settings.threshold),
            }
        )

    def _chance(self, claim: int, shown: frozenset[int]) -> ChanceEstimate:
        return self.chances.of(self.context(shown), claim)

    def _estimate(self, value: Value) -> list[Valued]:
        n, settings = len(self.items), self.settings
        if settings.estimator == "shapley":
            return shapley(value, n, permutations=settings.permutations, seed=settings.seed)
        return [Valued(cost, 0.0) for cost in leave_one_out(value, n)]

    def _sets(self) -> list[frozenset[int]]:
        """Return the sets that the estimator needs beside the four conditions."""
        if self.settings.estimator == "by_source":
            return []
        return sets_asked(self._estimate)

    def _values(self, claim: int, sets: Sequence[frozenset[int]]) -> tuple[ItemValue, ...]:
        asked = {shown: self._chance(claim, shown) for shown in sets}
        failed = next(
            (estimate.reason for estimate in asked.values() if estimate.chance is None), None
        )
        if failed is not None:
            return tuple(_failed(item, failed) for item in self.items)
        known = {
            shown: estimate.chance
            for shown, estimate in asked.items()
            if estimate.chance is not None
        }
        estimates = self._estimate(known.__getitem__)
        return tuple(
            ItemValue(
                item=item.key,
                value=estimate.value,
                standard_error=estimate.standard_error,
                left_out=self._left_out(index, known),
            )
            for index, (item, estimate) in enumerate(zip(self.items, estimates, strict=True))
        )

    def _left_out(self, item: int, known: Mapping[frozenset[int], float]) -> float | None:
        """Return what leaving one item out costs.

        Beside a Shapley value alone, which asks for most sets anyway.
        """
        without = self.all - {item}
        if self.settings.estimator != "shapley" or without not in known:
            return None
        return known[self.all] - known[without]


def _failed(item: Item, reason: str) -> ItemValue:
    return ItemValue(item=item.key, value=None, failure=reason)
