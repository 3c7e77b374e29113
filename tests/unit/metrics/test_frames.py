"""The two frames that metrics read: what their rows hold, worked by hand."""

from __future__ import annotations

import re

from simulrag.metrics import frames
from simulrag.metrics.table import only
from simulrag.records import claim_hash
from tests.making import answer, claim, failed, final_claims, label, line
from tests.unit.metrics.measuring import FAST, data_of, measured


def test_every_column_is_described() -> None:
    data = data_of([])
    described = set(re.findall(r"\w+", frames.__doc__ or ""))
    assert {*data.claims.columns, *data.finals.columns} - described == set()


def test_a_row_a_claim_of_each_complete_answer() -> None:
    claims = [
        claim("A.", 0.25, status="contradicted", updated="A, mended.", verbalized=None),
        claim("B.", 0.75, status=None, boundary=None),
    ]
    done = answer("q", claims)
    labels = [label("q", "A.", "false"), label("q", "A, mended.", "true"), label("q", "B.", None)]
    data = data_of([failed("broken"), done], labels)
    first, second = data.claims.iter_rows(named=True)
    assert first == {
        "question_id": "q",
        "scenario_id": "s-q",
        "claim": 0,
        "text_before": "A.",
        "text_after": "A, mended.",
        "hash_before": claim_hash("A."),
        "hash_after": claim_hash("A, mended."),
        FAST.centrality: 0.25,
        "verbalized": None,
        "boundary": True,
        "checkable": True,
        "verdict": "contradicted",
        "label_before": "false",
        "label_after": "true",
    }
    missing = ("boundary", "verdict", "label_before", "label_after")
    assert [second[name] for name in missing] == [None] * 4
    assert second["text_after"] == "B."


def test_a_row_a_distinct_claim_of_each_final_answer() -> None:
    own = line("simulrag", 1, 25, 0.5)
    done = answer("q", [claim("A.")], final={"line": own, "text": "A and b.", "selected": (0,)})
    finals = [
        final_claims("q", "A.", "B.", "b. ", of=own),
        final_claims("q", of=line("closed_book")),
    ]
    data = data_of([done], [label("q", "A.", "true")], finals)
    first, second, empty = data.finals.iter_rows(named=True)
    assert (first["text"], first["label"]) == ("A.", "true")
    assert (second["text"], second["label"], second["claim"]) == ("b. ", None, 2)
    of_answer = {"method": "simulrag", "samples": 1, "budget_percent": 25, "kappa": 0.5}
    counted = {"words": 3, "claims_sent": 1, "asked": 0, "stated": 0}
    for row in (first, second):
        assert row | of_answer | counted == row
    assert (empty["text"], empty["complete"]) == (None, True)


def test_a_final_answer_without_a_claim_is_complete() -> None:
    nothing = final_claims("q", of=line("closed_book"))
    table = measured([answer("q", [claim("A.")])], [label("q", "A.", "true")], [nothing])
    where = {"family": "answers", "method": "closed_book", "undecided": "excluded"}
    for failures in ("excluded", "zero"):
        value = only(table, metric="informativeness", failures=failures, **where)
        assert value == 0
