"""Claims after verification: every method and budget, curves, and paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flows.report.blocks import (
    Block,
    Figure,
    ReportSection,
    Table,
    Text,
    budget,
    count,
    interval,
    paired,
    percent,
    pivoted,
)
from flows.report.chart import (
    BLUE,
    ENDS,
    GREY,
    OCHRE,
    RED,
    Axis,
    Look,
    Point,
    Series,
    lines,
)
from flows.report.run import DomainTable, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import (
    ALL_RAG,
    BUDGETED,
    FIGURE_METRICS,
    NO_RAG,
    RANDOM,
    UE_SBA,
    UNCERTAINTY,
    VERBALIZED,
    VERBALIZED_BY_CENTRALITY,
)
from simulrag.metrics.settings import TREATMENTS
from simulrag.metrics.table import Measurement

LOOKS = {RANDOM: GREY, VERBALIZED: OCHRE, UNCERTAINTY: BLUE, UE_SBA: RED}
EMPTY = "undefined at every budget:\nthe notes below the table say why"
_COLUMNS = {
    "f1": "F1",
    "aupr": "AUPR",
    "auroc": "AUROC",
    "true_share": "True claims",
    "share_spent": "Spent",
}
_SHARES = ("true_share", "share_spent")
_LEADING = "auroc"
_LINES = (
    NO_RAG,
    RANDOM,
    VERBALIZED,
    VERBALIZED_BY_CENTRALITY,
    UNCERTAINTY,
    UE_SBA,
    ALL_RAG,
)
_EVERY_TENTH = frozenset(range(0, 101, 10))


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show curves, the leading table of each domain, and its variants folded."""
    measured = [domain for domain in run.domains if domain.rows("claims")]
    if not measured:
        return
    yield Text(
        f"Each method chooses which claims to verify; {method_name(NO_RAG)} verifies none, "
        f"{method_name(ALL_RAG)} all. "
        "Verified claims that the simulator decided take confidence 1, the others keep theirs. "
        "Ranked by confidence, true claims should come first."
    )
    for draw in (_by_budget, _precision_recall, _by_centrality):
        for domain in measured:
            yield from draw(run, domain)
    settings = run.settings
    for domain in measured:
        yield _table(domain, settings.centrality, settings.undecided, "claims", "")
    other = next(name for name in TREATMENTS if name != settings.undecided)
    for domain in measured:
        fold = "Other treatments of the same claims"
        name = f"claims-undecided-{other}"
        yield _table(domain, settings.centrality, other, name, fold)
        for centrality in settings.centralities[1:]:
            yield _table(domain, centrality, settings.undecided, f"claims-{centrality}", fold)
    for domain in measured:
        yield _comparisons(run, domain)


def _table(domain: DomainTable, centrality: str, undecided: str, name: str, fold: str) -> Table:
    rows = domain.rows("claims", centrality=centrality, undecided=undecided)
    treatment = "left out" if undecided == "excluded" else "counted as false"
    return pivoted(
        sorted(rows, key=lambda row: (row.budget_percent or 0, _LINES.index(row.method))),
        {"Budget": budget, "Method": lambda row: method_name(row.method)},
        _COLUMNS,
        {"Claims": lambda row: count(row.n)},
        lambda row: percent(row.value) if row.metric in _SHARES else interval(row),
        name=name,
        caption=f"claims after verification; confidence by {centrality}; undecided claims "
        f"{treatment}",
        domain=domain.name,
        strong=(UE_SBA,),
        fold=fold,
    )


def _comparisons(run: ReportedRun, domain: DomainTable) -> Table:
    rows = domain.rows("comparisons", level="claim", **run.leading)
    return paired(
        sorted(
            (row for row in rows if row.metric in FIGURE_METRICS),
            key=lambda row: row.budget_percent or 0,
        ),
        {
            "Budget": budget,
            "Baseline": lambda row: method_name(row.baseline),
            "Metric": lambda row: FIGURE_METRICS[row.metric],
        },
        name="comparisons",
        caption=f"{method_name(UE_SBA)} minus each baseline, on the same resampled scenarios",
        domain=domain.name,
        headers=3,
        notes=("Holm's correction runs over baselines and budgets of one metric.",),
        line=lambda row: f"{method_name(row.baseline)} ({budget(row)})",
        fold="Paired differences",
    )


def _measured(
    run: ReportedRun, domain: DomainTable, metric: str, method: str | tuple[str, ...]
) -> list[Measurement]:
    rows = domain.rows("claims", metric, method=method, **run.leading)
    return [row for row in rows if row.value is not None]


def _said(row: Measurement, also: str = "") -> str:
    return (
        f"{method_name(row.method)}, {budget(row)} verified: {FIGURE_METRICS[row.metric]} "
        f"{interval(row)}, {count(row.n)} claims{also}"
    )


def _point(row: Measurement, x: float, also: str = "") -> Point:
    return Point(x, row.value or 0, _said(row, also), row.lower_95, row.upper_95)


def _of_each_metric(
    domain: DomainTable, kind: str, caption: str, draw: Callable[[str], Sequence[Series]], x: Axis
) -> Iterator[Figure]:
    """Yield the same figure of every metric, as alternatives."""
    for metric, title in FIGURE_METRICS.items():
        series = draw(metric)
        said = "; ".join(point.said for curve in series for point in curve.points)
        yield Figure(
            name=f"{domain.name}-{metric}-{kind}",
            kind=kind,
            caption=f"{domain.title}: {title} {caption}",
            text=f"{title}, {domain.name}. {said or 'Undefined'}.",
            svg=lines(series, x, Axis(title), EMPTY),
            domain=domain.name,
            choice=("Metric", title),
            leading=metric == _LEADING,
        )


def _by_budget(run: ReportedRun, domain: DomainTable) -> Iterator[Figure]:
    """Draw lines moved a little apart sideways, so that intervals do not hide each other."""
    budgets = run.settings.budgets_percent
    low, high = budgets[0] - 5, budgets[-1] + 5

    def draw(metric: str) -> list[Series]:
        series = []
        for place, method in enumerate(BUDGETED):
            rows = _measured(run, domain, metric, method)
            shift = (place - (len(BUDGETED) - 1) / 2) * (high - low) / 60
            points = [_point(row, (row.budget_percent or 0) + shift) for row in rows]
            series.append(Series(method_name(method), points, LOOKS[method]))
        for row in _measured(run, domain, metric, (NO_RAG, ALL_RAG)):
            value = row.value or 0
            points = [_point(row, float(run.settings.headline_budget))]
            ends = [(low, value), (high, value)]
            series.append(Series(method_name(row.method), points, ENDS, ends, True))
        return series

    ticks = [(float(share), f"{share} %") for share in budgets]
    yield from _of_each_metric(
        domain,
        "budget",
        "against the share of claims verified. Bars: 95 % intervals. Dotted: none and all.",
        draw,
        Axis("claims verified", ticks, (low, high)),
    )


def by_calls(run: ReportedRun, domain: DomainTable) -> Iterator[Figure]:
    """Draw each metric against the calls that a method would make by itself."""
    calls = {
        (row.method, row.budget_percent): row.value
        for row in domain.rows("method_cost", level="claim", step="all", metric="calls")
    }

    def draw(metric: str) -> list[Series]:
        series = []
        for method in (*BUDGETED, NO_RAG, ALL_RAG):
            points = []
            for row in _measured(run, domain, metric, method):
                needed = calls.get((row.method, row.budget_percent))
                if needed is not None:
                    points.append(_point(row, needed, f", {needed:.1f} calls a question"))
            end = method in (NO_RAG, ALL_RAG)
            look = Look(ENDS.color, "cross", None) if end else LOOKS[method]
            series.append(Series(method_name(method), points, look, named=end))
        return series

    caption = "against the model calls that each method would make by itself, a point a budget."
    yield from _of_each_metric(domain, "cost", caption, draw, Axis("model calls a question"))


def _by_centrality(run: ReportedRun, domain: DomainTable) -> Iterator[Figure]:
    settings = run.settings
    names = settings.centralities
    if len(names) < 2:
        return
    looks = list(LOOKS.values())

    def draw(metric: str) -> list[Series]:
        series = []
        for place, share in enumerate(settings.budgets_percent):
            shift = (place - (len(settings.budgets_percent) - 1) / 2) * 0.18
            points = [
                _point(
                    row,
                    names.index(row.centrality) + shift,
                    f", by {row.centrality.replace('_', ' ')}",
                )
                for row in domain.rows(
                    "claims",
                    metric=metric,
                    method=UE_SBA,
                    budget_percent=share,
                    undecided=settings.undecided,
                    centrality=names,
                )
                if row.value is not None
            ]
            look = looks[-1 - place % len(looks)]
            series.append(Series(f"{share} %", points, Look(look.color, look.marker, None)))
        return series

    ticks = [(float(i), name.replace("_", " ")) for i, name in enumerate(names)]
    yield from _of_each_metric(
        domain,
        "centrality",
        f"of {method_name(UE_SBA)} by the centrality that scores confidence.",
        draw,
        Axis("", ticks, (-0.5, len(names) - 0.5), slanted=True),
    )


def _precision_recall(run: ReportedRun, domain: DomainTable) -> Iterator[Figure]:
    curves: dict[tuple[str, float], list[Measurement]] = {}
    for row in domain.rows("precision_recall"):
        if row.value is not None:
            curves.setdefault((row.method, row.budget_percent or 0), []).append(row)
    for share in run.settings.budgets_percent:
        series = []
        for method, at in (*((name, share) for name in BUDGETED), (NO_RAG, 0), (ALL_RAG, 100)):
            curve = curves.get((method, at), [])
            look = ENDS if method in (NO_RAG, ALL_RAG) else LOOKS[method]
            marked = [
                Point(
                    row.number("x") or 0,
                    row.value or 0,
                    f"{method_name(method)}, {at} % verified: precision {row.value:.3f} at "
                    f"recall {row.number('x'):.2f}, {count(row.n)} claims kept",
                )
                for row in curve
                if round(100 * (row.number("x") or 0)) in _EVERY_TENTH
            ]
            path = [(row.number("x") or 0, row.value or 0) for row in curve]
            bare = Look(look.color, "", look.dash)
            series.append(Series(method_name(method), marked, bare, path, named=look is ENDS))
        yield Figure(
            name=f"{domain.name}-precision-recall"
            + ("" if share == run.settings.headline_budget else f"-{share}"),
            kind="precision-recall",
            caption=f"{domain.title}: precision against recall with {share} % of the claims "
            "verified. Dotted: none and all.",
            text=f"Precision against recall at {share} %, {domain.name}; AUPR in the table sums "
            "it up.",
            svg=lines(series, Axis("recall", ends=(0, 1)), Axis("precision"), EMPTY),
            domain=domain.name,
            choice=("Budget", f"{share} %"),
            leading=share == run.settings.headline_budget,
        )


SECTION = ReportSection("claims", "Claims", blocks)
