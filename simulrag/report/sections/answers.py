"""Final answers: every method at every budget, alike."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.names import CLOSED_BOOK, SIMULRAG
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement
from simulrag.report.blocks import (
    DASH,
    Block,
    Figure,
    Section,
    Table,
    Text,
    budget,
    count,
    interval,
    percent,
    why,
)
from simulrag.report.chart import BLUE, GREY, RED, Point, dots
from simulrag.report.run import DomainTable, Run

METRICS = {
    "informativeness": "Informativeness",
    "factuality": "Factuality",
    "factuality_per_question": "Factuality, mean of questions",
}
LIKE_WITH_LIKE = (
    f"RAG baselines see the whole evidence, so {SIMULRAG} at 100 % (every claim in the simulator's "
    "reach is verified) is the line to compare with them like with like. At a smaller budget it "
    "verified only that share of all claims; closed book saw no evidence at all."
)
_ONE_SAMPLE = (
    f"{SIMULRAG} at m = 1: every claim has the same confidence, so claims are not rankable; those "
    "verified were drawn from the ones that the simulator can check."
)


def blocks(run: Run) -> Iterator[Block]:
    """A figure and a table a domain; other treatments of the same answers are folded."""
    measured = [domain for domain in run.domains if domain.rows("answers")]
    if not measured:
        return
    yield Text(
        "Each final answer was decomposed by one prompt, its claims labelled. Informativeness: "
        "true claims a question, each counted once. Factuality: true claims by all claims, over "
        "all questions together. m: sampled answers behind a final one. " + LIKE_WITH_LIKE
    )
    for domain in measured:
        yield from _figures(run, domain)
    undecided = run.settings.undecided
    other = next(name for name in TREATMENTS if name != undecided)
    for domain in measured:
        yield finals_table(domain, undecided, "excluded", "answers", "")
    for domain in measured:
        fold = "Undecided claims the other way, failures as zero"
        yield finals_table(domain, other, "excluded", f"answers-undecided-{other}", fold)
        yield finals_table(domain, undecided, "zero", "answers-failures-zero", fold)
    for domain in measured:
        yield _gains(run, domain)


def budgets_of(domain: DomainTable) -> list[float | None]:
    """The budgets that the domain's final answers of SimulRAG were made at."""
    return list(
        dict.fromkeys(row.budget_percent for row in domain.rows("answers", method=SIMULRAG))
    )


def leading_finals(run: Run, domain: DomainTable, metric: str = "factuality") -> list[Measurement]:
    """A metric of every final answer, failed questions left out."""
    return domain.rows(
        "answers", metric=metric, failures="excluded", undecided=run.settings.undecided
    )


def line_name(row: Measurement) -> str:
    """A final answer's line: "SimulRAG, 25 %, m = 5"."""
    share = "" if row.budget_percent is None else f", {row.budget_percent:g} %"
    return f"{row.method}{share}, m = {row.samples}"


def finals_table(domain: DomainTable, undecided: str, failures: str, name: str, fold: str) -> Table:
    """Every method's final answers by budget and m."""
    found = domain.rows("answers", undecided=undecided, failures=failures)
    lines: dict[tuple[str, float | None, int | None], dict[str, Measurement]] = {}
    for row in found:
        lines.setdefault((row.method, row.budget_percent, row.samples), {})[row.metric] = row
    rows = []
    for (method, _, samples), by_metric in lines.items():
        first = next(iter(by_metric.values()))
        values = (interval(by_metric.get(metric)) for metric in METRICS)
        cells = (*values, count(first.n), percent(first.coverage))
        rows.append((method, budget(first), str(samples), *cells))
    one_sample = any(row[0] == SIMULRAG and row[2] == "1" for row in rows)
    treatment = "left out" if undecided == "excluded" else "counted as false"
    return Table(
        name=name,
        caption=f"{domain.name}: final answers; undecided claims {treatment}, failed questions "
        + ("left out" if failures == "excluded" else "counted as zero"),
        columns=("Method", "Verified", "m", *METRICS.values(), "Questions", "Coverage"),
        rows=tuple(rows),
        headers=3,
        strong=tuple(index for index, row in enumerate(rows) if row[0] == SIMULRAG),
        notes=(*((_ONE_SAMPLE,) if one_sample else ()), *why(found, line_name)),
        domain=domain.name,
        fold=fold,
    )


def _figures(run: Run, domain: DomainTable) -> Iterator[Figure]:
    for metric in ("factuality", "informativeness"):
        title = METRICS[metric]
        found = leading_finals(run, domain, metric)
        drawn = []
        for row in found:
            look = {SIMULRAG: RED, CLOSED_BOOK: GREY}.get(row.method, BLUE)
            said = f"{line_name(row)}: {title.lower()} {interval(row)}, {row.n} questions"
            point = (
                None if row.value is None else Point(row.value, 0, said, row.lower_95, row.upper_95)
            )
            drawn.append((line_name(row), point, look))
        values = "; ".join(f"{line_name(row)} {interval(row)}" for row in found)
        yield Figure(
            name=f"{domain.name}-answers-{metric}",
            kind="answers",
            caption=f"{domain.title}: {title.lower()} of final answers. Bars: 95 % intervals.",
            text=f"{title} of final answers, {domain.name}: {values}.",
            svg=dots(drawn, title.lower(), 1.0 if metric == "factuality" else None),
            domain=domain.name,
            choice=("Final answers by", title),
            leading=metric == "factuality",
        )


def _gains(run: Run, domain: DomainTable) -> Table:
    found = domain.rows("comparisons", level="answer", undecided=run.settings.undecided)
    gains = {_pair(row): row for row in found if row.unit == "percent"}
    shown = [row for row in found if row.unit == "difference"]
    return Table(
        name="gains",
        caption=f"{domain.name}: {SIMULRAG}'s final answers minus each baseline's",
        columns=("Verified", "m", "Baseline", "Its m", "Metric", "Difference", *GAIN_COLUMNS),
        rows=tuple(
            (
                budget(row),
                str(row.samples),
                row.baseline,
                str(row.baseline_samples),
                METRICS[row.metric],
                interval(row, signed=True),
                *gain_cells(row, gains.get(_pair(row))),
            )
            for row in shown
        ),
        headers=5,
        notes=(
            "Only questions that both completed. Holm's correction runs over the baselines of one "
            "metric.",
            *why(shown, lambda row: f"{row.baseline}, m = {row.baseline_samples}"),
        ),
        domain=domain.name,
        fold="Paired differences",
    )


GAIN_COLUMNS = ("Gain, %", "p", "p, Holm")


def gain_cells(row: Measurement, gain: Measurement | None) -> tuple[str, str, str]:
    """The gain in percent of the baseline, p, and p after Holm's correction."""
    text = DASH
    if gain is not None and gain.value is not None:
        text = f"{gain.value:+.1f}"
        if gain.lower_95 is not None and gain.upper_95 is not None:
            text += f" [{gain.lower_95:+.1f}, {gain.upper_95:+.1f}]"
    return text, _p(row.p), _p(row.p_holm)


def _p(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def _pair(row: Measurement) -> tuple[object, ...]:
    return (row.budget_percent, row.samples, row.baseline, row.baseline_samples, row.metric)


SECTION = Section("answers", "Final answers", blocks)
