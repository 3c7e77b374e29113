"""The benchmark's questions, and the tool calls made for them."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.published import PAPER_STATISTICS, published_field
from simulrag.metrics.table import Measurement
from simulrag.report.blocks import (
    DASH,
    Block,
    Figure,
    Section,
    Table,
    count,
    interval,
    percent,
    why,
)
from simulrag.report.chart import BLUE, Point, dots
from simulrag.report.run import DomainTable, Run

_STATISTICS = {
    "answer_words": "words of the reference answer",
    "claims": "claims of the reference",
    "quantitative_claims": "quantitative claims",
    "qualitative_claims": "qualitative claims",
    "tool_parameters": "parameters of the tool calls",
}
_RETRIEVAL = {
    "tool": "the known tools",
    "call": "the known calls, every argument",
    "arguments": "arguments, of those that differ between questions",
    "failed": "no calls that could be run",
    "not_applicable": "no tool seen to apply",
    "second_attempt": "a second attempt",
}

_ACCURACY = ("tool", "call", "arguments")


def blocks(run: Run) -> Iterator[Block]:
    """Tool-call accuracy, then the means of the benchmark beside the published ones."""
    for domain in run.domains:
        if domain.rows("retrieval"):
            yield _figure(domain)
    for domain in run.domains:
        if domain.rows("retrieval"):
            yield _retrieval(domain)
    for domain in run.domains:
        if domain.rows("benchmark"):
            yield _statistics(run, domain)


def _figure(domain: DomainTable) -> Figure:
    found = [row for name in _ACCURACY for row in domain.rows("retrieval", name, argument="")]
    rows = []
    for row in found:
        name = f"{_share(row)}: {percent(row.value)}"
        said = f"{_share(row)}: {interval(row)}, {count(row.n)} counted"
        point = None
        if row.value is not None:
            point = Point(row.value, 0, said, row.lower_95, row.upper_95)
        rows.append((name, point, BLUE))
    return Figure(
        name=f"{domain.name}-retrieval",
        kind="retrieval",
        caption=f"{domain.title}: the tool calls made, against the known ones. Bars: 95 % "
        "intervals.",
        text=f"Tool calls, {domain.name}: {'; '.join(name for name, _, _ in rows)}.",
        svg=dots(rows, "share of questions", 1.0),
        domain=domain.name,
    )


def _retrieval(domain: DomainTable) -> Table:
    found = domain.rows("retrieval")
    return Table(
        name="retrieval",
        caption=f"{domain.name}: the tool calls made, against the scenario each question is known "
        "for",
        columns=("Share with", "Value", "Counted", "Coverage"),
        rows=tuple(
            (_share(row), interval(row), count(row.n), percent(row.coverage))
            for row in found
            if row.value is not None or not row.argument
        ),
        headers=1,
        notes=(
            "Where a share is 0 or 1 resamples have no spread; by the rule of three up to 3 in the "
            "number of questions may still be otherwise.",
            *why((row for row in found if not row.argument), _share),
        ),
        domain=domain.name,
        fold="Tool calls, every argument",
    )


def _share(row: Measurement) -> str:
    return f"{row.tool}: {row.argument}" if row.argument else _RETRIEVAL.get(row.metric, row.metric)


def _statistics(run: Run, domain: DomainTable) -> Table:
    found = domain.rows("benchmark")
    theirs: dict[str, float] = {}
    if PAPER_STATISTICS in run.published:
        for row in run.published[PAPER_STATISTICS].iter_rows(named=True):
            if row["domain"] == published_field(domain.name):
                theirs = row
    return Table(
        name="benchmark",
        caption=f"{domain.name}: the benchmark, means over its questions",
        columns=("Mean number of", "This run", "Published", "Questions"),
        rows=tuple(
            (
                _STATISTICS.get(row.metric, row.metric),
                interval(row),
                f"{theirs[row.metric]:g}" if row.metric in theirs else DASH,
                count(row.n),
            )
            for row in found
        ),
        headers=1,
        notes=(
            "Published: the paper's Table 2, over its own questions, claims and tools.",
            *why(found, lambda row: _STATISTICS.get(row.metric, row.metric)),
        ),
        domain=domain.name,
        fold="The benchmark's questions",
    )


SECTION = Section("benchmark", "Retrieval and benchmark", blocks)
