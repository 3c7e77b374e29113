"""The tables as a whole: form, determinism, parameters, terminal."""

from __future__ import annotations

import io
import json

import polars as pl
import pytest
from pydantic import ValidationError
from rich.console import Console
from simulrag.metrics.summary import headline
from simulrag.metrics.tables import COLUMNS, Tables, column_types, curves, evaluate

from simulrag.metrics.settings import MetricSettings
from simulrag.records import LabelValue
from simulrag.report.terminal import terminal_table
from tests.unit.metrics.synthetic import answer, claim, failed, label, study

FAST = MetricSettings(bootstrap=100, random_seeds=3)
TRUTHS: tuple[LabelValue, ...] = ("true", "false", "true", "false")


@pytest.fixture(scope="module")
def tables() -> Tables:
    data = [study(12), study(10, seed=6, domain="climate")]
    return evaluate(
        [one for part in data for one in part.answers],
        [one for part in data for one in part.labels],
        [one for part in data for one in part.finals],
        data[0].scenario_of | data[1].scenario_of,
        FAST,
    )


def test_the_same_bytes_again_and_nothing_but_numbers(tables: Tables) -> None:
    data = study(12)
    alone = evaluate(data.answers, data.labels, data.finals, data.scenario_of, FAST)
    for name in COLUMNS:
        frame: pl.DataFrame = getattr(tables, name)
        text = frame.filter(pl.col("domain") == "urban").write_csv()
        # A domain's numbers do not depend on which others are measured beside it.
        assert text == getattr(alone, name).write_csv()
        assert "NaN" not in text
        assert "inf" not in text.replace("informativeness", "")
    assert json.loads(json.dumps(tables.summary, allow_nan=False)) == tables.summary


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_read_back_is_the_table(tables: Tables, name: str) -> None:
    frame: pl.DataFrame = getattr(tables, name)
    back = pl.read_csv(io.StringIO(frame.write_csv()), schema=column_types(name))
    assert back.equals(frame)


def test_a_row_a_measurement(tables: Tables) -> None:
    key = ["domain", "method", "budget_percent", "centrality", "undecided", "metric"]
    assert not tables.claim_level.select(key).is_duplicated().any()
    assert tables.domains == ("urban", "climate")


def test_summary_is_flat(tables: Tables) -> None:
    expected = tables.plots.filter(
        (pl.col("domain") == "climate")
        & (pl.col("method") == "UE+SBA")
        & (pl.col("budget_percent") == 25)
    )["auroc"][0]
    assert tables.summary["climate.auroc.ue_sba.25"] == expected
    assert tables.summary["urban.questions"] == 12
    assert tables.summary["urban.coverage"] == pytest.approx(11 / 12, abs=1e-6)
    assert tables.summary["urban.simulator_runs_per_question"] == 1.0


def test_a_headline_repeats_the_tables(tables: Tables) -> None:
    line = headline(tables.summary, "urban", 25)
    found = tables.calibration.filter(
        domain="urban", method="UE+SBA", budget_percent=25, undecided="excluded", metric="ece"
    )
    assert line["ece"] == found["value"][0]
    found = tables.conformal.filter(
        domain="urban", method="UE+SBA", budget_percent=25, undecided="excluded", metric="kappa"
    )
    assert line["kappa"] == found["value"][0]
    found = tables.answer_level.filter(
        domain="urban", undecided="excluded", failures="excluded", metric="factuality"
    )
    by_line = {(row["method"], row["samples"]): row["value"] for row in found.to_dicts()}
    assert line["factuality"] == by_line["SimulRAG", 5]
    largest = max((m for method, m in by_line if method == "Input-layer RAG"), default=None)
    assert line["factuality_input_rag"] == by_line.get(("Input-layer RAG", largest))
    assert line["retrieval"] is None, "the study's questions have no known calls"


def test_curves_have_a_column_a_method(tables: Tables) -> None:
    frame = curves(tables, "urban", "auroc")
    assert frame.columns == ["budget_percent", "Random", "Verbalized", "Uncertainty", "UE+SBA"]
    assert frame["budget_percent"].to_list() == [15, 25, 45]


def test_costs_add_up(tables: Tables) -> None:
    cost = tables.cost.filter((pl.col("domain") == "urban") & (pl.col("metric") == "calls"))
    steps = cost.filter(pl.col("step") != "all")["total"].sum()
    assert steps == cost.filter(pl.col("step") == "all")["total"][0]
    assert cost.filter(pl.col("step") == "closed_book")["per_question"][0] == 5.0


def test_precision_and_recall_by_hand() -> None:
    claims = [claim(text, score) for text, score in zip("ABCD", (0.9, 0.7, 0.5, 0.1), strict=True)]
    labels = [label("q", text, value) for text, value in zip("ABCD", TRUTHS, strict=True)]
    found = evaluate([answer("q", claims)], labels, (), {"q": "s"}, FAST).precision_recall
    before = found.filter(pl.col("method") == "no-RAG")
    at = dict(zip(before["recall"], before["precision"], strict=True))
    # From the top: true, false, true, false.
    assert (at[0.5], at[0.52], at[1.0]) == (1.0, pytest.approx(2 / 3, abs=1e-6), at[0.52])
    assert len(before) == 50


def test_further_centralities() -> None:
    data = study(6)
    settings = FAST.model_copy(update={"further_centralities": ("degree", "closeness")})
    found = evaluate(data.answers, data.labels, data.finals, data.scenario_of, settings)
    assert found.claim_level["centrality"].unique(maintain_order=True).to_list() == [
        "closeness",
        "degree",
    ]


def test_terminal_table(tables: Tables) -> None:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(terminal_table(tables))
    text = console.export_text()
    assert "UE+SBA" in text
    assert f"{tables.summary['urban.auroc.ue_sba.45']:.3f}" in text
    assert max(map(len, text.splitlines())) <= 100


def test_terminal_table_of_nothing() -> None:
    empty = evaluate([failed("q")], [], [], {"q": "s"}, FAST)
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(terminal_table(empty))
    text = console.export_text()
    assert "—, urban: undefined: no labelled claim" in text
    assert "0.000" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"budgets_percent": [15, 130]}, "budget 130 is impossible"),
        ({"budgets_percent": [0]}, "budget 0 is impossible"),
        ({"budgets_percent": [15, 15]}, "name one twice"),
        ({"budgets_percent": []}, "at least 1"),
        ({"centrality": "katz"}, "centrality 'katz' is unknown"),
        ({"bootstrap": 0}, "greater than or equal to 100"),
        ({"budget_percents": [15]}, "Extra inputs are not permitted"),
        ({"undecided": "true"}, "'excluded' or 'false'"),
    ],
)
def test_impossible_settings(value: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        MetricSettings.model_validate(value)
