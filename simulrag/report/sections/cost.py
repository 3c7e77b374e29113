"""Calls, tokens and money: of each method by itself, by step, and of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from simulrag.metrics.names import SIMULRAG, UE_SBA
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.report.blocks import DASH, Block, Section, Table, budget, why
from simulrag.report.run import DomainTable, Run
from simulrag.report.sections.claims import by_calls

COUNTS = {
    "calls": "Calls",
    "input_tokens": "Input tokens",
    "cached_input_tokens": "Cached input tokens",
    "cache_write_tokens": "Cache writes",
    "output_tokens": "Output tokens",
    "simulator_runs": "Simulator runs",
    "usd": "US dollars",
}
_ALL = "all"


def blocks(run: Run) -> Iterator[Block]:
    """What each method buys with its calls; the tables are folded."""
    for domain in run.domains:
        if domain.rows("method_cost"):
            yield from by_calls(run, domain)
    for family, table in (
        ("method_cost", _by_method),
        ("cost", _by_step),
        ("spending", _by_model),
    ):
        for domain in run.domains:
            found = domain.rows(family)
            if found:
                yield table(domain, found)


def _by_method(domain: DomainTable, found: Sequence[Measurement]) -> Table:
    whole = [row for row in found if row.step == _ALL]
    lines = _lines(whole, lambda row: (row.level, row.method, row.budget_percent, row.samples))
    columns = _columns(whole)
    rows = [
        (
            first.method,
            budget(first) if first.budget_percent is not None else DASH,
            DASH if first.samples is None else str(first.samples),
            *_cells(by_metric, columns),
        )
        for first, by_metric in lines
    ]
    return Table(
        name="method-cost",
        caption=f"{domain.name}: cost a question of each method by itself",
        columns=("Method", "Verified", "m", *columns.values()),
        rows=tuple(rows),
        headers=3,
        strong=tuple(i for i, row in enumerate(rows) if row[0] in (SIMULRAG, UE_SBA)),
        notes=(
            "Lines without m select claims and write one answer; lines with m are final answers. "
            f"data/metrics/{domain.name}.csv has every step.",
            *_notes(whole),
        ),
        domain=domain.name,
        fold="Each method by itself",
    )


def _by_step(domain: DomainTable, found: Sequence[Measurement]) -> Table:
    columns = _columns(found)
    lines = _lines(found, lambda row: row.step)
    return Table(
        name="cost",
        caption=f"{domain.name}: cost a question by step, paid for now or before",
        columns=("Step", *columns.values()),
        rows=tuple((first.step, *_cells(by_metric, columns)) for first, by_metric in lines),
        headers=1,
        strong=tuple(i for i, (first, _) in enumerate(lines) if first.step == _ALL),
        notes=tuple(_notes(found)),
        domain=domain.name,
        fold="Cost by step",
    )


def _by_model(domain: DomainTable, found: Sequence[Measurement]) -> Table:
    columns = _columns(found)
    dates = sorted({row.as_of for row in found if row.as_of})
    return Table(
        name="spending",
        caption=f"{domain.name}: the whole run by stage and model, paid for now or before",
        columns=("Stage", "Model", *columns.values()),
        rows=tuple(
            (first.stage, first.model, *_cells(by_metric, columns))
            for first, by_metric in _lines(found, lambda row: (row.stage, row.model))
        ),
        notes=(*([f"Prices as of {', '.join(dates)}."] if dates else []), *_notes(found)),
        domain=domain.name,
        fold="Calls and money of the whole run",
    )


def _lines(
    rows: Sequence[Measurement], key: Callable[[Measurement], object]
) -> list[tuple[Measurement, dict[str, Measurement]]]:
    """The rows by line, in order: a first one to name it by, and its metrics."""
    lines: dict[object, dict[str, Measurement]] = {}
    for row in rows:
        lines.setdefault(key(row), {})[row.metric] = row
    return [(next(iter(by_metric.values())), by_metric) for by_metric in lines.values()]


def _columns(rows: Sequence[Measurement]) -> dict[str, str]:
    """The metrics that the rows have, each estimate beside what could not be counted."""
    there = {row.metric for row in rows}
    columns = {}
    for metric, title in COUNTS.items():
        if metric in there:
            columns[metric] = title
        if metric + ESTIMATED in there:
            columns[metric + ESTIMATED] = f"{title}, estimated"
    return columns


def _cells(by_metric: dict[str, Measurement], columns: dict[str, str]) -> Iterator[str]:
    for metric in columns:
        row = by_metric.get(metric)
        if row is None or row.value is None:
            yield DASH
        elif metric == "usd":
            yield f"{row.value:,.4f}"
        else:
            yield f"{row.value:,.0f}" if row.family == "spending" else f"{row.value:,.1f}"


def _notes(rows: Sequence[Measurement]) -> list[str]:
    notes = why(
        (row for row in rows if row.value is None),
        lambda row: COUNTS.get(row.metric, row.metric).lower().replace("us d", "US d"),
    )
    notes = [note[:1].upper() + note[1:] for note in notes]
    if any(row.metric.endswith(ESTIMATED) for row in rows):
        notes.append("Estimated: the characters of the stored messages and replies, by 4.")
    return notes


SECTION = Section("cost", "Cost", blocks)
