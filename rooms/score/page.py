"""The measures of SCORE, by method; shown where the stage ``score`` was run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flows.hooks import RunOutputs
from flows.report.blocks import (
    DASH,
    Block,
    Figure,
    ReportSection,
    Table,
    Text,
    count,
    dot_figure,
    interval,
    percent,
)
from flows.report.chart import BLUE, GREY, RED, Look
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from rooms.score.records import table_of
from rooms.score.scored import MEASURES, NOT_ASKED, RAG
from rooms.score.settings import ScoreParams
from simulrag.metrics.methods import CLOSED_BOOK, OURS
from simulrag.metrics.table import Measurement, read_table, rows_of

ABOUT = (
    "No reference is used here. Specificity: of the details that claims state, the share that "
    "judges find in the evidence. Relevance: how near questions asked back from the masked answer "
    "come to the real one. Reworded: the same question in other words, answered anew; claims are "
    "compared as numbers, directions and classes. Moved as simulated: the question about another "
    "scenario, answered anew; the share of answers that moved as the simulator's outputs did. "
    "Context use: by how much the answer's words are less probable to a proxy model without each "
    "piece of evidence. Closed book saw no evidence: what it reaches, a measure gives for nothing. "
    "docs/further-measures.md says which of them to trust for what."
)
DRAWN = ("specificity", "relevance", "same_claims", "moved", "context_use", "evidence_used")
READS = ("data/metrics",)


def read(outs: RunOutputs) -> dict[str, list[Measurement]] | None:
    """Read the rows of the domains that were scored; files of an earlier run are passed over."""
    wanted = outs.params.room(ScoreParams).domains if outs.ours else outs.domains
    tables = {
        name: DomainTable.of(name, rows_of(read_table(path))).rows("score")
        for name in wanted
        if (path := table_of(outs.place, name)).is_file()
    }
    return tables or None


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Yield what scores tell of recipes against RAG, then pictures and a table a domain.

    Nothing where the stage was not run.
    """
    scores: Mapping[str, Sequence[Measurement]] = run.rooms.get("score", {})
    if scores:
        yield from against_rag(scores)
        yield Text(ABOUT)
    for domain, rows in scores.items():
        yield from score_figures(domain, rows)
        yield score_table(domain, rows)


def against_rag(scores: Mapping[str, Sequence[Measurement]]) -> Iterator[Block]:
    """Yield by recipe what it has more than RAG, question by question: a sentence and a table."""
    held = {
        (row.method, row.baseline)
        for rows in scores.values()
        for row in rows
        if row.baseline in RAG and row.method in OURS
    }
    for method, rag in sorted(held):
        rows = {
            domain: {row.metric: row for row in rows if (row.method, row.baseline) == (method, rag)}
            for domain, rows in scores.items()
        }
        name = f"{method_name(method)} less {method_name(rag)}"
        compared = [row for own in rows.values() for row in own.values() if row.metric in MEASURES]
        apart = [
            f"{MEASURES[row.metric].title} ({row.domain}) {interval(row, signed=True)}"
            for row in compared
            if (row.lower_95 or 0) > 0 or (row.upper_95 or 0) < 0
        ]
        told = sum(row.lower_95 is not None for row in compared)
        says = f"{'; '.join(apart)}; else" if apart else ""
        of = f"no difference beyond its interval, of {told} that have one"
        yield Text(f"{name}: {says} {of}.".replace("  ", " "), role="finding")
        same = [rows[domain].get("same_text") for domain in rows]
        texts = ("Texts that are one", *(percent(row.value) if row else DASH for row in same))
        lines = [
            (measure.title, *(interval(own.get(metric), signed=True) for own in rows.values()))
            for metric, measure in MEASURES.items()
            if any(metric in own for own in rows.values())
        ]
        yield Table(
            name=f"score-{method}-{rag}",
            caption=f"{name}, question by question",
            columns=("Measure", *rows),
            rows=(texts, *lines),
            headers=1,
            notes=("Where a text is one, only answers to reworded questions can differ.",),
        )


def score_figures(domain: str, rows: Sequence[Measurement]) -> Iterator[Figure]:
    """Yield a picture a leading measure: a row a method."""
    looks: dict[str, Look] = {**dict.fromkeys(OURS, RED), CLOSED_BOOK: GREY}
    for name in DRAWN:
        drawn = [row for row in rows if row.metric == name and not row.baseline]
        title = MEASURES[name].title
        if any(row.value is not None for row in drawn):
            yield dot_figure(
                domain,
                "score",
                [(method_name(row.method), row, looks.get(row.method, BLUE)) for row in drawn],
                title.lower(),
                caption=f"{title.lower()} by method",
                of="answers",
                highest=None if name == "context_use" else 1.0,
                name=f"score-{name}",
                choice=("Scores by", title),
                leading=name == DRAWN[0],
            )


def score_table(domain: str, rows: Sequence[Measurement]) -> Table:
    """Show a row a measure, a column a method, and one for its difference to closed book.

    Coverage is of the answers that a measure was asked of.
    """
    means = [row for row in rows if not row.baseline]
    differences = [row for row in rows if row.baseline == CLOSED_BOOK]
    lines, compared = list(_by_line(means)), list(_by_line(differences))
    cells = []
    lacking: dict[str, list[str]] = {}
    for name, measure in MEASURES.items():
        by_line = _by_line(row for row in means if row.metric == name)
        less = _by_line(row for row in differences if row.metric == name)
        if by_line:
            places = 4 if "forcing" in measure.needs else 3 if measure.needs else 1
            shown = [interval(by_line.get(line), places=places) for line in lines]
            shown += [interval(less.get(line), places=places, signed=True) for line in compared]
            shares = dict.fromkeys(percent(row.coverage) for row in by_line.values())
            numbers = dict.fromkeys(count(row.n) for row in by_line.values())
            cells.append((measure.title, *shown, ", ".join(numbers), ", ".join(shares)))
            for reason in dict.fromkeys(row.reason for row in by_line.values() if row.reason):
                lacking.setdefault(reason, []).append(measure.title)
        elif measure.needs and (off := NOT_ASKED.get(measure.needs[0])):
            lacking.setdefault(off, []).append(measure.title)
    return Table(
        name="score",
        caption=f"{domain}: scores without a reference, means of answers",
        columns=(
            "Measure",
            *(f"{method_name(method)}, m = {m}" for method, m in lines),
            *(_difference(method, len(compared)) for method, _ in compared),
            "Answers",
            "Coverage",
        ),
        rows=tuple(cells),
        headers=1,
        notes=tuple(f"{'; '.join(titles)}: {reason}." for reason, titles in lacking.items()),
        domain=domain,
    )


def _by_line(rows: Iterable[Measurement]) -> dict[tuple[str, int | None], Measurement]:
    return {(row.method, row.samples): row for row in rows}


def _difference(method: str, columns: int) -> str:
    return (
        "Difference"
        if columns == 1
        else f"{method_name(method)} less {method_name(CLOSED_BOOK).lower()}"
    )


SECTION = ReportSection("score", "Scores without a reference", blocks, after="documents")
