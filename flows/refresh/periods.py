"""Periods of the schedule, and the history of what each of them ended as.

A period begins when the cron fires and is named by that moment in UTC. Prefect's own schedule tells
the moments, so that the server and this module agree on every one, also where clocks are put
forward or back.

data/metrics/history.csv, on the refresh's branch, has a row a refresh and domain, oldest first. It
holds no clock time but the period's own, so that the same period gives the same bytes.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from flows.sections import RefreshParams
from simulrag.errors import InputError
from simulrag.metrics.headline import Change
from simulrag.records import Record

_LOOK_BACK = (
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=8),
    timedelta(days=32),
    timedelta(days=367),
    timedelta(days=4 * 366 + 1),
)
_MOST = 1000
_FORM = "%Y-%m-%dT%H%MZ"


def fires(params: RefreshParams, after: datetime, until: datetime) -> list[datetime]:
    """Return the moments in (after, until], aware, in order.

    Raises InputError for a wrong schedule.
    """
    from prefect.server.schemas.schedules import CronSchedule

    try:
        schedule = CronSchedule(cron=params.cron, timezone=params.timezone)
    except ValueError as error:
        text = " ".join(str(error).split())[:200]
        raise InputError(f"operations.refresh.cron or timezone is wrong: {text}") from None
    dates = asyncio.run(schedule.get_dates(n=_MOST, start=after, end=until))
    return [moment for moment in (date.astimezone(UTC) for date in dates) if moment > after]


def last_fire(params: RefreshParams, now: datetime) -> datetime:
    """Return the beginning of the period that ``now`` lies in, which may be ``now`` itself."""
    for window in _LOOK_BACK:
        moments = fires(params, now - window, now)
        if moments:
            return moments[-1]
    raise InputError(f"operations.refresh.cron: '{params.cron}' has not fired for four years")


def name_of(moment: datetime) -> str:
    """'2026-11-23T0300Z': names sort as moments do, and stand in files and messages."""
    return moment.astimezone(UTC).strftime(_FORM)


def moment_of(name: str) -> datetime:
    """Return the beginning of a period. Raises InputError for anything but a name."""
    try:
        return datetime.strptime(name, _FORM).replace(tzinfo=UTC)
    except ValueError:
        raise InputError(
            f"'{name}' is not a period; write it like 2026-11-23T0300Z (UTC)"
        ) from None


def seed_of(name: str, seed: int) -> int:
    """Return the seed of a period's questions, from its name and params.yaml's ``benchmark.seed``.

    The same period has the same questions whenever it runs. 31 bits: any YAML reader's integer.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def owed(params: RefreshParams, last_done: str | None, now: datetime) -> str | None:
    """Return the period to make up: the latest, where it has begun after the last one done.

    Nothing is owed where no refresh was ever done: the first refresh is the first that fires.
    """
    latest = name_of(last_fire(params, now))
    return latest if last_done is not None and latest > last_done else None


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
        """Return the metrics of a domain that fell."""
        return [c.metric for c in self.changes if c.domain == domain and c.drop]


def rows_of(record: RefreshRecord, metrics: Path) -> list[dict[str, str]]:
    """Return a refresh's rows; ``metrics``: the folder of its ``<domain>.json``."""
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
    """Add a period's rows to the table, in place of those of an earlier run of it."""
    rows = [row for row in rows_in(text) if row["period"] != period]
    rows += added
    rows.sort(key=lambda row: row["period"])
    table = io.StringIO()
    writer = csv.DictWriter(table, [*_FIRST, *_METRICS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return table.getvalue()


def rows_in(text: str) -> list[dict[str, str]]:
    """Read the table."""
    return list(csv.DictReader(io.StringIO(text)))


def trend(history: Sequence[dict[str, str]]) -> str:
    """Write a bar a period, the newest last, for each domain and metric that is always defined."""
    lines = [_line(("domain", "metric", "periods", "least", "most")), _line(["---"] * 5)]
    for domain in dict.fromkeys(row["domain"] for row in history):
        for name in _METRICS:
            told = [row[name] for row in history if row["domain"] == domain][-26:]  # half a year
            if all(told) and len(told) > 1:
                values = [float(value) for value in told]
                least, most = min(values), max(values)
                bars = ["▁▂▃▄▅▆▇█"[round(7 * (v - least) / (most - least or 1))] for v in values]
                lines.append(_line((domain, name, "".join(bars), _text(least), _text(most))))
    return "\n".join(lines) if lines[2:] else ""


def page(
    record: RefreshRecord,
    rows: Sequence[dict[str, str]],
    differences: Iterable[tuple[str, str]] = (),
) -> str:
    """Write a refresh as Markdown, with its ``rows``; ``differences``: titles and tables to add."""
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
    """Return a line for each metric that fell."""
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
