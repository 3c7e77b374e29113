"""How well confidence and the boundary foresee what is true, and people agree with the judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flows.report.blocks import (
    Block,
    Columns,
    Figure,
    ReportSection,
    Table,
    budget,
    count,
    dot_figure,
    interval,
    listed,
)
from flows.report.chart import BLUE, ENDS, GREY, OCHRE, RED, Axis, Look, Point, Series, lines
from flows.report.run import DomainTable, LabelledByPeople, ReportedRun
from flows.report.words import method_name
from simulrag.metrics.methods import ALL_RAG, NO_RAG, UE_SBA, VERBALIZED
from simulrag.metrics.table import Measurement

_EMPTY = "undefined: the notes of the\ncalibration table say why"


def blocks(run: ReportedRun) -> Iterator[Block]:
    """Show a reliability figure and calibration errors a domain."""
    measured = [domain for domain in run.domains if domain.rows("calibration")]
    for domain in measured:
        yield _reliability(run, domain)
    for domain in measured:
        yield _errors(run, domain)
    if foreseen := [domain for domain in measured if domain.rows("foresight")]:
        yield _foresight(foreseen)


def _foresight(domains: Sequence[DomainTable]) -> Table:
    """Tabulate how well agreement and stated confidence rank claims before verification."""
    words = {"all": "all", "number": "that state a number", "other": "others"}
    rows = []
    for domain in domains:
        for kind, name in words.items():
            found = domain.rows("foresight", level=kind)
            rows.append(
                (
                    *(domain.name, name, count(found[0].n if found else 0)),
                    *(interval(row, places=2) for row in found),
                )
            )
    return Table(
        name="foresight",
        caption="Before verification: AUROC of agreement among samples and of stated confidence",
        columns=("Domain", "Claims", "Count", "Agreement", "Stated", "Stated less agreement"),
        rows=tuple(rows),
        headers=2,
        notes=(
            "Agreement: the leading centrality. From memory numbers are false more often than "
            "classes: a score that tells kinds apart ranks all claims better than one kind's.",
        ),
    )


def _reliability(run: ReportedRun, domain: DomainTable) -> Figure:
    """Share of true claims against mean confidence by bin, a line a checked set."""
    middle = run.settings.headline_budget
    curves: dict[tuple[str, int], tuple[str, Look]] = {
        (NO_RAG, 0): ("before", BLUE),
        (VERBALIZED, 0): ("stated by the model", OCHRE),
        (UE_SBA, middle): (f"{method_name(UE_SBA)}, {middle} %", RED),
        (ALL_RAG, 100): ("all verified", GREY),
    }
    series = []
    for (method, share), (name, look) in curves.items():
        rows = domain.rows(
            "calibration",
            metric="reliability",
            method=method,
            budget_percent=share,
            undecided=run.settings.undecided,
        )
        points = [
            Point(
                x,
                row.value,
                f"{name}: {interval(row)} true at confidence {x:.2f}, {count(row.n)} claims",
                row.lower_95,
                row.upper_95,
            )
            for row in sorted(rows, key=lambda row: row.number("bin") or 0)
            if row.value is not None and (x := row.number("x")) is not None
        ]
        series.append(Series(name, points, look))
    said = "; ".join(point.said for curve in series for point in curve.points)
    if said:
        series.append(Series("", (), ENDS, [(0, 0), (1, 1)], named=True))
    ends = Axis("confidence", ends=(-0.03, 1.03))
    return Figure(
        name=f"{domain.name}-reliability",
        kind="reliability",
        caption=f"{domain.title}: share of true claims against confidence, in ten bins. Bars: "
        "95 % intervals. Dotted: a confidence that means what it says.",
        text=f"Share of true claims against confidence, {domain.name}. {said or 'Undefined'}.",
        svg=lines(series, ends, Axis("true claims", ends=(-0.03, 1.03)), _EMPTY),
        domain=domain.name,
    )


_LINE: Columns = {
    "Method": lambda row: method_name(row.method),
    "Verified": budget,
    "Confidence": lambda row: row.centrality,
}


def _errors(run: ReportedRun, domain: DomainTable) -> Table:
    return listed(
        domain.rows("calibration", "ece", undecided=run.settings.undecided),
        {**_LINE, "Error": interval, "Claims": lambda row: count(row.n)},
        name="calibration",
        caption="expected calibration error, before and after verification",
        domain=domain.name,
        headers=3,
        strong=(UE_SBA,),
        notes=(
            "The mean distance between a claim's confidence and the share of true claims in its "
            "bin, of ten. Chance keeps it above 0, more so with few claims.",
        ),
        fold="Calibration error",
    )


SECTION = ReportSection("calibration", "Calibration", blocks)


_SHARES = {
    "filtered": "claims judged outside the simulator's reach",
    "kept_decided": "claims inside that verification decided",
    "filtered_decidable": "claims outside that verification could decide",
}
_LOOKS = dict(zip(_SHARES, (BLUE, RED, OCHRE), strict=True))


def boundary(run: ReportedRun) -> Iterator[Block]:
    """Show a figure and a table a domain."""
    measured = [domain for domain in run.domains if domain.rows("boundary")]
    yield from map(_figure, measured)
    yield from map(_table, measured)


def _figure(domain: DomainTable) -> Figure:
    rows = domain.rows("boundary")
    return dot_figure(
        domain.name,
        "boundary",
        [(_name(row), row, _LOOKS[row.metric]) for row in rows],
        "share of claims",
        caption="what boundary assessment filters, and what verification makes of either side",
        shares=True,
    )


def _table(domain: DomainTable) -> Table:
    return listed(
        domain.rows("boundary"),
        {"Share of": _name, "Value": interval, "Claims": lambda row: count(row.n)},
        name="boundary",
        caption="simulator boundary assessment",
        domain=domain.name,
        headers=1,
        line=_name,
        fold="Boundary assessment as tables",
    )


def _name(row: Measurement) -> str:
    return _SHARES[row.metric]


BOUNDARY = ReportSection("boundary", "Simulator boundary", boundary)


_MEASURES = {
    "agreement": "Equal labels",
    "cohen_kappa": "Cohen's kappa",
    "fleiss_kappa": "Fleiss' kappa",
}
HOW = {
    "agreed": "all say so",
    "one annotator": "one annotator",
    "adjudicated": "adjudicated",
    "disputed": "disputed, not settled",
}


def labelled(run: ReportedRun) -> Iterator[Block]:
    """Show agreement and disagreements a domain; nothing where nobody labelled."""
    for domain in run.domains:
        if domain.rows("agreement"):
            yield _agreement(domain)
    for domain in run.domains:
        if run.people.get(domain.name):
            yield _disagreements(domain.name, run.people[domain.name])


def _agreement(domain: DomainTable) -> Table:
    return listed(
        domain.rows("agreement"),
        {
            "Between": lambda row: row.text("between"),
            "Measure": lambda row: _MEASURES[row.metric],
            "Value": interval,
            "Claims": lambda row: count(row.n),
        },
        name="agreement",
        caption="agreement over true, false and undecided",
        domain=domain.name,
        notes=(
            "Kappa is agreement beyond what chance would give: 1 is perfect, 0 is chance. The "
            "claims that the judge left undecided are offered to people first, so the judge is "
            "shown with and without them.",
        ),
        line=lambda row: row.text("between"),
    )


def _disagreements(domain: str, labelled: tuple[LabelledByPeople, ...]) -> Table:
    differs = [
        claim
        for claim in labelled
        if claim.how == "disputed" or (claim.judge and claim.judge != claim.human)
    ]
    return Table(
        name="disagreements",
        caption=f"{domain}: {len(differs)} of {len(labelled)} labelled claims with a disagreement",
        columns=("Question", "Claim", "People", "Settled", "Judge", "Said"),
        rows=tuple(
            (
                *(claim.question_id, claim.text, claim.human, HOW[claim.how]),
                *(claim.judge or "no label", claim.said),
            )
            for claim in differs
        ),
        prose=(1, 5),
        notes=("What people settled on takes the place of the judge's label in every metric.",),
        domain=domain,
    )


PEOPLE = ReportSection("people", "Labels by people", labelled)
