"""The paper's own numbers, shown beside ours and never mixed with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from simulrag.errors import InputError
from simulrag.metrics.claim_level import BUDGETED, OURS
from simulrag.metrics.names import FIGURE_METRICS
from simulrag.metrics.tables import Tables
from simulrag.records import Answer, Question
from simulrag.report.tables import TableView

_COLUMNS = ("domain", "metric", "method", "model", "budget_percent", "value")
_BENCHMARK_COLUMNS = (
    *("domain", "answer_words", "claims", "quantitative_claims"),
    *("qualitative_claims", "tool_parameters"),
)
PAPER_METRICS = {1: FIGURE_METRICS, 3: {"precision": "Precision", "recall": "Recall", "f1": "F1"}}
"""What the paper's tables of methods hold, by their number."""
PAPER_STATISTICS = 2
"""The number of the paper's table of benchmark statistics."""

_REPLAYED_SUFFIX = "-published"


@dataclass(frozen=True)
class Replayed:
    """How many of the completed questions are published ones with their published evidence."""

    replayed: int
    completed: int

    @property
    def sentence(self) -> str:
        """What a reader must know before comparing with the published numbers."""
        if self.replayed == self.completed:
            return (
                f"All {self.completed} completed questions are published ones, answered from "
                "their published evidence. Models and sampling may differ from the paper's."
            )
        if self.replayed:
            return (
                f"{self.replayed} of {self.completed} completed questions are published ones with "
                "their published evidence; the others are not, so like is not compared with like."
            )
        return (
            "This run's questions and simulator runs are others than the published ones, so like "
            "is not compared with like."
        )


def read_published(folder: Path, table: str = "table1") -> pl.DataFrame:
    """A table from ``folder``: domain, metric, method, model, budget_percent, value.

    ``table1`` holds F1, AUPR and AUROC, ``table3`` precision, recall and F1. Raises InputError
    where the file is missing or lacks a column.
    """
    return _read(folder / f"{table}.csv", _COLUMNS)


def read_published_benchmark(folder: Path) -> pl.DataFrame:
    """Table 2 from ``folder/table2.csv``: domain, then means named as in ``benchmark.csv``.

    Raises InputError where the file is missing or lacks a column.
    """
    return _read(folder / f"table{PAPER_STATISTICS}.csv", _BENCHMARK_COLUMNS)


def _read(path: Path, columns: tuple[str, ...]) -> pl.DataFrame:
    if not path.is_file():
        raise InputError(f"published numbers: {path} is missing: restore it from version control")
    frame = pl.read_csv(path)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(f"published numbers: {path} has no column '{missing[0]}'")
    return frame.select(columns)


def published_field(domain: str) -> str:
    """The paper's field that a domain belongs to: ``urban`` of ``urban`` and ``urban-published``.

    The name says the field alone. Whether a domain replays published questions is in its records
    (``replayed``), since a replay may be run under either name.
    """
    return domain.removesuffix(_REPLAYED_SUFFIX)


def replayed(pairs: Iterable[tuple[Question, Answer]]) -> Replayed:
    """How far a domain's questions and evidence are the published ones."""
    complete = [
        question.source == "published"
        and answer.retrieval is not None
        and answer.retrieval.status == "oracle"
        for question, answer in pairs
        if answer.failure is None
    ]
    return Replayed(sum(complete), len(complete))


def published_view(
    tables: Tables, domain: str, published: pl.DataFrame, like: Replayed, number: int = 1
) -> TableView | None:
    """Our values beside the paper's Table 1 or 3, with a sentence on what may be compared.

    None where the paper has no such field, or no question of ours completed.
    """
    field = published_field(domain)
    theirs = published.filter(pl.col("domain") == field)
    if theirs.is_empty() or like.completed == 0:
        return None
    models = theirs["model"].unique(maintain_order=True).to_list()
    settings = tables.settings
    ours = tables.claim_level.filter(
        (pl.col("domain") == domain)
        & (pl.col("centrality") == settings.centrality)
        & (pl.col("undecided") == settings.undecided)
    )
    rows: list[tuple[str, ...]] = []
    strong = []
    for metric, title in PAPER_METRICS[number].items():
        for budget in settings.budgets_percent:
            for method in BUDGETED:
                same = (
                    (pl.col("method") == method)
                    & (pl.col("budget_percent") == budget)
                    & (pl.col("metric") == metric)
                )
                cells = [_only(ours.filter(same)["value"])]
                cells += [
                    _only(theirs.filter(same & (pl.col("model") == model))["value"])
                    for model in models
                ]
                if method == OURS:
                    strong.append(len(rows))
                shown = ("—" if value is None else f"{value:.3f}" for value in cells)
                rows.append((f"{title}, {budget} %", method, *shown))
    return TableView(
        caption=f"{domain}: this run beside the published Table {number}, {field}",
        columns=("Metric, budget", "Method", "This run", *(f"Published, {m}" for m in models)),
        rows=tuple(rows),
        strong=tuple(strong),
        notes=(
            like.sentence,
            "The published Table 1 disagrees with the paper's own Table 3 in 23 of 72 F1 cells.",
        ),
    )


def _only(values: pl.Series) -> float | None:
    found: list[float | None] = values.to_list()
    return found[0] if found else None
