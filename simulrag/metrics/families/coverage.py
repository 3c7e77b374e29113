"""What there is to measure."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.domain import DomainData
from simulrag.metrics.registry import metric
from simulrag.metrics.table import Measurement


@metric("coverage")
def coverage(data: DomainData) -> Iterator[Measurement]:
    """Counts: questions answered, complete ones, their claims, and what is missing.

    ``labels_missing``: distinct claim texts without a label. ``labels_unknown``: labels of texts
    that no complete answer holds, left over from others; they count nowhere else. ``replayed``:
    complete questions that are published ones, answered from their published evidence.
    ``with_evidence``: complete questions for which a simulator run, or a passage, was there to
    verify with; ``checked``: those of which the evidence decided a claim.
    """
    published = {one.question_id for one in data.questions if one.source == "published"}
    complete = [answer for answer in data.answers if answer.failure is None]
    replayed = sum(
        one.retrieval is not None
        and one.retrieval.status == "oracle"
        and one.question_id in published
        for one in complete
    )
    with_evidence = sum(bool(one.evidence) for one in complete)
    for name, count in (
        ("questions", len(data.answers)),
        ("completed", len(complete)),
        ("claims", len(data.pool)),
        ("labels_missing", data.labels_missing),
        ("labels_unknown", data.labels_unknown),
        ("replayed", replayed),
        ("with_evidence", with_evidence),
        ("checked", sum(one.verified for one in complete)),
    ):
        yield Measurement(
            family="coverage",
            domain=data.domain,
            metric=name,
            value=float(count),
            n=len(data.answers),
            coverage=data.coverage,
        )
