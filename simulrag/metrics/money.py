"""What each stage cost by model: tokens from its exported calls, money from the price table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from simulrag.errors import InputError
from simulrag.models.prices import PriceTable
from simulrag.records import Usage

Row = dict[str, object]

FREE = frozenset({"local"})
"""Providers without a bill; a server of one's own is free too, but its calls do not say so."""

_NAME = ("provider", "endpoint", "model")
_COUNTS = tuple(Usage.model_fields)


def stage_costs(domain: str, stage: str, export: Path, prices: PriceTable) -> Iterator[Row]:
    """A row a model that a stage used, in the order of their names.

    All calls that the stage's results rest on count, whoever paid for them and when, at the prices
    of today's table; replies that were billed and could not be used are in the ledger alone.
    ``usd`` is None for a model without a price. Raises InputError for a file that is no export.
    """
    for values in _by_model(export).iter_rows(named=True):
        name = (values["provider"], values["endpoint"], values["model"])
        usage = Usage(**{count: values[count] or 0 for count in _COUNTS})
        price = prices.find(name)
        money = 0.0 if name[0] in FREE else None if price is None else price.cost(usage)
        yield {
            "domain": domain,
            "stage": stage,
            "model": f"{name[0]}:{name[2]}" + ("" if name[1] == "default" else f" ({name[1]})"),
            **usage.model_dump(),
            "usd": money,
            "price_as_of": None if price is None else price.as_of,
        }


def _by_model(export: Path) -> pl.DataFrame:
    request, usage = pl.col("request"), pl.col("usage")
    try:
        calls = pl.read_parquet(export, columns=["kind", "request", "usage"])
        return (
            calls.filter(pl.col("kind") == "model")
            .select(
                *(request.str.json_path_match(f"$.{n}").fill_null("").alias(n) for n in _NAME),
                *(usage.str.json_path_match(f"$.{c}").cast(pl.Int64).alias(c) for c in _COUNTS),
            )
            .group_by(_NAME)
            .sum()
            .sort(_NAME)
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{export} is no export of calls: {first}; run the stage again") from None
