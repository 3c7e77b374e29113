"""How long and how rich a benchmark's references are, to compare it with the published one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from simulrag.metrics.intervals import estimate, ratio, scenario_weights
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Question

Row = dict[str, object]

_NO_CLAIMS = "undefined: the benchmark has no reference claims"
_NO_CALLS = "undefined: the benchmark does not know its questions' tool calls"


def benchmark_statistics(
    domain: str, questions: Sequence[Question], settings: MetricSettings
) -> Iterator[Row]:
    """Means over a domain's questions, with 95 % intervals over scenarios.

    ``answer_words``: words of the reference answer, split at white space. ``claims``,
    ``quantitative_claims`` and ``qualitative_claims`` of the reference, over the questions that
    have any. ``tool_parameters``: arguments that hold a value in the known tool calls, over the
    questions whose calls are known. The names are those of the published table.
    """
    scenarios = list(dict.fromkeys(question.scenario_id for question in questions))
    place = {name: index for index, name in enumerate(scenarios)}
    weights = scenario_weights(len(scenarios), settings.bootstrap, settings.seed, domain)
    counts: list[tuple[str, Callable[[Question], int | None], str]] = [
        ("answer_words", lambda q: len(q.reference_answer.split()), "undefined: no question"),
        ("claims", lambda q: len(q.reference_claims) or None, _NO_CLAIMS),
        ("quantitative_claims", lambda q: _of_kind(q, "quantitative"), _NO_CLAIMS),
        ("qualitative_claims", lambda q: _of_kind(q, "qualitative"), _NO_CLAIMS),
        ("tool_parameters", _parameters, _NO_CALLS),
    ]
    for metric, count, undefined in counts:
        known = [(place[q.scenario_id], n) for q in questions if (n := count(q)) is not None]
        where = np.array([index for index, _ in known], dtype=np.int64)
        values = np.array([n for _, n in known], dtype=float)
        means = ratio(values, np.ones(len(values)), where, weights)
        result = estimate(means, len(scenarios), undefined)
        yield {
            "domain": domain,
            "metric": metric,
            "value": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            "n": len(known),
            "reason": result.reason,
        }


def _of_kind(question: Question, kind: str) -> int | None:
    if not question.reference_claims:
        return None
    return sum(claim.kind == kind for claim in question.reference_claims)


def _parameters(question: Question) -> int | None:
    if not question.calls:
        return None
    return sum(value is not None for call in question.calls for value in call.arguments.values())
