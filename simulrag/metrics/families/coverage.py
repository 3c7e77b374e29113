"""What there is to measure."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.metrics.data import DomainData
from simulrag.metrics.registry import metric
from simulrag.metrics.table import Measurement


@metric("coverage")
def coverage(data: DomainData) -> Iterator[Measurement]:
    """Counts: questions answered, complete ones, their claims, and what is missing.

    ``labels_missing``: distinct claim texts without a label. ``labels_unknown``: labels of texts
    that nobody wrote, left over from other answers; they count nowhere else. ``replayed``: complete
    questions that are published ones, answered from their published evidence. ``with_evidence``:
    complete questions for which a simulator run, or a passage, was there to verify with.
    """
    published = {one.question_id for one in data.questions if one.published}
    complete = [answer for answer in data.answers if answer.completed]
    replayed = sum(
        answer.retrieved is not None
        and answer.retrieved.status == "oracle"
        and answer.question_id in published
        for answer in complete
    )
    with_evidence = sum(bool(one.retrieved and one.retrieved.calls) for one in complete)
    for name, count in (
        ("questions", len(data.answers)),
        ("completed", len(complete)),
        ("claims", len(data.pool)),
        ("labels_missing", data.labels_missing),
        ("labels_unknown", data.labels_unknown),
        ("replayed", replayed),
        ("with_evidence", with_evidence),
    ):
        yield Measurement(
            family="coverage",
            domain=data.domain,
            metric=name,
            value=float(count),
            n=len(data.answers),
            coverage=data.coverage,
        )
