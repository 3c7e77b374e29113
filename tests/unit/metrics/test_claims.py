"""Claim-level metrics over records: who is selected, what counts, and what is not known."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from simulrag.errors import InputError
from simulrag.metrics.methods import BUDGETED
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import only, select
from simulrag.records import Answer, Failure, Label, LabelValue, Retrieval
from tests.making import answer, claim, failed, label
from tests.unit.metrics import measuring
from tests.unit.metrics.measuring import dicts, measured_study, row
from tests.unit.metrics.people import given
from tests.unit.metrics.synthetic import study

FAST = MetricSettings(bootstrap=100, selection_seeds=3, budgets_percent=(25, 50))


def measured(answers: list[Answer], labels: list[Label], **more: Any) -> pl.DataFrame:
    return measuring.measured(answers, labels, **{"settings": FAST, **more})


def cell(
    table: pl.DataFrame, method: str, budget: int, metric: str, undecided: str = "excluded"
) -> dict[str, Any]:
    return row(
        table,
        family="claims",
        method=method,
        budget_percent=budget,
        metric=metric,
        undecided=undecided,
    )


def four_claims() -> tuple[Answer, list[Label]]:
    """Least confident first: inside and wrong, outside and wrong, then two right ones."""
    claims = [
        claim("A rises by 1.", 0.1, status="contradicted", updated="A rises by 2."),
        claim("B is famous.", 0.2, boundary=False, status="indeterminate"),
        claim("C rises by 3.", 0.3, status="aligned"),
        claim("D rises by 4.", 0.4, status="aligned"),
    ]
    truths: dict[str, LabelValue] = {
        "A rises by 1.": "false",
        "A rises by 2.": "true",
        "B is famous.": "false",
    }
    truths |= {"C rises by 3.": "true", "D rises by 4.": "true"}
    return answer("q", claims), [label("q", text, value) for text, value in truths.items()]


def test_worked_by_hand() -> None:
    record, labels = four_claims()
    tables = measured([record], labels)
    assert cell(tables, "no_rag", 0, "true_share")["value"] == 0.5
    assert cell(tables, "no_rag", 0, "auroc")["value"] == 1.0
    # Budget 50 %: Uncertainty spends its second check on B, which the simulator cannot decide.
    assert cell(tables, "uncertainty", 50, "true_share")["value"] == 0.75
    assert cell(tables, "uncertainty", 50, "auroc")["value"] == 1.0
    assert cell(tables, "ue_sba", 50, "share_spent")["value"] == 0.5
    assert cell(tables, "all_rag", 100, "true_share")["value"] == 0.75
    # As printed, verifying B without a decision lifts it to 1: it ties with A and beats C and D.
    printed = measured(
        [record], labels, settings=FAST.model_copy(update={"all_selected_one": True})
    )
    assert cell(printed, "uncertainty", 50, "auroc")["value"] == pytest.approx(0.5 / 3, abs=1e-6)
    assert cell(printed, "ue_sba", 50, "auroc")["value"] == 1.0


def test_undecided_left_out_or_false() -> None:
    record, labels = four_claims()
    labels = [x if x.text != "D rises by 4." else label("q", x.text, "undecided") for x in labels]
    tables = measured([record], labels)
    without = cell(tables, "no_rag", 0, "true_share")
    counted = cell(tables, "no_rag", 0, "true_share", "false")
    assert (without["value"], without["n"]) == (pytest.approx(1 / 3, abs=1e-6), 3)
    assert (counted["value"], counted["n"]) == (0.25, 4)
    assert without["coverage"] == counted["coverage"] == 1.0


@pytest.mark.parametrize("broken", ["label", "verdict", "failed question"])
def test_a_failure_lowers_coverage_and_is_no_value(broken: str) -> None:
    record, labels = four_claims()
    answers = [record]
    if broken == "label":
        labels[0] = label("q", labels[0].text, None)
    elif broken == "verdict":
        error = claim("A rises by 1.", 0.1, status="error")
        answers = [record.model_copy(update={"claims": (error, *record.claims[1:])})]
    else:
        answers.append(failed("q2"))
    tables = measured(answers, labels)
    found = cell(tables, "all_rag", 100, "true_share")
    assert found["coverage"] == (0.5 if broken == "failed question" else 0.75)
    assert found["n"] == (4 if broken == "failed question" else 3)


def only_verified(record: Answer, *indices: int) -> Answer:
    """As ``answer.verify: selected`` leaves it: the other claims have no verdict."""
    claims = tuple(
        one if index in indices else one.model_copy(update={"verdict": None})
        for index, one in enumerate(record.claims)
    )
    return record.model_copy(update={"claims": claims, "selected": indices})


def test_selected_claims_alone_measure_no_method() -> None:
    record, labels = four_claims()
    tables = measured([only_verified(record, 0, 2)], labels)
    reason = "answer.verify: selected verified only some claims"
    after = select(tables, family="claims").filter(pl.col("method") != "no_rag")
    assert after["value"].is_null().all()
    assert set(after["reason"]) == {reason}
    assert set(
        select(tables, family="comparisons", level="claim", unit="difference")["reason"]
    ) == {reason}
    # The claims before verification need no verdict: the same as with every verdict known.
    everything = measured([record], labels)
    for metric in ("true_share", "auroc", "f1"):
        ends = [cell(one, "no_rag", 0, metric) for one in (tables, everything)]
        assert ends[0] == ends[1]
        assert ends[0]["n"] == 4
    boundary = dict(select(tables, family="boundary").select("metric", "value").iter_rows())
    assert boundary == {"filtered": 0.25, "kept_decided": None, "filtered_decidable": None}


def test_no_applicable_tool_is_no_failure() -> None:
    claims = [claim("A.", 0.1, status=None), claim("B.", 0.2, status=None)]
    record = answer("q", claims, retrieval=Retrieval(status="not_applicable"), verified=False)
    tables = measured([record], [label("q", "A.", "false"), label("q", "B.", "true")])
    found = cell(tables, "all_rag", 100, "auroc")
    assert (found["value"], found["coverage"]) == (1.0, 1.0)
    assert cell(tables, "all_rag", 100, "share_spent")["value"] == 0.0


def test_one_class_is_undefined_with_a_reason() -> None:
    record, labels = four_claims()
    false = [label("q", one.text, "false") for one in labels]
    tables = measured([record], false)
    found = cell(tables, "ue_sba", 25, "auroc")
    assert found["value"] is None
    assert found["lower_95"] is None
    assert found["reason"] == "undefined: all claims have one label"
    assert cell(tables, "ue_sba", 25, "f1")["reason"] == "undefined: no true claim"
    assert cell(tables, "ue_sba", 25, "true_share")["value"] == 0.0


def test_all_failed() -> None:
    tables = measured([failed("q1"), failed("q2")], [])
    found = cell(tables, "ue_sba", 25, "auroc")
    assert (found["value"], found["n"], found["coverage"]) == (None, 0, 0.0)
    assert found["reason"] == "undefined: no labelled claim"
    lines = select(tables, family="claims")
    assert lines["value"].is_null().all()
    assert (lines["reason"] != "").all()


def test_one_question_has_values_without_intervals() -> None:
    record, labels = four_claims()
    found = cell(measured([record], labels), "uncertainty", 50, "f1")
    assert found["value"] == 1.0
    assert found["lower_95"] is None
    assert found["reason"] == "no interval: one scenario only"


def test_verbalized_not_asked() -> None:
    record, labels = four_claims()
    silent = [one.model_copy(update={"verbalized": None}) for one in record.claims]
    tables = measured([record.model_copy(update={"claims": tuple(silent)})], labels)
    found = cell(tables, "verbalized", 25, "auroc")
    assert (found["value"], found["reason"]) == (None, "verbalized confidence was not asked")
    assert cell(tables, "uncertainty", 25, "true_share")["coverage"] == 1.0


def test_every_method_spends_the_same_budget() -> None:
    data = study(30)
    tables = measured_study(data, FAST)
    for budget in FAST.budgets_percent:
        spent = {cell(tables, name, budget, "share_spent")["value"] for name in BUDGETED}
        assert len(spent) == 1
        assert spent.pop() == pytest.approx(budget / 100, abs=0.01)


def test_the_value_lies_inside_its_interval_and_differences_are_paired() -> None:
    data = study(30)
    tables = measured_study(data, FAST)
    rows = select(tables, family="claims", metric="true_share")
    assert (rows["lower_95"] <= rows["value"]).all()
    assert (rows["value"] <= rows["upper_95"]).all()
    gap = row(
        tables,
        family="comparisons",
        level="claim",
        unit="difference",
        baseline="uncertainty",
        budget_percent=50,
        metric="auroc",
        undecided="excluded",
    )
    ours = cell(tables, "ue_sba", 50, "auroc")
    theirs = cell(tables, "uncertainty", 50, "auroc")
    assert gap["value"] == pytest.approx(ours["value"] - theirs["value"], abs=2e-6)
    widths = (ours["upper_95"] - ours["lower_95"]) + (theirs["upper_95"] - theirs["lower_95"])
    assert gap["upper_95"] - gap["lower_95"] < widths


def test_human_labels_override_and_disagreement_is_undecided() -> None:
    record, labels = four_claims()
    human = [given("ann", "true", "B is famous.")]
    found = cell(measured([record], labels, human=human), "no_rag", 0, "true_share")
    assert (found["value"], found["n"]) == (0.75, 4)
    human.append(given("bob", "false", "B is famous."))
    found = cell(measured([record], labels, human=human), "no_rag", 0, "true_share")
    assert found["n"] == 3
    human.append(given("cy", "true", "B is famous.", adjudication=True))
    found = cell(measured([record], labels, human=human), "no_rag", 0, "true_share")
    assert (found["value"], found["n"]) == (0.75, 4)
    elsewhere = given("ann", "true", "B is famous.", "a question of another run")
    assert select(measured([record], labels, human=[elsewhere]), family="agreement").is_empty()


def test_rows_that_do_not_belong_together() -> None:
    record, labels = four_claims()
    with pytest.raises(InputError, match="two different judge labels"):
        measured([record], [*labels, label("q", "B is famous.", "true")])
    with pytest.raises(InputError, match="'q' is there twice"):
        measured([record, record], labels)
    with pytest.raises(InputError, match="'q' has an answer and is not in the benchmark"):
        measured([record], labels, scenario_of={"other": "s"})
    with pytest.raises(InputError, match="labels: question 'gone' has no answer"):
        measured([record], [*labels, label("gone", "E.", "true")])


def test_labels_missing_and_of_unknown_texts_are_counted() -> None:
    record, labels = four_claims()
    stale = [label("q", "A text of an older answer.", "true"), label("q", "Another.", None)]
    for given_labels, counts in (([*labels[1:], *stale], (1, 2)), (labels, (0, 0))):
        table = measured([record], given_labels)
        names = ("labels_missing", "labels_unknown")
        assert tuple(only(table, family="coverage", metric=name) for name in names) == counts


def test_answers_that_evidence_was_there_for_are_counted() -> None:
    records = [
        answer("retrieved", [claim()]),
        answer("undecided", [claim()], verified=False),
        answer(
            "nothing-fits",
            [claim()],
            retrieval=Retrieval(status="not_applicable"),
            verified=False,
        ),
        answer("closed", [claim()], retrieval=None, verified=False),
        answer("failed", (), failure=Failure(step="final", reason="no reply")),
    ]
    table = select(measured(records, []), family="coverage")
    counts = ("completed", "with_evidence", "checked")
    assert [only(table, metric=name) for name in counts] == [4, 2, 1]


def test_further_centralities_and_precision_at_recall() -> None:
    settings = FAST.model_copy(update={"further_centralities": ("degree", "closeness")})
    record, labels = four_claims()
    table = measured([record], labels, settings=settings)
    lines = select(table, family="claims")
    assert lines["centrality"].unique(maintain_order=True).to_list() == ["closeness", "degree"]
    curve = select(table, family="precision_recall", method="no_rag")
    at = {one["x"]: one["value"] for one in dicts(curve)}
    # From the top: D and C are true, B and A are not.
    assert (len(at), at[0.5], at[1.0]) == (50, 1.0, 1.0)
    key = ["family", "method", "budget_percent", "centrality", "undecided", "metric"]
    assert not lines.select(key).is_duplicated().any()
