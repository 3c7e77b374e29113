"""The audit against experts' labels: ``python -m studies.scitab [--record]``.

Replays recorded.parquet and writes table.md and disagreements.md beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from flows.files import read_records, write_text
from simulrag.metrics.intervals import Estimate, Floats, estimate, scenario_weights
from simulrag.records import Audit
from studies.audits import audit_texts, markdown, run_study
from studies.scitab.claims import CLAIMS, FOLDER, LABELS, TableClaim, audited_text, table_text

Status = Literal["supported", "wrong", "open", "judgement"]
STATUSES: tuple[Status, ...] = ("supported", "wrong", "open", "judgement")
MEANS = {"supported": 0, "wrong": 1, "open": 2, "judgement": 2}
"""The label, by its place in LABELS, that a status stands for."""
PUBLISHED = {
    "people": (0.924, 0.847),
    "GPT-4, zero-shot": (0.782, 0.648),
    "InstructGPT, zero-shot": (0.684, 0.414),
}
"""Macro-F1 of two and of three classes (Lu et al. 2023, Table 3), of all 1,224 claims."""
RESAMPLES, SEED, WORST = 2000, 38, 10
NOTES = (
    "150 of the 240 claims, 50 a label, drawn by seed; each is audited as a text of one claim, its "
    "table as the one run. In several audit claims it is wrong if any is, else open if any is open "
    "or a judgement or there is none, else supported. Of two classes: supports and refutes alone; "
    "what the audit leaves open there counts as missed. Intervals: bootstrap over papers, 95 %. "
    "The labels are balanced here, so the published figures, of all claims, are no exact measure. "
    "The data are from 2023: a model may have seen them."
)


class Judged(NamedTuple):
    """A claim and its audit, as one status."""

    claim: TableClaim
    audit: Audit
    status: Status


def status_of(audit: Audit) -> Status:
    """The status of a text of one claim; a judgement alone is told from what is open."""
    statuses = {claim.status for claim in audit.claims}
    if "wrong" in statuses:
        return "wrong"
    if "open" in statuses or not statuses:
        return "open"
    return "judgement" if "judgement" in statuses else "supported"


def macro_f1(judged: Sequence[Judged], classes: int) -> Estimate:
    """Estimate macro-F1 of the first ``classes`` labels, with its interval over papers."""
    kept = [item for item in judged if LABELS.index(item.claim.label) < classes]
    papers = {name: at for at, name in enumerate(sorted({i.claim.paper_id for i in kept}))}
    table = np.zeros((len(papers), 3, 3))
    for item in kept:
        at = papers[item.claim.paper_id], LABELS.index(item.claim.label), MEANS[item.status]
        table[at] += 1
    weights = scenario_weights(len(papers), RESAMPLES, SEED, "scitab")
    sums: Floats = np.tensordot(weights, table, axes=1)
    hits = np.diagonal(sums, axis1=1, axis2=2)
    with np.errstate(invalid="ignore"):
        scores = 2 * hits / (sums.sum(axis=1) + sums.sum(axis=2))
    return estimate(scores[:, :classes].mean(axis=1), len(papers), "no claim of a class")


def page(judged: Sequence[Judged]) -> str:
    """Write macro-F1 beside the published ones, and the confusion table."""
    ours = [_interval(macro_f1(judged, classes)) for classes in (2, 3)]
    rows = [["the audit", *ours]]
    rows += [[name, *(f"{value:.3f}" for value in two)] for name, two in PUBLISHED.items()]
    confusion = [
        [label, *(sum((i.claim.label, i.status) == (label, s) for i in judged) for s in STATUSES)]
        for label in LABELS
    ]
    parts = [
        "# The audit on SciTab",
        NOTES,
        markdown(["macro-F1", "two classes", "three classes"], *rows),
        markdown(["label", *STATUSES[:3], "open: a judgement"], *confusion),
        f"The {WORST} worst disagreements: [disagreements.md](disagreements.md). Claims and "
        "tables: SciTab (Lu et al. 2023, EMNLP, arXiv 2305.13186), MIT ([LICENSE](LICENSE)).",
    ]
    return "\n\n".join(parts) + "\n"


def _interval(result: Estimate) -> str:
    if result.value is None or result.lower_95 is None:
        return result.reason
    return f"{result.value:.3f} [{result.lower_95:.2f}, {result.upper_95:.2f}]"


def disagreements(judged: Sequence[Judged]) -> str:
    """Write the worst ones: opposite, then decided without enough, then left open; by id."""
    wrong = [item for item in judged if MEANS[item.status] != LABELS.index(item.claim.label)]

    def rank(item: Judged) -> tuple[int, str]:
        opposite = {LABELS.index(item.claim.label), MEANS[item.status]} == {0, 1}
        return (0 if opposite else 2 if MEANS[item.status] == 2 else 1), item.claim.id

    parts = [f"# The {WORST} worst of {len(wrong)} disagreements with the experts"]
    for claim, audit, status in sorted(wrong, key=rank)[:WORST]:
        words = "\n".join(
            f'- {part.status}: "{part.quote}"' + (f"; {part.correction}" * bool(part.correction))
            for part in audit.claims
        )
        parts += [
            f"## {claim.id}: experts {claim.label}, audit {status}",
            f"{claim.paper} (arXiv {claim.paper_id}). Claim: {audit.text}",
            words or "- no claim",
            f"```\n{table_text(claim)}\n```",
        ]
    return "\n\n".join(parts) + "\n"


def judge(*, record: bool = False) -> list[Judged]:
    """Audit the claims."""
    claims = read_records(CLAIMS, TableClaim)
    audits = audit_texts("scitab", [audited_text(claim) for claim in claims], record=record)
    rows = zip(claims, audits, strict=True)
    return [Judged(claim, audit, status_of(audit)) for claim, audit in rows]


def main(record: bool) -> None:
    """Write the tables."""
    judged = judge(record=record)
    write_text(FOLDER / "table.md", page(judged))
    write_text(FOLDER / "disagreements.md", disagreements(judged))


if __name__ == "__main__":
    sys.exit(run_study("studies.scitab", main))
