"""What there is to measure, and how long and how rich the benchmark's references are.

The latter is to compare the benchmark with the published one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import estimate, ratio, scenario_weights
from simulrag.metrics.table import Measurement, filled
from simulrag.records import Question


@metric("coverage")
def coverage(data: DomainData) -> Iterator[Measurement]:
    """Count questions answered, complete ones, their claims, and what is missing.

    ``labels_missing``: distinct claim texts without a label. ``labels_unknown``: labels of texts
    that no complete answer holds, left over from others; they count nowhere else. ``replayed``:
    complete questions that are published ones, answered from their published evidence.
    ``with_evidence``: complete questions for which a simulator run, or a passage, was there to
    verify with; ``checked``: those of which the evidence decided a claim.
    """
    published = {
        question.question_id for question in data.questions if question.source == "published"
    }
    complete = [answer for answer in data.answers if answer.failure is None]
    replayed = sum(
        answer.retrieval is not None
        and answer.retrieval.status == "oracle"
        and answer.question_id in published
        for answer in complete
    )
    with_evidence = sum(bool(answer.evidence) for answer in complete)
    for name, count in (
        ("questions", len(data.answers)),
        ("completed", len(complete)),
        ("claims", len(data.pool)),
        ("labels_missing", data.labels_missing),
        ("labels_unknown", data.labels_unknown),
        ("replayed", replayed),
        ("with_evidence", with_evidence),
        ("checked", sum(answer.verified for answer in complete)),
    ):
        yield Measurement(
            family="coverage",
            domain=data.domain,
            metric=name,
            value=float(count),
            n=len(data.answers),
            coverage=data.coverage,
        )


_NO_CLAIMS = "undefined: the benchmark has no reference claims"
_NO_CALLS = "undefined: the benchmark does not know its questions' tool calls"


@metric("benchmark")
def benchmark(data: DomainData) -> Iterator[Measurement]:
    """Measure means over a domain's questions, with 95 % intervals over scenarios.

    ``answer_words``: words of the reference answer, split at white space. ``claims``,
    ``quantitative_claims`` and ``qualitative_claims`` of the reference, over the questions that
    have any. ``open_claims``: the reference's on what no evidence answers, in neither of these and
    in no measure of an answer; there where a question has any. ``tool_parameters``: arguments that
    hold a value in the known tool calls, over the questions whose calls are known. The names are
    those of the published table.
    """
    scenarios = list(dict.fromkeys(question.scenario_id for question in data.questions))
    index_of = {name: index for index, name in enumerate(scenarios)}
    settings = data.settings
    weights = scenario_weights(len(scenarios), settings.bootstrap, settings.seed, data.domain)
    counts: tuple[tuple[str, Callable[[Question], int | None], str], ...] = (
        (
            "answer_words",
            lambda question: len(question.reference_answer.split()),
            "undefined: no question",
        ),
        ("claims", lambda question: _claims(question, "quantitative", "qualitative"), _NO_CLAIMS),
        ("quantitative_claims", lambda question: _claims(question, "quantitative"), _NO_CLAIMS),
        ("qualitative_claims", lambda question: _claims(question, "qualitative"), _NO_CLAIMS),
        ("tool_parameters", _parameters, _NO_CALLS),
    )
    if any(map(_open, data.questions)):
        counts += (("open_claims", _open, ""),)
    place = Measurement(family="benchmark", domain=data.domain)
    for name, count, undefined in counts:
        known = [
            (index_of[q.scenario_id], n) for q in data.questions if (n := count(q)) is not None
        ]
        where = np.array([index for index, _ in known], dtype=np.int64)
        values = np.array([n for _, n in known], dtype=float)
        means = ratio(values, np.ones(len(values)), where, weights)
        result = estimate(means, len(scenarios), undefined)
        share = len(known) / len(data.questions) if data.questions else None
        yield filled(place, result, metric=name, n=len(known), coverage=share)


def _claims(question: Question, *kinds: str) -> int | None:
    """Count the claims of these kinds; None without any claim that evidence backs."""
    backed = [claim.kind for claim in question.reference_claims if claim.source == "evidence"]
    return sum(kind in kinds for kind in backed) if backed else None


def _open(question: Question) -> int:
    return sum(claim.source == "open" for claim in question.reference_claims)


def _parameters(question: Question) -> int | None:
    if not question.calls:
        return None
    return sum(value is not None for call in question.calls for value in call.arguments.values())
