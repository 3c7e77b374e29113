"""What each stage used by model: exported calls, prices, and tokens that nobody counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from simulrag.errors import InputError
from simulrag.metrics.exports import UNCOUNTED, Estimated, pricing, read_export
from simulrag.metrics.table import only, select
from simulrag.records import Usage
from tests.unit.metrics.measuring import dicts, measured, row

PRICES = """
models:
  - {provider: anthropic, model: m, input: 10, cached_input: 1, cache_write: 12, output: 100,
     as_of: 2026-11}
"""
USAGE = Usage(
    calls=1, input_tokens=1000, cached_input_tokens=500, cache_write_tokens=100, output_tokens=50
)


def export(folder: Path, *calls: dict[str, Any]) -> Path:
    """An export of model calls and one simulator run; ``said``: the reply, ``task``: its task."""
    rows = []
    for given in calls:
        said, usage = given.pop("said", "text"), given.pop("usage", USAGE)
        task = given.pop("task", "")
        names = {"provider": "anthropic", "endpoint": "default", "model": "m"}
        rows.append((task, "model", {**names, **given}, said, usage.model_dump()))
    rows.append(("", "simulator", {"simulator": "urban"}, {"speed": 1.0}, None))
    columns = ("task", "kind", "request", "response", "usage")
    texts = [[task, kind, *(json.dumps(part) for part in rest)] for task, kind, *rest in rows]
    file = folder / "calls.parquet"
    pl.DataFrame(texts, schema=columns, orient="row").write_parquet(file)
    return file


def messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def spent(folder: Path, *calls: dict[str, Any]) -> pl.DataFrame:
    (folder / "prices.yaml").write_text(PRICES)
    exported = read_export(export(folder, *calls))
    prices = pricing(folder / "prices.yaml")
    table = measured([], exported={"answer": exported}, pricing=prices)
    return select(table, family="spending")


def test_a_row_a_model_at_its_own_prices(tmp_path: Path) -> None:
    lab = {"provider": "openai", "endpoint": "lab-gpu", "model": "qwen"}
    table = spent(tmp_path, {}, {}, {"provider": "local", "model": "small"}, lab)
    calls = select(table, metric="calls")
    names = [one["model"] for one in dicts(calls)]
    assert names == ["anthropic:m", "local:small", "openai:qwen (lab-gpu)"]
    assert calls["value"].to_list() == [2, 1, 1]
    assert only(table, model="anthropic:m", metric="cached_input_tokens") == 1000
    one = (400 * 10 + 500 * 1 + 100 * 12 + 50 * 100) / 1e6
    paid = row(table, metric="usd", model="anthropic:m")
    assert (paid["value"], paid["as_of"]) == (pytest.approx(2 * one), "2026-11")
    assert only(table, metric="usd", model="local:small") == 0.0
    unpriced = row(table, metric="usd", model="openai:qwen (lab-gpu)")
    assert unpriced["value"] is None
    assert unpriced["reason"] == "the price table has no price of openai:qwen (lab-gpu)"


def test_uncounted_tokens_are_unknown_and_estimated(tmp_path: Path) -> None:
    asked = {"messages": messages("s" * 100, "u" * 300), "said": "r" * 40, "usage": Usage(calls=1)}
    table = spent(tmp_path, asked)
    for name in ("input_tokens", "output_tokens", "usd"):
        unknown = row(table, metric=name)
        assert (unknown["value"], unknown["reason"]) == (None, UNCOUNTED)
    assert only(table, metric="input_tokens_estimated") == 100
    assert only(table, metric="output_tokens_estimated") == 10
    assert only(table, metric="usd_estimated") == pytest.approx((100 * 10 + 10 * 100) / 1e6)


def test_estimates_by_task_are_those_of_the_rows_that_name_theirs(tmp_path: Path) -> None:
    file = export(
        tmp_path,
        {"messages": messages("a" * 40, ""), "said": "{}", "task": "entailment"},
        {"messages": messages("expert", "1234567890"), "said": "one ", "task": "closed_book"},
        {"messages": messages("expert", "12"), "said": "of another model", "task": "closed_book"}
        | {"model": "small"},
        {"messages": messages("nobody", ""), "said": "of no task"},
    )
    found = read_export(file)
    assert dict(found.tasks) == {
        "entailment": Estimated(1, 10.0, 0.5),
        "closed_book": Estimated(2, (16 + 8) / 4, (3 + 16) / 4),  # a reply's ends are stripped
    }
    # A model has all of its calls, with a task or without.
    assert [(one.shown, one.estimated.calls) for one in found.models] == [
        ("anthropic:m", 3),
        ("anthropic:small", 1),
    ]


def test_an_export_without_the_column_has_the_same_models_and_no_tasks(tmp_path: Path) -> None:
    file = export(tmp_path, {"messages": messages("s", "u"), "said": "so", "task": "verify"})
    named = read_export(file)
    pl.read_parquet(file).drop("task").write_parquet(file)
    before = read_export(file)
    assert before.models == named.models
    assert (set(named.tasks), set(before.tasks)) == ({"verify"}, set())


def test_a_file_that_is_not_an_export_is_named(tmp_path: Path) -> None:
    file = tmp_path / "calls.parquet"
    file.write_text("nonsense")
    with pytest.raises(InputError, match=r"calls\.parquet is not an export"):
        read_export(file)
