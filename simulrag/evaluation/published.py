"""The paper's own numbers, shown beside ours and never mixed with them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from simulrag.errors import InputError

_COLUMNS = ("domain", "metric", "method", "model", "budget_percent", "value")


def read_published(folder: Path) -> pl.DataFrame:
    """Table 1 from ``folder/table1.csv``: domain, metric, method, model, budget_percent, value.

    Raises InputError where the file is missing or lacks a column.
    """
    path = folder / "table1.csv"
    if not path.is_file():
        raise InputError(f"published numbers: {path} is missing: restore it from version control")
    frame = pl.read_csv(path)
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise InputError(f"published numbers: {path} has no column '{missing[0]}'")
    return frame.select(_COLUMNS)
