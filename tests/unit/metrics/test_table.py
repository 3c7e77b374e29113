"""The long table: form, files, selection, the registry, and parameters."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pydantic import ValidationError

from simulrag.errors import InputError
from simulrag.metrics import families
from simulrag.metrics.headline import headline
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import (
    COLUMNS,
    Measurement,
    csv_of,
    frame_of,
    only,
    read_table,
    schema,
    select,
    write_table,
)
from tests.making import failed
from tests.unit.metrics.measuring import FAST, data_of, measured, measured_study
from tests.unit.metrics.synthetic import study

ROWS = (
    Measurement(family="a", domain="d", metric="m", value=0.12345678, n=3, reason='"a", b'),
    Measurement(family="b", domain="d", metric="m", budget_percent=25, value=-1e-9, samples=5),
    Measurement(family="b", domain="d", metric="m", reason="undefined"),
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "metrics" / "d.csv"
    write_table(path, ROWS)
    table = read_table(path)
    assert table.equals(frame_of(ROWS))
    assert dict(table.schema) == schema()
    assert table["value"].to_list() == [0.123457, 0.0, None]
    assert b"-0.0" not in path.read_bytes()
    write_table(path, [])
    assert read_table(path).columns == list(COLUMNS)
    assert COLUMNS[:12] == (
        *("family", "domain", "method", "metric", "budget_percent", "centrality"),
        *("value", "lower_95", "upper_95", "n", "coverage", "reason"),
    )


def test_selection_by_values_lists_and_what_does_not_apply() -> None:
    table = frame_of(ROWS)
    assert select(table, family="b", budget_percent=25)["samples"].to_list() == [5]
    assert select(table, family=["a", "b"], samples=None).height == 2
    assert only(table, family="a") == 0.123457
    assert only(table, family="none") is None
    with pytest.raises(ValueError, match="2 rows have"):
        only(table, family="b")


def test_files_that_are_not_this_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there"):
        read_table(tmp_path / "gone.csv")
    for content in (b"family,domain\na,b\n", b"\xff\xfe\x00"):
        (tmp_path / "other.csv").write_bytes(content)
        with pytest.raises(InputError, match=r"other\.csv"):
            read_table(tmp_path / "other.csv")


@pytest.mark.parametrize("left", [1, 2, 40])
def test_a_table_that_was_cut_short_is_no_shorter_table(tmp_path: Path, left: int) -> None:
    path = tmp_path / "d.csv"
    write_table(path, ROWS)
    path.write_bytes(path.read_bytes()[:-left])
    with pytest.raises(InputError, match="cut short; run `simulrag run`"):
        read_table(path)


def test_equal_inputs_give_equal_bytes_and_nothing_but_numbers() -> None:
    first, second = (csv_of(measured_study(study(12))) for _ in range(2))
    assert first == second
    assert b"NaN" not in first
    assert b"inf," not in first


def test_a_family_names_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"claims", "answers", "comparisons", "cost"} <= {
        name for names, _ in families.registered().values() for name in names
    }
    monkeypatch.setattr(families, "_FAMILIES", {})
    families.metric("mine")(lambda data: iter(ROWS))
    with pytest.raises(ValueError, match="yields the family 'a' and registered"):
        families.measure(data_of([failed("q")]))
    monkeypatch.setattr(families, "_FAMILIES", {})
    families.metric("a", "b")(lambda data: iter(ROWS))
    assert families.measure(data_of([failed("q")])) == list(ROWS)


def test_the_headline_repeats_the_table() -> None:
    table = measured_study(study(12))
    short = headline(table, FAST)
    assert (short["questions"], short["calls"]) == (
        12,
        only(table, family="cost", step="all", metric="calls"),
    )
    assert short["coverage"] == pytest.approx(11 / 12, abs=1e-6)
    ours = select(table, method="ue_sba", budget_percent=25, undecided="excluded")
    assert short["auroc"] == only(ours, family="claims", metric="auroc")
    assert short["ece"] == only(ours, family="calibration", metric="ece")
    assert short["retrieval"] is None, "the study's questions have no known calls"
    nothing = headline(measured([failed("q")]), FAST)
    assert (nothing["f1"], nothing["coverage"]) == (None, 0.0)


def test_measurements_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ROWS[0].value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"budgets_percent": [15, 130]}, "130 is not a budget"),
        ({"budgets_percent": [0]}, "0 is not a budget"),
        ({"budgets_percent": [15, 15]}, "name one twice"),
        ({"budgets_percent": []}, "at least 1"),
        ({"centrality": "katz"}, "'katz' is not a centrality; known: closeness"),
        ({"bootstrap": 0}, "greater than or equal to 100"),
        ({"budget_percents": [15]}, "Extra inputs are not permitted"),
        ({"undecided": "true"}, "'excluded' or 'false'"),
    ],
)
def test_impossible_settings(value: dict[str, object], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        MetricSettings.model_validate(value)
