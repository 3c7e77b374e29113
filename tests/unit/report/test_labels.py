"""Labels question by question, people before the judge."""

from __future__ import annotations

import polars as pl

from flows.report.run import LabelTable
from simulrag.judging.people import majority_label
from simulrag.records import HumanLabel, claim_hash

TEXT, OTHER = "Travel time rises.", "Idling falls."


def judge() -> pl.DataFrame:
    rows = [
        ("q2", OTHER, "false", "by the reference", None),
        ("q1", TEXT, "true", "by the reference", None),
        ("q2", TEXT, None, "", "the judge timed out"),
    ]
    return pl.DataFrame(
        [(q, claim_hash(text), text, label, why, failure) for q, text, label, why, failure in rows],
        schema=["question_id", "claim_hash", "text", "label", "reason", "failure"],
        orient="row",
    )


def test_people_come_before_the_judge() -> None:
    said = HumanLabel(
        question_id="q2", claim_hash=claim_hash(OTHER), text=OTHER, label="true", annotator="ada"
    )
    labels = LabelTable(judge(), majority_label([said]))
    assert labels.of("q1")[claim_hash(TEXT)].label == "true"
    found = labels.of("q2")
    assert found[claim_hash(OTHER)].label == "true"
    assert found[claim_hash(OTHER)].reason == "by people: ada: true"
    assert found[claim_hash(TEXT)].label == "missing"
    assert found[claim_hash(TEXT)].reason == "the judge timed out"
    assert labels.of("unknown") == {}
    (one,) = labels.by_people("q2")
    assert (one.human, one.how, one.judge) == ("true", "one annotator", "false")
