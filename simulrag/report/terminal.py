"""The table at the end of a run: what the final answers are worth, in 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulrag.metrics.names import FINAL, NO_RAG, OURS, SIMULRAG
from simulrag.report.blocks import DASH, interval
from simulrag.report.run import DomainTable, Run
from simulrag.report.sections.answers import leading_finals

if TYPE_CHECKING:
    from rich.table import Table

_SHORT = {name: name.replace("-layer", "") for name in FINAL.values()}
_SHORT |= {name: name.removeprefix(f"{SIMULRAG} ") for name in OURS[1:]}


def terminal_table(run: Run) -> Table:
    """Final answers by domain, method and budget, and how well closeness ranks claims.

    A dash stands where a value is undefined; why, is said below and in the report.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        box=SIMPLE_HEAD,
        title="Final answers, and how well confidence ranks claims before verification",
        caption="\n".join(_caption(run)),
        width=80,
    )
    table.add_column("domain", max_width=14, overflow="fold")
    table.add_column("method", no_wrap=True)
    table.add_column("m", justify="right")
    table.add_column("true claims", justify="right")
    table.add_column("factuality [95 %]", justify="right", no_wrap=True)
    for domain in run.domains:
        for name, samples, claims, factuality, strong in _lines(run, domain):
            style = "bold" if strong else ""
            table.add_row(domain.name, name, samples, claims, factuality, style=style)
        auroc = domain.one("claims", method=NO_RAG, metric="auroc", **run.leading)
        ranked = f"AUROC of {run.settings.centrality}"
        table.add_row(domain.name, ranked, "", "", interval(auroc, places=2), end_section=True)
    return table


def _lines(run: Run, domain: DomainTable) -> list[tuple[str, str, str, str, bool]]:
    """Our methods at each budget from most samples, then every other line."""
    finals = leading_finals(run, domain)
    informative = {
        (row.method, row.budget_percent, row.samples, row.kappa): row
        for row in leading_finals(run, domain, "informativeness")
    }
    most = max((row.samples or 0 for row in finals), default=0)
    lines = []
    for row in finals:
        if row.method in OURS and row.samples != most:
            continue
        share = "" if row.budget_percent is None else f", {row.budget_percent:g} %"
        beside = informative.get((row.method, row.budget_percent, row.samples, row.kappa))
        claims = DASH if beside is None or beside.value is None else f"{beside.value:.1f}"
        without = ", no kappa" if row.kappa == 0 else ""
        name = _SHORT.get(row.method, row.method) + share + without
        factuality = interval(row, places=2)
        lines.append((name, str(row.samples), claims, factuality, row.method in OURS))
    return lines


def _caption(run: Run) -> list[str]:
    lines = [
        f"undecided claims: {run.settings.undecided}; RAG sees the whole evidence, so compare it",
        f"with {SIMULRAG} at 100 %",
    ]
    for domain in run.domains:
        reasons = {row.reason for row in leading_finals(run, domain) if row.value is None}
        lines += [f"{DASH}, {domain.name}: {reason}" for reason in sorted(reasons)]
    return lines
