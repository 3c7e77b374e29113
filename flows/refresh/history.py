"""data/metrics/history.csv: a row a refresh and domain, oldest first; and the page of one.

Both are on the refresh's branch. The table holds no clock time but the period's own, so that the
same period gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from simulrag.errors import InputError
from simulrag.metrics.headline import Change
from simulrag.records import Record

Status = Literal["completed", "regressed", "coverage_failed", "out_of_budget", "failed"]
COMPARABLE = ("completed", "regressed")
"""Refreshes that came through, with metrics to compare the next one with."""

_FIRST = ("period", "domain", "status", "seed", "source", "compared_with", "drops")
_METRICS = (
    "questions",
    "coverage",
    "f1",
    "aupr",
    "auroc",
    "auroc_uncertainty",
    "informativeness",
    "factuality",
    "calls",
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


def rows_of(record: RefreshRecord, metrics: Path) -> list[dict[str, str]]:
    """A refresh's rows; ``metrics``: the folder of its ``<domain>.json``."""
    rows = []
    for domain in record.domains:
        measured = json.loads((metrics / f"{domain}.json").read_text(encoding="utf-8"))
        first = (record.period, domain, record.status, record.seed, record.source)
        cells = (*first, record.compared_with or "", " ".join(record.drops(domain)))
        row = dict(zip(_FIRST, map(str, cells), strict=True))
        for name in _METRICS:
            value = measured.get(name)
            row[name] = "" if value is None else str(value)
        rows.append(row)
    return rows


def with_rows(text: str, period: str, added: Iterable[dict[str, str]]) -> str:
    """The table with a period's rows added, in place of those of an earlier run of it.

    Raises InputError for another table.
    """
    rows = [row for row in _parsed(text) if row["period"] != period]
    rows += added
    rows.sort(key=lambda row: row["period"])
    table = io.StringIO()
    writer = csv.DictWriter(table, [*_FIRST, *_METRICS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def page(
    record: RefreshRecord,
    rows: Sequence[dict[str, str]],
    differences: Iterable[tuple[str, str]] = (),
) -> str:
    """A refresh as Markdown, with its ``rows``; ``differences`` are titles and tables to add."""
    lines = [f"# Refresh {record.period}: {record.status}", ""]
    lines += [f"- {reason}" for reason in record.reasons]
    lines += [
        f"- benchmark.seed {record.seed}, source {record.source[:12]}, "
        f"compared with {record.compared_with or 'nothing: it is the first'}",
        "",
        _line(("metric", *(row["domain"] for row in rows))),
        _line(("---", *("---" for _ in rows))),
        *(_line((name, *(row[name] or "undefined" for row in rows))) for name in _METRICS),
        "",
    ]
    if record.changes:
        lines += [
            "The two refreshes ask different questions, so they are compared as two independent "
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
    moved = change.reason or _text(change.difference)
    if not change.reason and change.lower_95 is not None:
        moved += f" ({_text(change.lower_95)} to {_text(change.upper_95)})"
    numbers = (_text(change.before), _text(change.after), moved, _text(change.p))
    drop = "yes" if change.drop else ""
    cells = (change.domain, change.metric, *numbers, _text(change.p_holm), drop)
    return _line(cells)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"


def _parsed(text: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    if any(set(row) != {*_FIRST, *_METRICS} for row in rows):
        raise InputError("data/metrics/history.csv has other columns than a history has")
    return rows
