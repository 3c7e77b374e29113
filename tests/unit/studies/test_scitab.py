"""SciTab's claims: what is shown of them, and how an audit is measured against their labels."""

from __future__ import annotations

from collections import Counter

import pytest

from flows.files import read_records
from simulrag.records import Audit, AuditedClaim
from studies.scitab.__main__ import Judged, disagreements, macro_f1, page, status_of
from studies.scitab.claims import CLAIMS, LABELS, TableClaim, audited_text, plain

STATUS_OF = {"supports": "supported", "refutes": "wrong", "not enough info": "open"}


@pytest.fixture(scope="module")
def claims() -> list[TableClaim]:
    return read_records(CLAIMS, TableClaim)


def audit(*statuses: str) -> Audit:
    claims = [{"quote": "x", "claim": "x", "status": status} for status in statuses]
    return Audit(text="x", claims=tuple(AuditedClaim.model_validate(claim) for claim in claims))


def judged(claims: list[TableClaim], statuses: dict[str, str]) -> list[Judged]:
    audits = [audit(statuses[claim.label]) for claim in claims]
    return [Judged(c, result, status_of(result)) for c, result in zip(claims, audits, strict=True)]


def test_fifty_claims_a_label_are_shown_without_it(claims: list[TableClaim]) -> None:
    assert Counter(claim.label for claim in claims) == dict.fromkeys(LABELS, 50)
    assert len({claim.id for claim in claims}) == 150
    relabelled = [claim.model_copy(update={"label": "supports"}) for claim in claims]
    assert [audited_text(c) for c in claims] == [audited_text(c) for c in relabelled]
    shown = [text for c in claims for text in (audited_text(c).text, *audited_text(c).evidence)]
    assert not any("[BOLD]" in text or "[CONTINUE]" in text or "<bold>" in text for text in shown)


def test_marks_of_type_are_left_out_and_empty_cells_are_dashes() -> None:
    assert plain("[CONTINUE] a [BOLD] <bold>84.5</bold>") == "a 84.5"
    assert plain("[EMPTY]") == "-"


@pytest.mark.parametrize(
    ("statuses", "whole"),
    [
        (("supported", "wrong", "open"), "wrong"),
        (("supported", "open", "judgement"), "open"),
        (("supported", "judgement"), "judgement"),
        (("supported", "supported"), "supported"),
        ((), "open"),
    ],
)
def test_a_claim_is_wrong_if_any_part_is_then_open(statuses: tuple[str, ...], whole: str) -> None:
    assert status_of(audit(*statuses)) == whole


def test_macro_f1_is_that_of_scikit_learn(claims: list[TableClaim]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    cycle = ("supported", "wrong", "supported", "open", "wrong", "judgement", "open")
    rows = [
        Judged(claim, audit(status), status)
        for claim, status in zip(claims, cycle * 22, strict=False)
    ]
    means = {"supported": "supports", "wrong": "refutes"}
    stated = [means.get(row.status, "not enough info") for row in rows]
    labels = [row.claim.label for row in rows]
    expected = metrics.f1_score(labels, stated, average="macro")
    assert macro_f1(rows, 3).value == pytest.approx(expected)
    decided = [pair for pair in zip(labels, stated, strict=True) if pair[0] != LABELS[2]]
    expected = metrics.f1_score(*zip(*decided, strict=True), average="macro", labels=LABELS[:2])
    assert macro_f1(rows, 2).value == pytest.approx(expected)


def test_an_audit_that_agrees_has_no_disagreement(claims: list[TableClaim]) -> None:
    rows = judged(claims, STATUS_OF)
    assert macro_f1(rows, 3).value == macro_f1(rows, 2).value == 1
    assert "of 0 disagreements" in disagreements(rows)
    assert "| refutes | 0 | 50 | 0 | 0 |" in page(rows)


def test_opposites_are_the_worst_and_are_shown_with_their_table(claims: list[TableClaim]) -> None:
    rows = judged(claims, {**STATUS_OF, "supports": "open", "refutes": "supported"})
    listing = disagreements(rows)
    assert listing.count("experts refutes, audit supported") == 10
    worst = min((c for c in claims if c.label == "refutes"), key=lambda claim: claim.id)
    assert audited_text(worst).evidence[0] in listing
