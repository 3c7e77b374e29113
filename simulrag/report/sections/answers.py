"""Final answers: every method at every budget, alike."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.names import CLOSED_BOOK, SIMULRAG
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement
from simulrag.report.blocks import Block, Figure, Section, Table, Text, budget, count, percent
from simulrag.report.build import dot_figure, paired, pivoted
from simulrag.report.chart import BLUE, GREY, RED
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
    one_sample = any(row.method == SIMULRAG and row.samples == 1 for row in found)
    treatment = "left out" if undecided == "excluded" else "counted as false"
    failed = "left out" if failures == "excluded" else "counted as zero"
    return pivoted(
        found,
        {"Method": lambda row: row.method, "Verified": budget, "m": lambda row: str(row.samples)},
        METRICS,
        {"Questions": lambda row: count(row.n), "Coverage": lambda row: percent(row.coverage)},
        name=name,
        caption=f"final answers; undecided claims {treatment}, failed questions {failed}",
        domain=domain.name,
        headers=3,
        strong=(SIMULRAG,),
        notes=(_ONE_SAMPLE,) if one_sample else (),
        line=line_name,
        fold=fold,
    )


def _figures(run: Run, domain: DomainTable) -> Iterator[Figure]:
    for metric in ("factuality", "informativeness"):
        title = METRICS[metric]
        found = leading_finals(run, domain, metric)
        looks = {SIMULRAG: RED, CLOSED_BOOK: GREY}
        yield dot_figure(
            domain.name,
            "answers",
            [(line_name(row), row, looks.get(row.method, BLUE)) for row in found],
            title.lower(),
            caption=f"{title.lower()} of final answers",
            of="questions",
            highest=1.0 if metric == "factuality" else None,
            name=f"answers-{metric}",
            choice=("Final answers by", title),
            leading=metric == "factuality",
        )


def _gains(run: Run, domain: DomainTable) -> Table:
    return paired(
        domain.rows("comparisons", level="answer", undecided=run.settings.undecided),
        {
            "Verified": budget,
            "m": lambda row: str(row.samples),
            "Baseline": lambda row: row.baseline,
            "Its m": lambda row: str(row.baseline_samples),
            "Metric": lambda row: METRICS[row.metric],
        },
        name="gains",
        caption=f"{SIMULRAG}'s final answers minus each baseline's",
        domain=domain.name,
        headers=5,
        notes=(
            "Only questions that both completed. Holm's correction runs over the baselines of one "
            "metric.",
        ),
        line=lambda row: f"{row.baseline}, m = {row.baseline_samples}",
        fold="Paired differences",
    )


SECTION = Section("answers", "Final answers", blocks)
