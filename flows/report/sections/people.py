"""Labels by people: how well they agree, and where the judge says otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from flows.report.blocks import Block, ReportSection, Table, count, interval, listed
from flows.report.run import DomainTable, LabelledByPeople, ReportedRun

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


def blocks(run: ReportedRun) -> Iterator[Block]:
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
        one for one in labelled if one.how == "disputed" or (one.judge and one.judge != one.human)
    ]
    return Table(
        name="disagreements",
        caption=f"{domain}: {len(differs)} of {len(labelled)} labelled claims with a disagreement",
        columns=("Question", "Claim", "People", "Settled", "Judge", "Said"),
        rows=tuple(
            (
                *(one.question_id, one.text, one.human, HOW[one.how]),
                *(one.judge or "no label", one.said),
            )
            for one in differs
        ),
        prose=(1, 5),
        notes=("What people settled on takes the place of the judge's label in every metric.",),
        domain=domain,
    )


SECTION = ReportSection("people", "Labels by people", blocks)
