"""Labels question by question, without holding a record a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulrag.judging.people.labels import Key, Settled
from simulrag.report.run import LabelledByPeople
from simulrag.report.traces import Judged

if TYPE_CHECKING:
    import polars as pl


class LabelTable:
    """The judge's labels as a column store; what people settled on comes before them."""

    def __init__(self, judge: pl.DataFrame, people: Mapping[Key, Settled]) -> None:
        import polars as pl

        columns = ["question_id", "claim_hash", "label", "reason", "failure"]
        self._rows = judge.select(columns).sort("question_id", maintain_order=True)
        places = (
            self._rows.with_row_index("first")
            .group_by("question_id")
            .agg(pl.col("first").min(), pl.len().alias("length"))
        )
        self._places = {question: (first, length) for question, first, length in places.iter_rows()}
        self._people: dict[str, dict[str, Settled]] = {}
        for (question, claim), settled in people.items():
            self._people.setdefault(question, {})[claim] = settled

    def of(self, question_id: str) -> dict[str, Judged]:
        """The labels of a question's claim texts, by claim hash."""
        found = self._judged(question_id)
        for claim, settled in self._people.get(question_id, {}).items():
            label = settled.as_label()
            found[claim] = Judged(str(label.label), f"by people: {label.reason}")
        return found

    def by_people(self, question_id: str) -> list[LabelledByPeople]:
        """The question's claims that people labelled, with the judge's word on them."""
        judged = self._judged(question_id)
        return [
            LabelledByPeople(
                question_id=question_id,
                text=settled.first.text,
                human=settled.label,
                how=_how(settled),
                judge=judged[claim].label if claim in judged else "",
                said=settled.as_label().reason,
            )
            for claim, settled in self._people.get(question_id, {}).items()
        ]

    def _judged(self, question_id: str) -> dict[str, Judged]:
        first, length = self._places.get(question_id, (0, 0))
        return {
            claim: Judged("missing", failure or "the judge failed")
            if label is None
            else Judged(label, reason or "")
            for _, claim, label, reason, failure in self._rows.slice(first, length).iter_rows()
        }


def _how(settled: Settled) -> str:
    if settled.adjudication is not None:
        return "adjudicated"
    if settled.disputed:
        return "disputed"
    return "one annotator" if len(settled.given) == 1 else "agreed"
