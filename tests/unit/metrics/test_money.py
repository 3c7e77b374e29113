"""What a stage cost by model: from its exported calls and the price table."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulrag.metrics.tables import evaluate
from simulrag.report.cost_tables import spending_view

from simulrag.calls import CallCache, CallResult
from simulrag.errors import InputError
from simulrag.metrics.money import stage_costs
from simulrag.metrics.settings import MetricSettings
from simulrag.models.prices import Price, PriceTable
from simulrag.records import Usage
from tests.unit.metrics.synthetic import study

PRICES = PriceTable(
    models=(
        Price(
            provider="anthropic",
            model="m",
            input=10,
            cached_input=1,
            cache_write=12,
            output=100,
            as_of="2026-11",
        ),
    )
)
USAGE = Usage(
    calls=1,
    input_tokens=1000,
    cached_input_tokens=500,
    cache_write_tokens=100,
    output_tokens=50,
)


async def exported(folder: Path, *names: tuple[str, str, str]) -> Path:
    file = folder / "calls.parquet"
    with CallCache(folder / "cache", stage="test") as cache:
        for number, (provider, endpoint, model) in enumerate(names):

            async def call() -> CallResult:
                return CallResult("text", usage=USAGE.model_dump())

            request = {"provider": provider, "endpoint": endpoint, "model": model, "n": number}
            await cache.get_or_call("model", request, call)

        async def run() -> CallResult:
            return CallResult({"speed": 1.0})

        await cache.get_or_call("simulator", {"simulator": "urban"}, run)
        cache.export(file)
    return file


async def test_a_row_a_model_at_its_own_prices(tmp_path: Path) -> None:
    ours = ("anthropic", "default", "m")
    names = [ours, ours, ("offline", "default", "rules"), ("openai", "lab-gpu", "qwen")]
    rows = list(stage_costs("urban", "answer", await exported(tmp_path, *names), PRICES))
    assert [row["model"] for row in rows] == [
        "anthropic:m",
        "offline:rules",
        "openai:qwen (lab-gpu)",
    ]
    assert [row["calls"] for row in rows] == [2, 1, 1]
    one = (400 * 10 + 500 * 1 + 100 * 12 + 50 * 100) / 1e6
    assert rows[0]["usd"] == pytest.approx(2 * one)
    assert [row["usd"] for row in rows[1:]] == [0.0, None]
    assert rows[0]["price_as_of"] == "2026-11"


async def test_tables_summary_and_report_show_them(tmp_path: Path) -> None:
    data = study(12)
    export = await exported(tmp_path, ("anthropic", "default", "m"))
    rows = list(stage_costs("urban", "answer", export, PRICES))
    settings = MetricSettings(bootstrap=100, random_seeds=1)
    given = (data.answers, data.labels, data.finals, data.scenario_of, settings)
    tables = evaluate(*given, spending=rows)
    assert tables.summary["urban.usd"] == pytest.approx(0.0107)
    view = spending_view(tables, "urban")
    assert view is not None
    assert view.rows == (("answer", "anthropic:m", "1", "1,000", "500", "100", "50", "0.0107"),)
    assert "2026-11" in view.notes[0]
    unpriced = evaluate(*given, spending=[*rows, {**rows[0], "usd": None}])
    assert unpriced.summary["urban.usd"] is None
    assert spending_view(evaluate(*given), "urban") is None


def test_a_file_that_is_no_export_is_named(tmp_path: Path) -> None:
    file = tmp_path / "calls.parquet"
    file.write_text("nonsense")
    with pytest.raises(InputError, match=r"calls\.parquet is no export"):
        list(stage_costs("urban", "answer", file, PRICES))
