"""Final answers: every method at every budget, alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.report.blocks import (
    Block,
    Figure,
    ReportSection,
    Table,
    Text,
    budget,
    count,
    dot_figure,
    interval,
    kappas,
    paired,
    percent,
    pivoted,
)
from flows.report.chart import BLUE, GREY, RED, Look
from flows.report.run import DomainTable, ReportedRun
from flows.report.sections.recipes import recipe_table
from flows.report.words import method_name
from simulrag.metrics.methods import CLOSED_BOOK, GROUNDED, OURS, SIMULRAG
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement

LABELLED = {
    "informativeness": "Informativeness",
    "factuality": "Factuality",
    "factuality_per_question": "Factuality, mean of questions",
    "completeness": "Completeness",
}
"""What the labels of claims say; it depends on how undecided claims and failures are counted."""
METRICS = {
    **LABELLED,
    "false_claims": "False",
    "undecided_claims": "Undecided",
    "words": "Words",
    "claims_sent": "Claims sent",
}
LIKE_WITH_LIKE = (
    f"RAG baselines see the whole evidence, so {method_name(SIMULRAG)} at 100 % (every claim "
    "in the simulator's reach is verified) is the line to compare with them like with like. At a "
    "smaller budget it verified only that share of all claims; closed book saw no evidence at all."
)
_ONE_SAMPLE = (
    f"{method_name(SIMULRAG)} at m = 1: every claim has the same confidence, so claims are not "
    "rankable; those verified were drawn from the ones that the simulator can check."
)


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show a figure and a table a domain; other treatments of the same answers are folded."""
    measured = [domain for domain in run.domains if domain.rows("answers")]
    if not measured:
        return
    yield Text(
        "Each final answer was decomposed by one prompt, its claims labelled. Informativeness: "
        "true claims a question, each counted once. Factuality (share true): true claims by all "
        "claims, over all questions together. Completeness (asked): of the values that a generated "
        "question asks for, the share that a true claim states. Undecided: claims a question that "
        "the reference does not settle, those on what it was asked beyond the simulator among "
        "them. m: sampled answers behind a final one."
    )
    if any(domain.rows("answers", method=SIMULRAG) for domain in measured):
        yield Text(LIKE_WITH_LIKE)
    if any(domain.rows("answers", method=GROUNDED) for domain in measured):
        yield Text(
            f"{method_name(GROUNDED)}: input-layer RAG's answer, every claim of it held against "
            "the runs, further runs made for what is open, and mended where something was wrong or "
            "missing."
        )
    for domain in measured:
        yield from _figures(run, domain)
    yield recipe_table(run, measured, "answers", "final answers", every=True)
    undecided = run.settings.undecided
    other = next(name for name in TREATMENTS if name != undecided)
    for domain in measured:
        fold = "Undecided claims the other way, failures as zero"
        yield finals_table(domain, other, "excluded", f"answers-undecided-{other}", fold)
        yield finals_table(domain, undecided, "zero", "answers-failures-zero", fold)
    for domain in measured:
        for method in OURS:
            rows = domain.rows(
                "comparisons", level="answer", undecided=run.settings.undecided, method=method
            )
            if rows:
                yield _gains(domain, method, rows)


def leading_finals(
    run: ReportedRun, domain: DomainTable, metric: str = "factuality"
) -> list[Measurement]:
    """Find the rows of a metric of every final answer, failed questions left out."""
    return domain.rows(
        "answers", metric=metric, failures="excluded", undecided=run.settings.undecided
    )


def line_name(row: Measurement) -> str:
    """Name a final answer's line: "SimulRAG, 25 %, m = 5"; "without kappa" only where it is so."""
    share = "" if row.budget_percent is None else f", {row.budget_percent:g} %"
    return f"{method_name(row.method)}{share}, m = {row.samples}" + (
        ", without kappa" if row.kappa == 0 else ""
    )


def finals_table(domain: DomainTable, undecided: str, failures: str, name: str, fold: str) -> Table:
    """Tabulate what the labels of every final answer say, by another treatment of the labels."""
    rows = domain.rows("answers", undecided=undecided, failures=failures)
    one_sample = any(row.method == SIMULRAG and row.samples == 1 for row in rows)
    treatment = "left out" if undecided == "excluded" else "counted as false"
    failed = "left out" if failures == "excluded" else "counted as zero"
    return pivoted(
        rows,
        {
            "Method": lambda row: method_name(row.method),
            "Budget": budget,
            **kappas(rows),
            "m": lambda row: str(row.samples),
        },
        LABELLED,
        {
            "Questions": lambda row: count(row.n),
            "Coverage": lambda row: percent(domain.covered(row.coverage)),
        },
        lambda row: interval(row, places=1 if row.metric == "informativeness" else 3),
        name=name,
        caption=f"final answers; undecided claims {treatment}, failed questions {failed}",
        domain=domain.name,
        headers=3,
        strong=OURS,
        notes=(_ONE_SAMPLE,) if one_sample else (),
        line=line_name,
        fold=fold,
    )


def _figures(run: ReportedRun, domain: DomainTable) -> Iterator[Figure]:
    for metric in ("factuality", "informativeness", "completeness"):
        title = METRICS[metric]
        rows = leading_finals(run, domain, metric)
        if metric == "completeness" and all(row.value is None for row in rows):
            continue
        looks: dict[str, Look] = {**dict.fromkeys(OURS, RED), CLOSED_BOOK: GREY}
        yield dot_figure(
            domain.name,
            "answers",
            [(line_name(row), row, looks.get(row.method, BLUE)) for row in rows],
            title.lower(),
            caption=f"{title.lower()} of final answers",
            of="questions",
            highest=None if metric == "informativeness" else 1.0,
            name=f"answers-{metric}",
            choice=("Final answers by", title),
            leading=metric == "factuality",
        )


def _gains(domain: DomainTable, method: str, rows: Sequence[Measurement]) -> Table:
    return paired(
        rows,
        {
            "Budget": budget,
            **kappas(rows),
            "m": lambda row: str(row.samples),
            "Baseline": _baseline,
            "Its m": lambda row: f"{row.number('baseline_samples'):g}",
            "Metric": lambda row: METRICS[row.metric],
        },
        name="gains" if method == SIMULRAG else f"gains-{method.replace('_', '-')}",
        caption=f"{method_name(method)}: its final answers minus each baseline's",
        domain=domain.name,
        headers=5,
        notes=(
            "Only questions that both completed. Holm's correction runs over the baselines of one "
            "metric.",
        ),
        line=lambda row: f"{_baseline(row)}, m = {row.number('baseline_samples'):g}",
        fold="Paired differences",
    )


def _baseline(row: Measurement) -> str:
    """Its method's name, with its budget where it has one."""
    share = row.number("baseline_budget_percent")
    return method_name(row.baseline) + ("" if share is None else f" at {share:g} %")


SECTION = ReportSection("answers", "Final answers", blocks)
