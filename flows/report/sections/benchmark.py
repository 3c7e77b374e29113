"""The benchmark: its questions, the tool calls made for them, whose documents were used.

And the paper's own numbers beside this run's, never mixed with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flows.report.blocks import (
    DASH,
    Block,
    Figure,
    ReportSection,
    Table,
    Text,
    count,
    dot_figure,
    few_words,
    interval,
    listed,
    number,
    percent,
    why,
)
from flows.report.chart import BLUE
from flows.report.run import Credits, DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import BASELINES, FIGURE_METRICS, UE_SBA
from simulrag.metrics.table import Measurement
from simulrag.records import DOCUMENT_TOOL, Answer

if TYPE_CHECKING:
    import polars as pl

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
    retrieved = [domain for domain in run.domains if domain.rows("retrieval")]
    yield from map(_figure, retrieved)
    yield from map(_retrieval, retrieved)
    for domain in run.domains:
        if domain.rows("benchmark"):
            yield _statistics(run, domain)


def _figure(domain: DomainTable) -> Figure:
    rows = [row for name in _ACCURACY for row in domain.rows("retrieval", name)]
    return dot_figure(
        domain.name,
        "retrieval",
        [(_share(row), row, BLUE) for row in rows],
        "share of questions",
        caption="the tool calls made, against the known ones",
        of="counted",
        shares=True,
    )


def _retrieval(domain: DomainTable) -> Table:
    rows = domain.rows("retrieval")
    return listed(
        [row for row in rows if row.value is not None or not row.text("argument")],
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
    for domain, credits in run.credits.items():
        if credits:
            yield Table(
                name="documents",
                caption=f"{domain}: documents whose passages were shown as evidence",
                columns=("Document", "By", "Licence", "Passages", "Questions"),
                rows=tuple((*works, *map(count, counts)) for works, counts in credits.items()),
                headers=1,
                domain=domain,
            )


DOCUMENTS = ReportSection("documents", "Whose documents were used", documents)


PAPER_METRICS = {1: FIGURE_METRICS, 3: {"precision": "Precision", "recall": "Recall", "f1": "F1"}}
"""What the paper's tables of methods hold, by their number."""
PAPER_STATISTICS = 2
"""The number of the paper's table of benchmark statistics."""

_REPLAYED_SUFFIX = "-published"


def read_published(folder: Path) -> dict[int, pl.DataFrame]:
    """Read the paper's tables that are there, ``tableN.csv``, by number.

    Table 2 has a row a domain, with means named as the metrics of the family benchmark. The others
    have domain, metric, method, model, budget_percent and value: Table 1 of F1, AUPR and AUROC,
    Table 3 of precision, recall and F1.
    """
    import polars as pl

    files = {number: folder / f"table{number}.csv" for number in (*PAPER_METRICS, PAPER_STATISTICS)}
    return {number: pl.read_csv(file) for number, file in files.items() if file.is_file()}


def published_field(domain: str) -> str:
    """Name the paper's field of a domain: ``urban`` of ``urban`` and ``urban-published``.

    The name says only the field. Whether a domain replays published questions is in its metrics
    (``replayed`` of the family coverage), since a replay may be run under either name.
    """
    return domain.removesuffix(_REPLAYED_SUFFIX)


def beside_published(run: ReportedRun) -> Iterator[Block]:
    """Show the paper's Tables 1 and 3 with this run's numbers, all domains in one table."""
    tables = [
        table
        for number, metrics in PAPER_METRICS.items()
        if number in run.published and (table := _beside(run, number, metrics))
    ]
    if tables:
        yield Text(
            "The published Table 1 disagrees with the paper's own Table 3 in 23 of 72 F1 cells."
        )
    yield from tables


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


def _beside(run: ReportedRun, table: int, metrics: Mapping[str, str]) -> Table | None:
    """Tabulate a row a domain, metric, budget and method; None where the paper has no such domain.

    Each value of this run has its interval, each domain how many questions it is of.
    """
    theirs = {
        (row["domain"], row["metric"], float(row["budget_percent"]), row["method"], row["model"]): (
            row["value"]
        )
        for row in run.published[table].iter_rows(named=True)
    }
    fields = {field for field, *_ in theirs}
    shown = [
        domain
        for domain in run.domains
        if published_field(domain.name) in fields and domain.count("completed")
    ]
    if not shown:
        return None
    models = list(dict.fromkeys(model for *_, model in theirs))
    rows, ours = list[tuple[str, ...]](), list[Measurement]()
    for domain in shown:
        field, asked = published_field(domain.name), domain.count("completed")
        for metric, title in metrics.items():
            for share in run.settings.budgets_percent:
                for method in (*BASELINES, UE_SBA):
                    own = domain.one(
                        "claims", metric=metric, budget_percent=share, method=method, **run.leading
                    )
                    ours += [own] if own else []
                    name = method_name(method)
                    values = (theirs.get((field, metric, share, name, model)) for model in models)
                    rows.append(
                        (
                            *(f"{domain.name} (n = {asked})", f"{title}, {share} %", name),
                            interval(own, places=3),
                            *(number(value, 3) for value in values),
                        )
                    )
    return Table(
        name=f"table{table}",
        caption=f"This run beside the published Table {table}",
        columns=(
            *("Domain", "Metric, budget", "Method"),
            run.summary.models.get("answer", "This run"),
            *(f"Published, {model}" for model in models),
        ),
        rows=tuple(rows),
        headers=3,
        strong=tuple(at for at, row in enumerate(rows) if row[2] == method_name(UE_SBA)),
        notes=(
            *(f"{domain.title}: {comparable(domain)}" for domain in shown),
            *(f"{few} Compare none of them with the published ones." for few in few_words(shown)),
            *why(ours, lambda row: f"{row.domain}, {row.metric}, {method_name(row.method)}"),
        ),
        fold=f"Table {table}",
    )


PUBLISHED = ReportSection("published", "Published numbers beside ours", beside_published)
