"""The benchmark's questions, the tool calls made for them, and whose documents were used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from flows.report.blocks import (
    DASH,
    Block,
    Figure,
    ReportSection,
    Table,
    count,
    dot_figure,
    interval,
    listed,
    percent,
)
from flows.report.chart import BLUE
from flows.report.run import Credits, DomainTable, ReportedRun
from flows.report.sections.published import PAPER_STATISTICS, published_field
from simulrag.metrics.table import Measurement
from simulrag.records import DOCUMENT_TOOL, Answer

_STATISTICS = {
    "answer_words": "words of the reference answer",
    "claims": "claims of the reference",
    "quantitative_claims": "quantitative claims",
    "qualitative_claims": "qualitative claims",
    "open_claims": "reference claims beyond the evidence, which no answer is measured by",
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


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show tool-call accuracy, then the means of the benchmark beside the published ones."""
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
    found = [row for name in _ACCURACY for row in domain.rows("retrieval", name)]
    return dot_figure(
        domain.name,
        "retrieval",
        [(_share(row), row, BLUE) for row in found],
        "share of questions",
        caption="the tool calls made, against the known ones",
        of="counted",
        shares=True,
    )


def _retrieval(domain: DomainTable) -> Table:
    found = domain.rows("retrieval")
    return listed(
        [row for row in found if row.value is not None or not row.text("argument")],
        {
            "Share with": _share,
            "Value": interval,
            "Counted": lambda row: count(row.n),
            "Coverage": lambda row: percent(row.coverage),
        },
        name="retrieval",
        caption="the tool calls made, against the scenario each question is known for",
        domain=domain.name,
        headers=1,
        notes=(
            "Where a share is 0 or 1 resamples have no spread; by the rule of three up to 3 in the "
            "number of questions may still be otherwise.",
        ),
        line=_share,
        fold="Tool calls, every argument",
    )


def _share(row: Measurement) -> str:
    if argument := row.text("argument"):
        return f"{row.text('tool')}: {argument}"
    return _RETRIEVAL.get(row.metric, row.metric)


def _statistics(run: ReportedRun, domain: DomainTable) -> Table:
    theirs: dict[str, float] = {}
    if PAPER_STATISTICS in run.published:
        for line in run.published[PAPER_STATISTICS].iter_rows(named=True):
            if line["domain"] == published_field(domain.name):
                theirs = line
    return listed(
        domain.rows("benchmark"),
        {
            "Mean number of": _statistic,
            "This run": interval,
            "Published": lambda row: f"{theirs[row.metric]:g}" if row.metric in theirs else DASH,
            "Questions": lambda row: count(row.n),
        },
        name="benchmark",
        caption="the benchmark, means over its questions",
        domain=domain.name,
        headers=1,
        notes=("Published: the paper's Table 2, over its own questions, claims and tools.",),
        line=_statistic,
        fold="The benchmark's questions",
    )


def _statistic(row: Measurement) -> str:
    return _STATISTICS.get(row.metric, row.metric)


SECTION = ReportSection("benchmark", "Retrieval and benchmark", blocks)


_TOLD = ("document", "attribution", "licence")


def credited(answers: Iterable[Answer]) -> Credits:
    """Count the passages shown and the questions, by document, who is credited, and licence."""
    shown: Counter[tuple[str, ...]] = Counter()
    questions: Counter[tuple[str, ...]] = Counter()
    for answer in answers:
        found: Counter[tuple[str, ...]] = Counter()
        for evidence in answer.evidence:
            passages = evidence.outputs.get("passages")
            if evidence.call.tool == DOCUMENT_TOOL and isinstance(passages, list):
                told = (one for one in passages if isinstance(one, dict))
                found.update(tuple(str(one.get(name) or DASH) for name in _TOLD) for one in told)
        shown += found
        questions.update(found.keys())
    return {works: (shown[works], questions[works]) for works in sorted(shown)}


def documents(run: ReportedRun) -> Iterator[Block]:
    """Show a line a document."""
    for domain, found in run.credits.items():
        if found:
            yield Table(
                name="documents",
                caption=f"{domain}: documents whose passages were shown as evidence",
                columns=("Document", "By", "Licence", "Passages", "Questions"),
                rows=tuple((*works, *map(count, counts)) for works, counts in found.items()),
                headers=1,
                domain=domain,
            )


DOCUMENTS = ReportSection("documents", "Whose documents were used", documents)
