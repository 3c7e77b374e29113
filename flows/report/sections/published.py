"""The paper's own numbers beside this run's, never mixed with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flows.report.blocks import DASH, Block, ReportSection, Table, Text
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.errors import InputError
from simulrag.metrics.methods import BASELINES, FIGURE_METRICS, UE_SBA

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
    """Read a table of ``folder``: domain, metric, method, model, budget_percent, value.

    ``table1`` holds F1, AUPR and AUROC, ``table3`` precision, recall and F1. Raises InputError
    where the file is missing or lacks a column.
    """
    return _read(folder / f"{table}.csv", _COLUMNS)


def read_published_benchmark(folder: Path) -> pl.DataFrame:
    """Read Table 2 from ``folder/table2.csv``: domain, then means.

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
    """Name the paper's field of a domain: ``urban`` of ``urban`` and ``urban-published``.

    The name says only the field. Whether a domain replays published questions is in its metrics
    (``replayed`` of the family coverage), since a replay may be run under either name.
    """
    return domain.removesuffix(_REPLAYED_SUFFIX)


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show the paper's Tables 1 and 3 for domains that it has, after what may be compared."""
    tables = list(_tables(run))
    for domain in run.domains:
        if any(table.domain == domain.name for table in tables):
            yield Text(f"{domain.title}: {comparable(domain)}", domain=domain.name)
    if tables:
        yield Text(
            "The published Table 1 disagrees with the paper's own Table 3 in 23 of 72 F1 cells."
        )
    yield from tables


def _tables(run: ReportedRun) -> Iterator[Table]:
    for number, metrics in PAPER_METRICS.items():
        for domain in run.domains:
            if number in run.published:
                yield from _beside(run, domain, run.published[number], number, metrics)


def comparable(domain: DomainTable) -> str:
    """Say what a reader must know before comparing with the published numbers."""
    replayed, completed = domain.count("replayed"), domain.count("completed")
    if replayed == completed:
        return (
            f"All {completed} completed questions are published ones, answered from their "
            "published evidence. Models and sampling may differ from the paper's."
        )
    if replayed:
        return (
            f"{replayed} of {completed} completed questions are published ones with their "
            "published evidence; the others are not, so like is not compared with like."
        )
    return (
        "This run's questions and simulator runs are others than the published ones, so like is "
        "not compared with like."
    )


def _beside(
    run: ReportedRun,
    domain: DomainTable,
    published: pl.DataFrame,
    number: int,
    metrics: dict[str, str],
) -> Iterator[Table]:
    field = published_field(domain.name)
    theirs: dict[tuple[str, float, str, str], float] = {}
    for row in published.iter_rows(named=True):
        if row["domain"] == field:
            key = (row["metric"], float(row["budget_percent"]), row["method"], row["model"])
            theirs[key] = row["value"]
    if not theirs or not domain.count("completed"):
        return
    models = list(dict.fromkeys(model for *_, model in theirs))
    rows = []
    for metric, title in metrics.items():
        for share in run.settings.budgets_percent:
            for method in (*BASELINES, UE_SBA):
                ours = domain.one(
                    "claims", metric=metric, budget_percent=share, method=method, **run.leading
                )
                values = [ours.value if ours else None]
                values += [
                    theirs.get((metric, share, method_name(method), model)) for model in models
                ]
                shown = (DASH if value is None else f"{value:.3f}" for value in values)
                rows.append((f"{title}, {share} %", method_name(method), *shown))
    yield Table(
        name=f"table{number}",
        caption=f"{domain.name}: this run beside the published Table {number}, {field}",
        columns=("Metric, budget", "Method", "This run", *(f"Published, {m}" for m in models)),
        rows=tuple(rows),
        strong=tuple(index for index, row in enumerate(rows) if row[1] == UE_SBA),
        notes=(comparable(domain),),
        domain=domain.name,
        fold=f"Table {number}",
    )


SECTION = ReportSection("published", "Published numbers beside ours", blocks)
