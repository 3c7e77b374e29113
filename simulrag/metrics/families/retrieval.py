"""Did the retrieval interface run the scenario that the question was made from?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from pydantic import JsonValue

from simulrag.metrics.domain import DomainData
from simulrag.metrics.families import metric
from simulrag.metrics.intervals import estimates, ratio
from simulrag.metrics.table import Measurement, filled
from simulrag.records import Question, Retrieval, RetrievalStatus, ToolCall

ORACLE = "oracle retrieval: the evidence was looked up and no tool was called"
BY_QUESTION = "plain retrieval: the question itself was the query and no tool was called"
NO_CALLS = "undefined: the benchmark does not know its questions' tool calls"
_NO_ARGUMENT = "undefined: no argument differs between this benchmark's questions"
_NO_ANSWER = "undefined: retrieval was reached for no question"
_NO_TOOL = {"oracle": ORACLE, "by_question": BY_QUESTION}

_RELATIVE = 1e-9
# Beyond this many calls trying all pairings takes longer than importing scipy.
_FEW = 5

Name = tuple[str, str, str]
"""Metric, tool and argument, the latter two "" where they do not apply."""


class _Share(NamedTuple):
    """One measurement: a question's share is ``top`` by ``bottom``; ``scenario`` its index."""

    scenario: int
    top: float
    bottom: float = 1.0


class _Retrieved(NamedTuple):
    """A question, what was retrieved for it (None: it was not reached), its scenario's index."""

    question: Question
    retrieval: Retrieval | None
    scenario: int

    @property
    def status(self) -> RetrievalStatus | None:
        return self.retrieval.status if self.retrieval is not None else None


@metric("retrieval")
def retrieval(data: DomainData) -> Iterator[Measurement]:
    """Measure tool-call accuracy and failures, with 95 % intervals over scenarios.

    Of the first look: what later ones and open claims send for is no part of the known scenario.
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
    questions = {question.question_id: question for question in data.questions}
    retrieved = [
        _Retrieved(questions[answer.question_id], answer.retrieval, scenario)
        for answer, scenario in zip(data.answers, data.scenario.tolist(), strict=True)
    ]
    asked = [case for case in retrieved if case.question.calls]
    counted = [case for case in asked if case.status is not None and case.status not in _NO_TOOL]
    seen = {case.status for case in retrieved}
    untold = next((why for status, why in _NO_TOOL.items() if status in seen), None)
    reason = (untold or (_NO_ANSWER if asked else NO_CALLS)) if not counted else ""
    measured = _measure(counted, _varying([case.question for case in asked]))
    resampled = [
        ratio(
            np.array([count.top for count in counts], dtype=float),
            np.array([count.bottom for count in counts], dtype=float),
            np.array([count.scenario for count in counts], dtype=np.int64),
            data.weights,
        )
        for counts in measured.values()
    ]
    reasons = [reason or _NO_ARGUMENT] * len(measured)
    results = estimates(resampled, data.scenarios, reasons)
    share = len(counted) / len(asked) if asked else None
    place = Measurement(family="retrieval", domain=data.domain, coverage=share)
    for ((name, tool, argument), counts), result in zip(measured.items(), results, strict=True):
        total = round(sum(count.bottom for count in counts))
        more = {"tool": tool, "argument": argument} if tool else {}
        yield filled(place, result, metric=name, n=total, more=more)


def _measure(
    counted: Sequence[_Retrieved], varying: frozenset[tuple[str, str]]
) -> Mapping[Name, list[_Share]]:
    names = ("tool", "call", "arguments", "failed", "not_applicable", "second_attempt")
    shares: dict[Name, list[_Share]] = {(name, "", ""): [] for name in names}
    by_argument: dict[Name, list[_Share]] = {}
    for question, retrieval, scenario in counted:
        if retrieval is None:
            continue
        calls = [run.call for run in retrieval.first_look.evidence]
        matched = _match(question.calls, calls)
        same_tools = sorted(c.tool for c in question.calls) == sorted(c.tool for c in calls)
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
            "failed": retrieval.status in ("failed", "refused"),
            "not_applicable": retrieval.status == "not_applicable",
            "second_attempt": retrieval.attempts > 1,
        }
        for name, value in values.items():
            shares[name, "", ""].append(_Share(scenario, float(value)))
        shares["arguments", "", ""].append(_Share(scenario, sum(changing), len(changing)))
        for tool, name, right in equal:
            by_argument.setdefault(("argument", tool, name), []).append(
                _Share(scenario, float(right))
            )
    return shares | dict(sorted(by_argument.items()))


def _match(
    known: Sequence[ToolCall], made: Sequence[ToolCall]
) -> list[tuple[ToolCall, ToolCall | None]]:
    """Match each known call with one of its tool, used once, so that most arguments are equal."""
    # One more for the tool itself, so that a call without an equal argument is a partner too.
    gain = [[1 + _equal_arguments(k, m) if k.tool == m.tool else 0 for m in made] for k in known]
    partner = _pairing(gain)
    return [
        (call, made[j] if (j := partner.get(i)) is not None and gain[i][j] > 0 else None)
        for i, call in enumerate(known)
    ]


def _pairing(gain: Sequence[Sequence[int]]) -> dict[int, int]:
    """Choose which column each row takes so that the sum is largest; no column is taken twice."""
    rows, columns = len(gain), len(gain[0]) if gain else 0
    if max(rows, columns) > _FEW:
        from scipy.optimize import linear_sum_assignment

        picked = linear_sum_assignment(np.array(gain), maximize=True)
        return dict(zip(*(part.tolist() for part in picked), strict=True))
    # Rows beyond the columns take a column that is not there.
    places = range(max(rows, columns))
    best = max(
        permutations(places, rows),
        key=lambda taken: sum(gain[i][j] for i, j in enumerate(taken) if j < columns),
        default=(),
    )
    return {i: j for i, j in enumerate(best) if j < columns}


def _equal_arguments(known: ToolCall, made: ToolCall) -> int:
    return sum(_same(value, made.arguments.get(name)) for name, value in known.arguments.items())


def _varying(questions: Sequence[Question]) -> frozenset[tuple[str, str]]:
    """Tool and argument, where two questions know different values."""
    first: dict[tuple[str, str], JsonValue] = {}
    varying: set[tuple[str, str]] = set()
    for question in questions:
        for call in question.calls:
            for name, value in call.arguments.items():
                if not _same(first.setdefault((call.tool, name), value), value):
                    varying.add((call.tool, name))
    return frozenset(varying)


def _same(left: JsonValue, right: JsonValue) -> bool:
    """Equal values; numbers to rounding, and True is not a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=_RELATIVE, abs_tol=0.0)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return left == right
