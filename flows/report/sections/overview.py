"""What was found, where the numbers come from, and what there was to measure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flows.report.blocks import Block, Facts, ReportSection, Table, Text, few_words, percent
from flows.report.recipes import measured_recipes, to_choose_from
from flows.report.run import ReportedRun
from flows.report.sections import recipes
from flows.report.words import WORDS


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show what was asked of whom, and what came of it in a few sentences."""
    for domain in run.domains:
        if words := domain.little_checked(run.min_coverage):
            yield Text(f"{words}.", "warning", domain.title)
    if roles := [role for role, of in run.summary.models.items() if of.startswith(STAND_IN)]:
        yield Text(stand_in_words(roles), "warning", "Stand-ins")
    if not run.own_and_published[1]:  # it holds for all that is shown
        yield from _warnings(run)
    findings = list(recipes.meaning(run))
    if findings:
        yield Text(_lead(run), "lead")
        yield from (Text(line, "finding") for line in findings)
        yield from map(Text, few_words(run.own_and_published[0] or run.domains))
    else:
        yield Text("No question was answered, so nothing can be said.", "finding")


STAND_IN = "stand-in"
"""Its module would make the report rest on those of all models."""


def stand_in_words(roles: Sequence[str]) -> str:
    """Say that no number of a run means anything."""
    return (
        f"A stand-in takes the place of a model ({', '.join(roles)}): its replies fit and mean "
        "nothing, and so do these numbers."
    )


def sources(run: ReportedRun) -> Iterator[Block]:
    """Show where the numbers come from: models, recorded calls, coverage, short names."""
    if run.own_and_published[1]:
        yield from _warnings(run)
    yield Text(
        f"Brackets hold 95 % intervals from {run.settings.bootstrap} resamples of scenarios."
    )
    yield Facts("Models, simulators and parameters", tuple(_facts(run)))
    summary = run.summary
    whose = "" if set(summary.models) <= set(summary.replayed) else " of the "
    whose += " and ".join(f"{role} model" for role in summary.replayed) if whose else ""
    for sentence in provenance(summary.recorded):
        yield Text(sentence, title=f"How the calls{whose} were recorded")
    yield _coverage(run)
    yield Facts("Short names", tuple(WORDS.items()))


def _lead(run: ReportedRun) -> str:
    """Tell what was asked of what model, and what is compared."""
    own, published = run.own_and_published
    asked = [f"{domain.count('completed')} {domain.name}" for domain in own or published]
    total = sum(domain.count("completed") for domain in own or published)
    of = f"{total} questions ({', '.join(asked)})" if len(asked) > 1 else f"{asked[0]} questions"
    model = run.summary.models.get("answer")
    ways = {
        recipe.name
        for domain in own or published
        for recipe in to_choose_from(measured_recipes(run, domain))
    }
    how = "from a simulator's evidence"
    if len(ways) > 1:
        how = f"in {len(ways)} ways, with and without a simulator's evidence"
    apart = sum(domain.count("completed") for domain in published) if own else 0
    beside = f" {apart} published questions stand apart." if apart else ""
    return (
        f"{of} were answered{f' by {model}' if model else ''} {how}. Each claim of each answer was "
        f"judged by the reference: the right answer, made from simulator runs.{beside}"
    )


def provenance(recorded: str) -> list[str]:
    """Split a recording's text into paragraphs and list items, without headings and marks."""
    parts = re.split(r"\n\s*\n|\n(?=[-*] )", recorded.strip())
    lines = [" ".join(part.split()) for part in parts]
    said = [line for line in lines if not re.match(r"#|\||\*\*[^*]*\*\*$", line)]
    return [line for one in said if (line := re.sub(r"^[-*] |\*\*|`", "", one))]


def _warnings(run: ReportedRun) -> Iterator[Text]:
    replayed = sum(domain.count("replayed") for domain in run.domains)
    questions = sum(domain.count("questions") for domain in run.domains)
    if replayed:
        yield Text(
            f"For {replayed} of {questions} questions the evidence was looked up in published "
            "files. No tool was called, so this is not SimulRAG end to end.",
            "warning",
            "Oracle retrieval",
        )


def _facts(run: ReportedRun) -> Iterator[tuple[str, str]]:
    summary = run.summary
    for role, model in summary.models.items():
        replayed = ", replayed from recorded calls" if role in summary.replayed else ""
        yield f"{role} model", f"{model}{replayed}"
    for domain, simulator in summary.simulators.items():
        yield f"simulator, {domain}", simulator
    yield "confidence", run.settings.centrality
    if summary.params_hash:
        yield "parameters of domains, models, answer and metrics", summary.params_hash


def _coverage(run: ReportedRun) -> Table:
    counts = {
        "questions": "Questions",
        "completed": "Completed",
        "claims": "Claims",
        "with_evidence": "With evidence",
        "labels_missing": "Labels missing",
        "labels_unknown": "Labels of unknown texts",
    }
    rows = []
    for domain in run.domains:
        completed = domain.one("coverage", "completed")
        share = None if completed is None else domain.covered(completed.coverage)
        numbers = (f"{domain.count(name):,}" for name in counts)
        rows.append((domain.name, *numbers, percent(share)))
    return Table(
        name="coverage",
        caption="Questions and coverage",
        columns=("Domain", *counts.values(), "Coverage"),
        rows=tuple(rows),
        headers=1,
        fold="Questions and coverage",
    )


SECTION = ReportSection("overview", "Main findings", blocks)
SOURCES = ReportSection("sources", "Where the numbers come from", sources)
