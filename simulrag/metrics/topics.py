"""What answers are about, before verification: how sure a subject is, and whether it is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from simulrag.method.reconciliation import one_voice, uncertainty
from simulrag.metrics.pool import LabelLookup
from simulrag.records import Answer, claim_hash


class Topic(NamedTuple):
    """A subject of a question, by the best supported answer's claims on it.

    ``scores``: the higher the surer; by votes the negative uncertainty (nats), then by each
    centrality the mean confidence of these claims. ``true``: all of them are, None: undecided.
    ``question`` and ``scenario``: indices into a domain's answers and scenarios.
    """

    scores: tuple[float, ...]
    true: bool | None
    question: int
    scenario: int


def topics_of(
    answer: Answer, labels: LabelLookup, centralities: Sequence[str], question: int, scenario: int
) -> Iterator[Topic]:
    """The subjects of a complete answer whose claims are all labelled."""
    support = answer.support
    for subject in answer.subjects:
        said = [answer.claims[at] for at in one_voice(subject, support, subject.claims)]
        found = {labels.get((answer.question_id, claim_hash(claim.text))) for claim in said}
        if not said or None in found:
            continue
        by_votes = -uncertainty(subject, support)
        means = (fmean(claim.confidence[name] for claim in said) for name in centralities)
        true = False if "false" in found else None if "undecided" in found else True
        yield Topic((by_votes, *means), true, question, scenario)
