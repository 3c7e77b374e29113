"""Did the retrieval interface run the scenario that the question was made from?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import JsonValue
from scipy.optimize import linear_sum_assignment

from simulrag.metrics.intervals import Floats, estimate, ratio, scenario_weights
from simulrag.metrics.settings import MetricSettings
from simulrag.records import Answer, Question, ToolCall

Row = dict[str, object]

ORACLE = "oracle retrieval: the evidence was looked up and no tool was called"
NO_CALLS = "undefined: the benchmark does not know its questions' tool calls"
_NO_ARGUMENT = "undefined: no argument differs between this benchmark's questions"
_NO_ANSWER = "undefined: retrieval was reached for no question"

_RELATIVE = 1e-9


@dataclass(frozen=True)
class _Counted:
    """One measurement: a question's share is ``top`` by ``bottom``; ``scenario`` its index."""

    scenario: int
    top: float
    bottom: float = 1.0


def retrieval_accuracy(
    domain: str,
    pairs: Sequence[tuple[Question, Answer]],
    settings: MetricSettings,
) -> Iterator[Row]:
    """Tool-call accuracy and failures of a domain's questions, with 95 % intervals over scenarios.

    Over the questions whose calls are known and whose retrieval came to an end; a call that was
    never made has everything wrong:

    - ``tool``: share of questions for which exactly the known tools ran.
    - ``call``: share of questions for which exactly the known calls ran, every argument equal.
    - ``arguments``: pooled share of equal arguments, of those that differ between the benchmark's
      questions: one that never does, such as a default, would be right for no merit.
    - ``argument``: the share for each tool and argument, constant ones included.
    - ``failed``: no attempt's calls could be run. ``not_applicable``: the model saw no tool that
      applies. ``second_attempt``: the first attempt's calls were refused or failed.

    ``coverage``: the share of questions with known calls that are counted. Oracle retrieval calls
    no tool, so nothing is measured there.
    """
    places = list(dict.fromkeys(question.scenario_id for question, _ in pairs))
    index = {name: place for place, name in enumerate(places)}
    weights = scenario_weights(len(places), settings.bootstrap, settings.seed, domain)
    asked = [(question, answer) for question, answer in pairs if question.calls]
    counted = [
        (question, answer)
        for question, answer in asked
        if answer.retrieval is not None and answer.retrieval.status != "oracle"
    ]
    oracle = any(a.retrieval is not None and a.retrieval.status == "oracle" for _, a in pairs)
    reason = (ORACLE if oracle else NO_CALLS if not asked else _NO_ANSWER) if not counted else ""
    coverage = len(counted) / len(asked) if asked else None
    varying = _varying([question for question, _ in asked])
    measured = _measure(counted, index, varying)
    for (metric, tool, argument), found in measured.items():
        result = estimate(_resampled(found, weights), len(places), reason or _NO_ARGUMENT)
        yield {
            "domain": domain,
            "tool": tool,
            "argument": argument,
            "metric": metric,
            "value": result.value,
            "lower_95": result.lower_95,
            "upper_95": result.upper_95,
            "n": round(sum(one.bottom for one in found)),
            "coverage": coverage,
            "reason": result.reason,
        }


def _resampled(found: Sequence[_Counted], weights: Floats) -> Floats:
    return ratio(
        np.array([one.top for one in found], dtype=float),
        np.array([one.bottom for one in found], dtype=float),
        np.array([one.scenario for one in found], dtype=np.int64),
        weights,
    )


def _measure(
    counted: Sequence[tuple[Question, Answer]],
    index: Mapping[str, int],
    varying: frozenset[tuple[str, str]],
) -> dict[tuple[str, str, str], list[_Counted]]:
    """By metric, tool and argument (both "" where they do not apply)."""
    names = ("tool", "call", "arguments", "failed", "not_applicable", "second_attempt")
    found: dict[tuple[str, str, str], list[_Counted]] = {(name, "", ""): [] for name in names}
    single: dict[tuple[str, str, str], list[_Counted]] = {}
    for question, answer in counted:
        retrieval = answer.retrieval
        if retrieval is None:
            continue
        place = index[question.scenario_id]
        made = [evidence.call for evidence in retrieval.evidence]
        matched = _match(question.calls, made)
        same_tools = sorted(c.tool for c in question.calls) == sorted(c.tool for c in made)
        equal = [
            (known.tool, name, call is not None and _same(value, call.arguments.get(name)))
            for known, call in matched
            for name, value in known.arguments.items()
        ]
        exact = same_tools and all(
            call is not None
            and known.arguments.keys() == call.arguments.keys()
            and all(_same(value, call.arguments[key]) for key, value in known.arguments.items())
            for known, call in matched
        )
        changing = [right for tool, name, right in equal if (tool, name) in varying]
        values = {
            "tool": same_tools,
            "call": exact,
            "failed": retrieval.status == "failed",
            "not_applicable": retrieval.status == "not_applicable",
            "second_attempt": retrieval.attempts > 1,
        }
        for name, value in values.items():
            found[name, "", ""].append(_Counted(place, float(value)))
        found["arguments", "", ""].append(_Counted(place, sum(changing), len(changing)))
        for tool, name, right in equal:
            single.setdefault(("argument", tool, name), []).append(_Counted(place, float(right)))
    return found | dict(sorted(single.items()))


def _match(
    known: Sequence[ToolCall], made: Sequence[ToolCall]
) -> list[tuple[ToolCall, ToolCall | None]]:
    """Each known call with one made with its tool, used once, so that most arguments are equal."""
    # One more for the tool itself, so that a call without an equal argument is a partner too.
    gain = np.array(
        [[1 + _equal_arguments(k, m) if k.tool == m.tool else 0 for m in made] for k in known]
    ).reshape(len(known), len(made))
    rows, columns = linear_sum_assignment(gain, maximize=True)
    partner = {int(i): made[j] for i, j in zip(rows, columns, strict=True) if gain[i, j] > 0}
    return [(call, partner.get(place)) for place, call in enumerate(known)]


def _equal_arguments(known: ToolCall, made: ToolCall) -> int:
    return sum(_same(value, made.arguments.get(name)) for name, value in known.arguments.items())


def _varying(questions: Sequence[Question]) -> frozenset[tuple[str, str]]:
    """Tool and argument, where two questions know different values."""
    values: dict[tuple[str, str], list[JsonValue]] = {}
    for question in questions:
        for call in question.calls:
            for name, value in call.arguments.items():
                values.setdefault((call.tool, name), []).append(value)
    return frozenset(
        key for key, found in values.items() if not all(_same(found[0], one) for one in found)
    )


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equal values; numbers to rounding, and True is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=0.0)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return one == other
