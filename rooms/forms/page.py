"""Questions by form under their conditions; shown where the stage ``forms_metrics`` was run."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.files import record_lines
from flows.hooks import RunOutputs
from flows.report.blocks import (
    DASH,
    Block,
    Columns,
    ReportSection,
    Table,
    Text,
    count,
    paired,
    percent,
    pivoted,
)
from flows.report.run import DomainTable, ReportedRun
from rooms.forms.records import (
    COMPARISONS,
    FAMILY,
    LEVELS,
    METRICS,
    OVERALL,
    FormScore,
    metrics_table,
    scores_file,
)
from rooms.forms.settings import FormsParams
from simulrag.metrics.table import Measurement, read_table, rows_of

EXAMPLES = 2
"""Questions of each form that are shown, of those that the conditions tell apart first."""
_TITLES = {"choice": "multiple choice", "freeform": "freeform answers", "cloze": "cloze"}
_PUBLISHED = {
    3: {"mcq": ("accuracy", 100), "em": ("exact", 100), "ps": ("ps", 1)},
    4: {"bleu": ("bleu_char", 1), "bert": ("bertscore", 1), "fa": ("fa", 1)},
}
"""By table: its columns' names, and our measure and its scale there."""
_OTHER_DATA = (
    "Published: ClimaQA (arXiv 2410.16701v1), 502 gold questions from climate textbooks: another "
    "data version than the released one, and other questions than this run's. There BERTScore is "
    "of roberta-large, phrase similarity of USE/4 and factual accuracy of a GPT-4 judge; their "
    "BLEU is of characters."
)
READS = ("data/forms", "data/metrics")
KNOWN = 0.95
"""The share right without evidence from which questions tell nothing of a model."""
BINS = ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))
"""Of the stated probability."""


@dataclass(frozen=True)
class AnsweredForms:
    """What was measured of a source's answers by form (its long table), and some to look at.

    ``stated``: of freeform answers with numbers, the probability that the reference supports them
    as a model states it, and whether arithmetic finds the reference's numbers in them.
    """

    table: DomainTable
    examples: tuple[FormScore, ...]
    stated: tuple[tuple[float, bool], ...] = ()


@dataclass(frozen=True)
class FormsFound:
    """By source what was measured; ``published``: the rows of ClimaQA's tables, as printed."""

    sources: Mapping[str, AnsweredForms]
    published: Sequence[Mapping[str, str]] = ()


def read(outs: RunOutputs) -> FormsFound | None:
    """Read the long tables and some answers of the sources that were measured."""
    sources = {}
    for source in outs.params.room(FormsParams).sources if outs.ours else ():
        if (path := metrics_table(outs.place, source)).is_file():
            table = DomainTable.of(source, rows_of(read_table(path)))
            scores = list(record_lines(scores_file(outs.place, source), FormScore))
            sources[source] = AnsweredForms(table, examples(scores), stated(scores))
    return FormsFound(sources, read_published(outs.project.published)) if sources else None


def read_published(folder: Path) -> list[dict[str, str]]:
    """Read ClimaQA's Tables 3 and 4 as printed, a row a model; [] without the file."""
    path = folder / "climaqa.csv"
    return list(csv.DictReader(path.open(encoding="utf-8"))) if path.is_file() else []


def examples(scores: Iterable[FormScore]) -> tuple[FormScore, ...]:
    """Return the answers to some questions of each form, all conditions of a question together."""
    by_question: dict[str, list[FormScore]] = {}
    for row in scores:
        by_question.setdefault(row.question_id, []).append(row)
    shown: list[FormScore] = []
    for form, (metric, *_) in METRICS.items():
        of_form = [rows for rows in by_question.values() if rows[0].form == form]
        differ = [-len({row.values.get(metric) for row in rows}) for rows in of_form]
        first = sorted(range(len(of_form)), key=differ.__getitem__)[:EXAMPLES]
        shown += [row for index in first for row in of_form[index]]
    return tuple(shown)


def stated(scores: Iterable[FormScore]) -> tuple[tuple[float, bool], ...]:
    """Return the stated probability of each freeform answer, and whether its numbers are right."""
    return tuple(
        (score.values["p_supports"], bool(score.values["number"]))
        for score in scores
        if {"p_supports", "number"} <= score.values.keys()
    )


def known_without(source: str, table: DomainTable) -> str:
    """Say how many choices and clozes a model gets right that is shown nothing; "" if none."""
    counted, shares = [], []
    for metric, what in (("accuracy", "choices"), ("exact_folded", "clozes")):
        by_condition = {
            row.method: row
            for row in table.rows(FAMILY, metric, level=OVERALL)
            if row.value is not None and row.n
        }
        if (alone := by_condition.pop("nothing", None)) is None:
            continue
        shares.append(alone.value or 0.0)
        given = max((row.value or 0.0 for row in by_condition.values()), default=None)
        beside = "" if given is None else f" (with the source {given * (alone.n or 0):.0f})"
        counted.append(f"{(alone.value or 0.0) * (alone.n or 0):.0f} of {alone.n} {what}{beside}")
    if not counted:
        return ""
    measures = (
        "such questions no longer measure this model"
        if min(shares) >= KNOWN
        else "such questions measure what evidence adds"
    )
    return f"{source}: shown nothing, the model gets {' and '.join(counted)} right: {measures}."


def _calibration(source: str, stated: Sequence[tuple[float, bool]]) -> Table:
    """Show how often an answer's numbers are right where a model states so high a probability."""
    rows = []
    for low, high in BINS:
        inside = [right for chance, right in stated if low <= chance < high]
        if inside:
            ends = f"{100 * low:.0f} to {min(100 * high, 100):.0f} %"
            rows.append((ends, count(len(inside)), percent(sum(inside) / len(inside))))
    brier = sum((chance - right) ** 2 for chance, right in stated) / len(stated)
    return Table(
        name="forms-calibration",
        caption=f"{source}: stated probability that the reference supports an answer",
        columns=("Stated", "Answers", "With the reference's numbers"),
        rows=tuple(rows),
        headers=1,
        notes=(f"Brier score {brier:.3f} over {len(stated)} answers whose reference has numbers.",),
        domain=source,
    )


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Yield of each source its measures by form, differences, examples; the published tables."""
    forms: FormsFound | None = run.rooms.get("forms")
    if forms is None:
        return
    for source, shown in forms.sources.items():
        if words := known_without(source, shown.table):
            yield Text(words)
    for source, shown in forms.sources.items():
        rows = shown.table.rows(FAMILY)
        heads: Columns = {"Answered from": lambda row: row.method, "Level": lambda row: row.level}
        for form, names in METRICS.items():
            of_form = [row for row in rows if _name(row) in names]
            if of_form:
                yield pivoted(
                    of_form,
                    heads,
                    {row.metric: row.metric for row in of_form},
                    {
                        "Answers": lambda row: count(row.n),
                        "Coverage": lambda row: percent(row.coverage),
                    },
                    name=f"forms-{form}",
                    caption=f"{_TITLES[form]}, by what was shown to the model",
                    domain=source,
                    line=lambda row: row.metric,
                )
        if shown.stated:
            yield _calibration(source, shown.stated)
        yield paired(
            shown.table.rows(COMPARISONS),
            {
                "Metric": lambda row: row.metric,
                "Answered from": lambda row: row.method,
                "Less": lambda row: row.baseline,
            },
            name="forms-differences",
            caption="one condition minus another, on the questions that both answered",
            domain=source,
            headers=3,
            line=lambda row: row.metric,
            fold="Differences between conditions",
            notes=("Scenarios are drawn with all forms and levels of their questions.",),
        )
        yield _shown(source, shown.examples)
        for number in _PUBLISHED if forms.published else ():
            yield _beside(source, rows, number, forms.published)


def _name(row: Measurement) -> str:
    """Return a measure's name without its encoder's or evaluator's."""
    return row.metric.partition("[")[0]


def _shown(source: str, scores: Sequence[FormScore]) -> Table:
    rows = []
    for score in scores:
        values = (f"{name} {value:.2f}" for name, value in score.values.items())
        asked = (f"{score.form}, {score.level}", score.text, score.reference)
        answer = (score.answer or DASH, score.failure or ", ".join(values))
        rows.append((*asked, score.condition, *answer))
    return Table(
        name="forms-examples",
        caption=f"{source}: questions to look at",
        columns=("Form", "Question", "Reference", "Answered from", "Answer", "Measures"),
        rows=tuple(rows),
        headers=1,
        prose=(1, 2, 4),
        domain=source,
        fold="Examples",
    )


def _beside(
    source: str,
    ours: Sequence[Measurement],
    number: int,
    theirs: Sequence[Mapping[str, str]],
) -> Table:
    """Show a published table with this run's conditions above it."""
    by_place = {(row.method, _name(row), row.level): row for row in ours}
    columns: dict[str, tuple[str, str, int]] = {}
    for key, (metric, scale) in _PUBLISHED[number].items():
        for level in (*LEVELS, OVERALL):
            if (name := f"{key}_{level[0]}") in theirs[0]:
                columns[name] = (metric, level, scale)
        if key in theirs[0]:
            columns[key] = (metric, OVERALL, scale)
    rows = []
    for condition in dict.fromkeys(row.method for row in ours):
        cells = []
        for metric, level, scale in columns.values():
            row = by_place.get((condition, metric, level))
            value = None if row is None else row.value
            cells.append(DASH if value is None else f"{value * scale:.{2 if scale > 1 else 3}f}")
        rows.append((f"this run, {condition}", *cells))
    strong = tuple(range(len(rows)))
    rows += [(row["model"], *(row[name] for name in columns)) for row in theirs]
    titles = (f"{metric}, {level}" for metric, level, _ in columns.values())
    return Table(
        name=f"climaqa-table{number}",
        caption=f"{source}: this run beside ClimaQA's Table {number}, which is of other data",
        columns=("Answers", *titles),
        rows=tuple(rows),
        headers=1,
        strong=strong,
        notes=(_OTHER_DATA,),
        domain=source,
        fold=f"ClimaQA's Table {number}",
    )


SECTION = ReportSection("forms", "Questions by form", blocks, after="documents")
