"""data/metrics/history.csv: a row a refresh and domain, oldest first; and the page of the last one.

It holds no clock time but the period's own, so that the same period gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from flows.files import write_text
from flows.project import Project
from simulrag.errors import InputError
from simulrag.metrics.drift import Change
from simulrag.records import Record

Status = Literal["completed", "regressed", "coverage_failed", "out_of_budget", "failed"]
COMPARABLE = ("completed", "regressed")
"""Refreshes that came through, with metrics to compare the next one with."""

_FIRST = ("period", "domain", "status", "seed", "source", "compared_with", "drops")
_METRICS = (
    *("questions", "coverage", "f1", "aupr", "auroc", "auroc_uncertainty"),
    *("informativeness", "factuality", "calls"),
)


class RefreshRecord(Record):
    """What a refresh ended as. ``changes`` is empty where there was nothing to compare with."""

    period: str
    status: Status
    seed: int
    source: str
    domains: tuple[str, ...]
    compared_with: str | None
    changes: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()

    def drops(self, domain: str) -> list[str]:
        """The metrics of a domain that fell."""
        return [c.metric for c in self.changes if c.domain == domain and c.drop]


def file_of(project: Project) -> Path:
    """The table."""
    return project.results.metrics / "history.csv"


def add_rows(project: Project, record: RefreshRecord) -> None:
    """Add a refresh's rows, in place of those of an earlier run of the same period."""
    path = file_of(project)
    rows = [row for row in _read(path) if row["period"] != record.period]
    for domain in record.domains:
        measured = project.results.metrics / f"{domain}.json"
        values = {}
        if record.status in COMPARABLE and measured.is_file():
            values = json.loads(measured.read_text(encoding="utf-8"))
        first = (record.period, domain, record.status, record.seed, record.source)
        cells = (*first, record.compared_with or "", " ".join(record.drops(domain)))
        row = dict(zip(_FIRST, map(str, cells), strict=True))
        for name in _METRICS:
            value = values.get(name)
            row[name] = "" if value is None else str(value)
        rows.append(row)
    rows.sort(
        key=lambda row: (
            row["period"],
            record.domains.index(row["domain"]) if row["domain"] in record.domains else -1,
        )
    )
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_FIRST, *_METRICS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def page(record: RefreshRecord, differences: Iterable[tuple[str, str]] = ()) -> str:
    """A refresh as Markdown; ``differences`` are titles and tables to add."""
    lines = [f"# Refresh {record.period}: {record.status}", ""]
    lines += [f"- {reason}" for reason in record.reasons]
    lines += [
        f"- benchmark.seed {record.seed}, source {record.source[:12]}, "
        f"compared with {record.compared_with or 'nothing: it is the first'}",
        "",
    ]
    if record.changes:
        lines += [
            "The two refreshes ask different questions, so they are compared as two independent",
            "samples: scenarios resampled within each, two-sided, Holm-adjusted over all rows.",
            "",
            "| domain | metric | before | after | change (95 %) | p | p, Holm | drop |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_row(change) for change in record.changes),
            "",
        ]
    for title, table in differences:
        lines += [f"## {title}", "", table or "nothing changed", ""]
    return "\n".join(lines)


def reasons_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """A line for each metric that fell."""
    return tuple(
        f"{c.domain}: {c.metric} fell from {_text(c.before)} to {_text(c.after)} "
        f"(p {_text(c.p_holm)}, Holm-adjusted)"
        for c in changes
        if c.drop
    )


def _row(change: Change) -> str:
    interval = (
        ""
        if change.lower_95 is None
        else (f" ({_text(change.lower_95)} to {_text(change.upper_95)})")
    )
    moved = f"{_text(change.difference)}{interval}" if not change.reason else change.reason
    cells = (
        change.domain, change.metric, _text(change.before), _text(change.after), moved,
        _text(change.p), _text(change.p_holm), "yes" if change.drop else "",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _text(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


def _read(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    wanted = {*_FIRST, *_METRICS}
    if any(set(row) != wanted for row in rows):
        raise InputError(f"{path} has other columns than a history; restore it from git")
    return rows
