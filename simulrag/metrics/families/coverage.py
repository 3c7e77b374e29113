"""What there is to measure."""

from __future__ import annotations

from collections.abc import Iterator

from simulrag.judging.people.labels import Key
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
    verify with.
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
    missing, unknown = _unmatched(data)
    for name, count in (
        ("questions", len(data.answers)),
        ("completed", len(complete)),
        ("claims", len(data.pool)),
        ("labels_missing", missing),
        ("labels_unknown", unknown),
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


def _unmatched(data: DomainData) -> tuple[int, int]:
    """How many distinct claim texts have no label, and how many labels no such text."""
    answered = {answer.question_id for answer in data.answers}
    unknown = {(name, claim) for name in answered for claim in data.labels.get(name, ())}
    missing: set[Key] = set()
    for frame, claim, label in (
        (data.claims, "hash_before", "label_before"),
        (data.claims, "hash_after", "label_after"),
        (data.finals.drop_nulls("claim"), "claim_hash", "label"),
    ):
        texts = frame.select("question_id", claim)
        unknown.difference_update(texts.iter_rows())
        missing.update(texts.filter(frame[label].is_null()).iter_rows())
    return len(missing), len(unknown)
