"""What was found, where the numbers come from, and what there was to measure.

A sentence states an interval and claims no more than it allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulrag.metrics.names import CLOSED_BOOK, NO_RAG, OURS, SIMULRAG, UE_SBA
from simulrag.metrics.table import Measurement
from simulrag.report.blocks import Block, Facts, Section, Table, Text, interval, percent
from simulrag.report.run import DomainTable, Run
from simulrag.report.sections.answers import LIKE_WITH_LIKE, budgets_of, leading_finals


def blocks(run: Run) -> Iterator[Block]:
    """Findings first, then provenance and coverage."""
    yield from _warnings(run)
    found = [one for domain in run.domains for one in findings(run, domain)]
    yield from found
    if not found:
        yield Text("No question was answered, so nothing can be said.", "finding")
    if any(budgets_of(domain) for domain in run.domains):
        yield Text(LIKE_WITH_LIKE)
    yield Text(
        f"Brackets hold 95 % intervals from {run.settings.bootstrap} resamples of scenarios."
    )
    yield Facts(tuple(_facts(run)))
    summary = run.summary
    whose = "" if set(summary.models) <= set(summary.replayed) else " of the "
    whose += " and ".join(f"{role} model" for role in summary.replayed) if whose else ""
    for sentence in provenance(summary.recorded):
        yield Text(sentence, title=f"How the calls{whose} were recorded")
    yield _coverage(run)


def findings(run: Run, domain: DomainTable) -> Iterator[Text]:
    """Final answers at each budget, then claims at the middle budget."""
    for sentence in (*_answer_level(run, domain), *_claim_level(run, domain)):
        yield Text(sentence, "finding", domain=domain.name)


def provenance(recorded: str) -> list[str]:
    """What a recording's text says: its paragraphs and list items, without headings and marks."""
    parts = re.split(r"\n\s*\n|\n(?=[-*] )", recorded.strip())
    lines = [" ".join(part.split()) for part in parts]
    said = [line for line in lines if not re.match(r"#|\||\*\*[^*]*\*\*$", line)]
    return [line for one in said if (line := re.sub(r"^[-*] |\*\*|`", "", one))]


def _warnings(run: Run) -> Iterator[Text]:
    replayed = sum(domain.count("replayed") for domain in run.domains)
    questions = sum(domain.count("questions") for domain in run.domains)
    if replayed:
        yield Text(
            f"For {replayed} of {questions} questions the evidence was looked up in published "
            "files. No tool was called, so this is not SimulRAG end to end.",
            "warning",
            "Oracle retrieval",
        )


def _answer_level(run: Run, domain: DomainTable) -> Iterator[str]:
    for method in OURS:
        for budget in sorted(budgets_of(domain, method), key=lambda value: -(value or 0)):
            yield _final_answers(run, domain, method, budget)


def _final_answers(run: Run, domain: DomainTable, method: str, budget: float | None) -> str:
    ours = [
        row
        for row in leading_finals(run, domain)
        if row.method == method and row.budget_percent == budget
    ]
    line = max(ours, key=lambda row: (row.samples or 0, row.kappa or 0))
    what = "claims" if method == SIMULRAG else "subjects"
    share = "selected by tau" if budget is None else f"{budget:g} % of the {what} verified"
    start = f"Final answers, {share}: "
    if line.value is None:
        return f"{start}the share of true claims is not known ({line.reason})."
    gaps = domain.rows(
        "comparisons", level="answer", metric="factuality", unit="difference", method=method,
        budget_percent=budget, samples=line.samples, kappa=line.kappa,
        undecided=run.settings.undecided,
    )  # fmt: skip
    known = sorted((gap for gap in gaps if gap.value is not None), key=lambda gap: gap.value or 0)
    sentence = f"{start}{interval(line)} of {method}'s claims are true"
    if not known:
        return f"{sentence}; no baseline could be measured."
    least = known[0]
    sentence += f"; against the best baseline, {_baseline(least)}, that is {_difference(least)}"
    closed = [gap for gap in known if gap.baseline == CLOSED_BOOK]
    if closed and closed[0] is not least:
        sentence += f", and against {_baseline(closed[0])}, {_difference(closed[0])}"
    return f"{sentence}."


def _claim_level(run: Run, domain: DomainTable) -> Iterator[str]:
    budget = run.settings.headline_budget
    ours = domain.one("claims", method=UE_SBA, metric="auroc", budget_percent=budget, **run.leading)
    if ours is None:
        return
    before = domain.one("claims", method=NO_RAG, metric="auroc", **run.leading)
    start = f"Claims, {budget} % of them verified: "
    if ours.value is None:
        yield f"{start}the AUROC of {UE_SBA} is not known ({ours.reason})."
        return
    sentence = f"{start}{UE_SBA} has an AUROC of {interval(ours)}"
    if before is not None and before.value is not None:
        sentence += f" ({interval(before)} before verification)"
    gaps = domain.rows(
        "comparisons", level="claim", metric="auroc", unit="difference", budget_percent=budget,
        **run.leading,
    )  # fmt: skip
    known = [gap for gap in gaps if gap.value is not None]
    if not known:
        yield f"{sentence}; no baseline could be measured."
        return
    least = min(known, key=lambda gap: gap.value or 0)
    yield f"{sentence}; against the best baseline, {least.baseline}, that is {_difference(least)}."


def _baseline(gap: Measurement) -> str:
    return (
        gap.baseline
        if gap.baseline_samples is None
        else f"{gap.baseline} at m = {gap.baseline_samples}"
    )


def _difference(gap: Measurement) -> str:
    text = f"a difference of {interval(gap, signed=True)}"
    if gap.lower_95 is None or gap.upper_95 is None:
        return f"{text}, without an interval"
    if gap.lower_95 > 0 or gap.upper_95 < 0:
        return text
    return f"{text}: the interval holds 0, so neither is shown to be better"


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    summary = run.summary
    for role, model in summary.models.items():
        replayed = ", replayed from recorded calls" if role in summary.replayed else ""
        yield f"{role} model", f"{model}{replayed}"
    for domain, simulator in summary.simulators.items():
        yield f"simulator, {domain}", simulator
    yield "confidence", run.settings.centrality
    if summary.params_hash:
        yield "parameters of domains, models, answer and metrics", summary.params_hash


def _coverage(run: Run) -> Table:
    counts = {
        "questions": "Questions",
        "completed": "Completed",
        "claims": "Claims",
        "labels_missing": "Labels missing",
        "labels_unknown": "Labels of unknown texts",
    }
    rows = []
    for domain in run.domains:
        completed = domain.one("coverage", "completed")
        share = None if completed is None else completed.coverage
        numbers = (f"{domain.count(name):,}" for name in counts)
        rows.append((domain.name, *numbers, percent(share)))
    return Table(
        name="coverage",
        caption="Questions and coverage",
        columns=("Domain", *counts.values(), "Coverage"),
        rows=tuple(rows),
        headers=1,
    )


SECTION = Section("overview", "Main findings", blocks)
