"""A domain's labels question by question: the judge's, and what people settled on before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flows.report.run import LabelledByPeople
from flows.report.traces import Judged
from simulrag.judging.people.labels import Key, Settled

if TYPE_CHECKING:
    import polars as pl

VERDICT_OF_LABEL = {"true": "aligned", "false": "contradicted"}
"""The verdict that a label calls for; on what is undecided the reference says nothing."""


class LabelTable:
    """``judge``: the table of labels; ``people``: by question and claim."""

    def __init__(self, judge: pl.DataFrame, people: Mapping[Key, Settled]) -> None:
        rows = judge.select("question_id", "claim_hash", "label", "reason", "failure")
        self._judged = rows.rows_by_key("question_id")
        self._people: dict[str, dict[str, Settled]] = {}
        for (question, claim), settled in people.items():
            self._people.setdefault(question, {})[claim] = settled

    def of(self, question_id: str) -> dict[str, Judged]:
        """The labels of a question's claim texts, by claim hash."""
        found = self._by_judge(question_id)
        for claim, settled in self._people.get(question_id, {}).items():
            label = settled.as_label()
            found[claim] = Judged(str(label.label), f"by people: {label.reason}")
        return found

    def by_people(self, question_id: str) -> list[LabelledByPeople]:
        """The question's claims that people labelled, with the judge's word on them."""
        judged = self._by_judge(question_id)
        return [
            LabelledByPeople(
                question_id=question_id,
                text=settled.first.text,
                human=settled.label,
                how=settled.how,
                judge=judged[claim].label if claim in judged else "",
                said=settled.as_label().reason,
            )
            for claim, settled in self._people.get(question_id, {}).items()
        ]

    def _by_judge(self, question_id: str) -> dict[str, Judged]:
        return {
            claim: Judged("missing", failure or "the judge failed")
            if label is None
            else Judged(label, reason or "")
            for claim, label, reason, failure in self._judged.get(question_id, ())
        }
