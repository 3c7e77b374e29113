"""The paper's own numbers, shown beside ours and never mixed with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simulrag.errors import InputError
from simulrag.metrics.methods import FIGURE_METRICS

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("domain", "metric", "method", "model", "budget_percent", "value")
_BENCHMARK_COLUMNS = (
    "domain",
    "answer_words",
    "claims",
    "quantitative_claims",
    "qualitative_claims",
    "tool_parameters",
)
PAPER_METRICS = {1: FIGURE_METRICS, 3: {"precision": "Precision", "recall": "Recall", "f1": "F1"}}
"""What the paper's tables of methods hold, by their number."""
PAPER_STATISTICS = 2
"""The number of the paper's table of benchmark statistics."""

_REPLAYED_SUFFIX = "-published"


def read_published(folder: Path, table: str = "table1") -> pl.DataFrame:
    """A table from ``folder``: domain, metric, method, model, budget_percent, value.

    ``table1`` holds F1, AUPR and AUROC, ``table3`` precision, recall and F1. Raises InputError
    where the file is missing or lacks a column.
    """
    return _read(folder / f"{table}.csv", _COLUMNS)


def read_published_benchmark(folder: Path) -> pl.DataFrame:
    """Table 2 from ``folder/table2.csv``: domain, then means.

    They are named as the metrics of the family benchmark. Raises InputError where the file is
    missing or lacks a column.
    """
    return _read(folder / f"table{PAPER_STATISTICS}.csv", _BENCHMARK_COLUMNS)


def _read(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    if not path.is_file():
        raise InputError(f"published numbers: {path} is missing: restore it from version control")
    frame = pl.read_csv(path)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(f"published numbers: {path} has no column '{missing[0]}'")
    return frame.select(columns)


def published_field(domain: str) -> str:
    """The paper's field that a domain belongs to: ``urban`` of ``urban`` and ``urban-published``.

    The name says only the field. Whether a domain replays published questions is in its metrics
    (``replayed`` of the family coverage), since a replay may be run under either name.
    """
    return domain.removesuffix(_REPLAYED_SUFFIX)
