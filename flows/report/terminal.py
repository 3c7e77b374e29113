"""The table at the end of a run: what each way to write an answer costs and is worth.

In 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flows.report.blocks import DASH, interval, number
from flows.report.recipes import (
    QUALITY,
    VariantSummary,
    measured_recipes,
    pooled,
    to_choose_from,
)
from flows.report.run import DomainTable, ReportedRun
from flows.report.sections.recipes import evidence_words, reliable_words, samples_words
from simulrag.metrics.methods import NO_RAG, OURS

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

_COLUMNS = (
    "calls",
    "true\nclaims",
    "share true\n[95 %]",
    "unde-\ncided",
    "asked\nvalues",
    "words",
)


def terminal_table(run: ReportedRun, *, every: bool = False) -> Group:
    """Print each own domain with the recipes to choose from (``every``: all), then the published.

    A dash stands where a value is undefined; why, is said below and in the report.
    """
    from rich.console import Group
    from rich.text import Text

    own, published = run.own_and_published
    parts: list[Text | Table] = []
    for domain in own:
        heading = f"{domain.name}, oracle retrieval" if domain.oracle else domain.name
        parts.append(Text(f"\n{heading}", style="bold"))
        parts += _warning(run, domain)
        recipes = measured_recipes(run, domain)
        parts.append(_table(recipes if every else to_choose_from(recipes)))
        parts += [Text(line, style="dim") for line in _below(run, domain)]
    if published:
        names = ", ".join(domain.name for domain in published)
        parts += [Text("\noracle retrieval", style="bold"), Text(names, style="dim")]
        for domain in published:
            parts += _warning(run, domain, f"{domain.name}: ")
        of_each = [measured_recipes(run, domain) for domain in published]
        chosen = {recipe.name for recipes in of_each for recipe in to_choose_from(recipes)}
        parts.append(
            _table([recipe for recipe in pooled(of_each) if every or recipe.name in chosen])
        )
    parts += [Text(""), *(Text(line, style="dim") for line in _caption(run, published))]
    return Group(*parts)


def _warning(run: ReportedRun, domain: DomainTable, before: str = "") -> list[Text]:
    """Warn in yellow where too few answers had evidence, dim where some had none."""
    from rich.text import Text

    if words := domain.little_checked(run.min_coverage):
        return [Text(f"{before}warning: {words}", style="yellow")]
    return [Text(f"{before}{words}", style="dim")] if (words := evidence_words(domain)) else []


def _table(recipes: Sequence[VariantSummary]) -> Table:
    """Tabulate a row a recipe; ours are set off."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, width=80, padding=0, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for recipe in recipes:
        cells = (
            number(recipe.value("calls"), 0),
            number(recipe.value("informativeness"), 1),
            interval(recipe.found.get("factuality"), places=2),
            number(recipe.value("undecided_claims"), 1),
            number(recipe.value("completeness"), 2),
            number(recipe.value("words"), 0),
        )
        table.add_row(recipe.name, *cells, style="bold" if recipe.method in OURS else "")
    return table


def _below(run: ReportedRun, domain: DomainTable) -> Iterator[str]:
    yield from reliable_words(domain)
    auroc = domain.one("claims", method=NO_RAG, metric="auroc", **run.leading)
    if auroc is not None:
        yield (
            f"confidence before verification: AUROC of {run.settings.centrality} "
            f"{interval(auroc, places=2)}"
        )
    recipes = measured_recipes(run, domain)
    rows = (recipe.found[name] for recipe in recipes for name in QUALITY if name in recipe.found)
    reasons = {row.reason for row in rows if row.value is None}
    yield from (f"{DASH}: {reason}" for reason in sorted(reasons - {""}))


def _caption(run: ReportedRun, published: Sequence[DomainTable]) -> Iterator[str]:
    recipes = [recipe for domain in run.domains for recipe in measured_recipes(run, domain)]
    if words := samples_words(recipes):
        yield words
    yield "calls, true claims, undecided (by the reference), words: a question."
    yield "asked values: the share of what was asked that the answer states."
    yield f"undecided claims in share true: {run.settings.undecided}"
    if published:
        questions = sum(domain.count("questions") for domain in published)
        yield (
            f"Oracle retrieval: {questions} published questions with their published evidence, "
            "no interval."
        )
