"""Figures for a paper, drawn by matplotlib from the long tables: a panel a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.report.recipes import measured_recipes
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulators.registry import missing
from simulrag.errors import EnvironmentFault, InputError
from simulrag.metrics.methods import BUDGETED
from simulrag.metrics.table import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = (3.2, 2.8)


def _calls(axes: Axes, run: ReportedRun, domain: DomainTable) -> None:
    """Share of true claims against model calls a question, a point a recipe."""
    for recipe in measured_recipes(run, domain):
        share, calls = recipe.found.get("factuality"), recipe.value("calls")
        if share is not None and share.value is not None and calls is not None:
            axes.errorbar(
                calls, share.value, yerr=_bars([share]), fmt="o", capsize=2, label=recipe.name
            )
    axes.set_xlabel("model calls a question")
    axes.set_ylabel("share of true claims")


def _claims(axes: Axes, run: ReportedRun, domain: DomainTable) -> None:
    """AUROC of claims against the budget, a line a method."""
    for method in BUDGETED:
        rows = domain.rows("claims", metric="auroc", method=method, **run.leading)
        there = [row for row in rows if row.value is not None]
        if there:
            budgets = [row.budget_percent or 0.0 for row in there]
            values = [row.value or 0.0 for row in there]
            label = method_name(method)
            axes.errorbar(budgets, values, yerr=_bars(there), marker="o", capsize=2, label=label)
    axes.set_xlabel("claims verified, %")
    axes.set_ylabel("AUROC of claims")


FIGURES: dict[str, Callable[[Axes, ReportedRun, DomainTable], None]] = {
    "calls": _calls,
    "claims": _claims,
}
"""What is drawn of each domain, by the figure's name."""


def _bars(rows: Sequence[Measurement]) -> list[list[float]]:
    """Return the lengths of the 95 % intervals below and above the values."""
    ends = [(row.value or 0.0, row.lower_95, row.upper_95) for row in rows]
    below = [value - (value if low is None else low) for value, low, _ in ends]
    above = [(value if high is None else high) - value for value, _, high in ends]
    return [below, above]


def draw(name: str, run: ReportedRun, file: Path) -> None:
    """Draw a figure of FIGURES into ``file``: .pdf, .svg or .png, by its suffix.

    Raises InputError for another name, suffix or folder, and where no domain has such numbers;
    EnvironmentFault where matplotlib is not installed.
    """
    if name not in FIGURES:
        raise InputError(f"there is no figure '{name}'; give {' or '.join(FIGURES)}")
    if file.suffix not in (".pdf", ".svg", ".png"):
        raise InputError(f"{file}: write a .pdf, .svg or .png")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise EnvironmentFault(missing(error)) from None

    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * len(run.domains), height), layout="constrained")
    panels = figure.subplots(1, len(run.domains), sharey=True, squeeze=False)[0]
    for axes, domain in zip(panels, run.domains, strict=True):
        FIGURES[name](axes, run, domain)
        axes.set_title(f"{domain.name} (n = {domain.count('completed')})")
        axes.label_outer()
    named: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    if not named:
        raise InputError(f"no domain of this run has numbers for '{name}'")
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False)
    # Text that stays text, and the same bytes for the same numbers.
    with mpl.rc_context({"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": name}):
        try:
            figure.savefig(file, metadata=_UNDATED.get(file.suffix))
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from None


_UNDATED: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
