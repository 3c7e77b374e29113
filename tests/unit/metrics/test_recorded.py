"""The recorded run: the long table holds the very numbers that its first evaluation gave."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from flows.project import Results
from flows.stages.metrics import read_domain, write_metrics
from simulrag.metrics.names import EXPECTED
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import read_table, select

RECORDED = Path(__file__).resolve().parents[4] / "shared" / "recorded"
DOMAIN = "urban"

TABLES: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "claim_level": ("claims", ("method", "budget_percent", "centrality", "undecided"), {}),
    "answer_level": ("answers", ("method", "samples", "undecided", "failures"), {}),
    "boundary": ("boundary", (), {}),
    "calibration": (
        "calibration",
        ("method", "budget_percent", "centrality", "undecided", "bin"),
        {"confidence": "x"},
    ),
    "conformal": ("conformal", ("method", "budget_percent", "centrality", "undecided"), {}),
    "benchmark": ("benchmark", (), {}),
    "retrieval": ("retrieval", ("tool", "argument"), {}),
    "precision_recall": (
        "precision_recall",
        ("method", "budget_percent", "x"),
        {"recall": "x", "precision": "value"},
    ),
    "comparisons": (
        "comparisons",
        (
            *("level", "method", "samples", "baseline", "baseline_samples"),
            *("budget_percent", "centrality", "undecided"),
        ),
        {"difference": "value"},
    ),
}
"""The first evaluation's tables: the family they are now, what names a row, and renamed columns."""

LATER = {"completeness", "undecided_claims", "words", "claims_sent"}
"""Metrics of final answers that the first evaluation did not have."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    if not RECORDED.is_dir():
        pytest.skip("the recorded run is not beside this checkout (../shared/recorded)")
    params = yaml.safe_load((RECORDED / "params.yaml").read_text())
    settings = MetricSettings.model_validate(params["metrics"])
    folder = tmp_path_factory.mktemp("metrics")
    short = write_metrics(folder, read_domain(Results(RECORDED), DOMAIN, settings))
    recorded = yaml.safe_load((RECORDED / "metrics" / f"{DOMAIN}.json").read_text())
    assert short == pytest.approx(recorded)
    return read_table(folder / f"{DOMAIN}.csv")


@pytest.mark.parametrize("name", TABLES)
def test_a_family_repeats_the_recorded_table(table: pl.DataFrame, name: str) -> None:
    family, keys, renamed = TABLES[name]
    old = pl.read_csv(RECORDED / "metrics" / f"{name}.csv", infer_schema_length=None)
    old = old.filter(pl.col("domain") == DOMAIN).rename(renamed)
    new = select(table, family=family, unit=["", "difference"])
    new = new.filter(pl.col("method") != EXPECTED)  # a later line
    names = [*(("metric",) if "metric" in old.columns else ()), *keys]
    types = {key: new.schema[key] for key in names}
    old = old.with_columns(pl.col(key).cast(kind) for key, kind in types.items())
    old = old.with_columns(pl.selectors.string().fill_null(""))
    if family in ("answers", "comparisons"):
        assert set(new["metric"]) >= LATER
        new = new.filter(~pl.col("metric").is_in(list(LATER)))
    assert old.height == new.height
    both = old.join(new, on=names, how="inner", nulls_equal=True, suffix="_now")
    assert both.height == old.height
    compared = {"value", "lower_95", "upper_95", "n", "reason", "p_holm", "x"} - set(names)
    for column in compared & set(old.columns):
        before, now = both[column].to_list(), both[f"{column}_now"].to_list()
        assert now == (before if column == "reason" else pytest.approx(before, abs=2e-6)), column


def test_calls_and_tokens_of_the_recorded_run(table: pl.DataFrame) -> None:
    old = pl.read_csv(RECORDED / "metrics" / "cost.csv").filter(pl.col("domain") == DOMAIN)
    calls = select(table, family="cost", metric="calls").filter(pl.col("step") != "simulator")
    before = old.filter(pl.col("metric") == "calls").select("step", "per_question")
    assert dict(calls.select("step", "value").iter_rows()) == dict(before.iter_rows())
    # Its replies came by files, so that nobody counted their tokens.
    tokens = select(table, family="cost", metric=["input_tokens", "output_tokens"])
    assert tokens["value"].is_null().all()
    estimated = select(table, family="cost", metric="input_tokens_estimated")
    parts = estimated.filter(pl.col("step") != "all")["value"].sum()
    assert parts == pytest.approx(select(estimated, step="all")["value"].item(), rel=1e-6)
    assert set(estimated["step"]) == set(calls["step"])


def test_how_complete_and_long_the_recorded_answers_are(table: pl.DataFrame) -> None:
    found = select(table, family="answers", undecided="excluded", failures="excluded", samples=5)
    values = {
        metric: dict(select(found, metric=metric).select("method", "value").iter_rows())
        for metric in ("completeness", "words", "claims_sent")
    }
    assert set(select(found, metric="completeness")["n"]) == {15}
    # Who sees the evidence states every value that is asked for; who does not, nearly none.
    assert values["completeness"]["Input-layer RAG"] == 1
    assert values["completeness"]["Closed book"] < 0.1 < values["completeness"]["SimulRAG"]
    assert all(words > 30 for words in values["words"].values())
    assert values["claims_sent"]["SimulRAG"] > values["claims_sent"]["Input-layer RAG"] == 0
