"""What claims say, read once: which output of which run, and the number, direction or class.

Readings are compared by arithmetic, at the precision that the prompts state: numbers as numbers,
each at its own rounding and in its own unit, signs aside. An answer should stay when its question
is only worded anew, and move when that changes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import StrictInt

from simulators.base import Tool
from simulators.json_schema import described
from simulrag.method.asking import ask_in_batches
from simulrag.method.numbers import EXACT, numbers
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Numbered, Text
from simulrag.records import Evidence, Record, ToolCall
from simulrag.task import Task

ClaimKind = Literal["number", "direction", "class", "judgement", "reason", "other"]


class ReadClaim(Numbered):
    """What one claim says: of which output of which run, and what."""

    kind: ClaimKind
    output: Text | None
    run: StrictInt | None
    against: StrictInt | None
    value: Text | None
    unit: Text | None
    direction: Literal["rises", "falls", "same"] | None
    class_word: Text | None


class ReadClaims(Batch):
    """Reply to ``read_claims``; each claim's number has to be there exactly once."""

    claims: list[ReadClaim]


READ_CLAIMS = Task("read_claims", ReadClaims, tokens=580)
CLAIMS_PER_CALL = 20

_FROM = re.compile(r"\b(at least|no less than|or more)\b", re.I)
_ABOVE = re.compile(r"\b(over|above|more than)\b", re.I)
_UP_TO = re.compile(r"\b(at most|up to|no more than|or less)\b", re.I)
_BELOW = re.compile(r"\b(under|below|less than|fewer than)\b", re.I)


class ReadableOutput(Record):
    """One output that a claim can be about; its value is not shown."""

    name: str
    meaning: str
    unit: str | None = None


class ReadableRun(Record):
    """One run, counted from 1, what it was given and what it returned."""

    number: int
    words: str
    outputs: tuple[ReadableOutput, ...]


class ClaimReading(Record):
    """What one claim says, as a model read it; nothing of it is judged.

    ``output`` of ``run`` (counted from 1; ``against`` another one where the claim compares the two)
    is what it is about, None where that is no listed output. ``value`` is the number as the claim
    writes it, with "about" or a range, ``unit`` its unit. ``class_word``: the size in words.
    """

    kind: ClaimKind
    output: str | None = None
    run: int | None = None
    against: int | None = None
    value: str | None = None
    unit: str | None = None
    direction: Literal["rises", "falls", "same"] | None = None
    class_word: str | None = None


class StatedRange(Record):
    """The magnitudes that a number holds for; ``open_low`` and ``open_high``: without that end.

    ``limit``: it says where the number stops, and no number.
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    limit: bool = False

    def holds_for(self, value: float) -> bool:
        """Return whether a magnitude lies inside, up to the rounding of floating point."""
        size = abs(value)
        slack = EXACT * max(1.0, size)
        above = size > self.low + slack if self.open_low else size >= self.low - slack
        below = size < self.high - slack if self.open_high else size <= self.high + slack
        return above and below


def stated_range(text: str) -> StatedRange | None:
    """Return what a number, as a claim writes it, holds for: the precision rule of the prompts.

    Its margin on either side; a range or a limit as it says. None without a number, for a date, and
    where there are several numbers that are no range.
    """
    given = numbers(text)
    if len(given) == 2:
        low, high = sorted((one.value, one.half_unit) for one in given)
        return StatedRange(low=low[0], high=high[0])
    if len(given) != 1 or re.search(r"\d\s*-\s*\d", text):
        return None
    number = given[0]
    if _FROM.search(text) or _ABOVE.search(text):
        above = bool(_ABOVE.search(text))
        return StatedRange(low=number.value, high=math.inf, open_low=above, limit=True)
    if _UP_TO.search(text) or _BELOW.search(text):
        below = bool(_BELOW.search(text))
        return StatedRange(low=0.0, high=number.value, open_high=below, limit=True)
    margin = number.margin
    return StatedRange(low=max(0.0, number.value - margin), high=number.value + margin)


def readable_runs(
    evidence: Sequence[Evidence], tools: Mapping[str, Tool]
) -> tuple[ReadableRun, ...]:
    """List what claims can be about: the outputs of the runs by name, with no value of them."""
    return tuple(
        ReadableRun(
            number=number,
            words=f"{item.call.tool} {_given(item)}",
            outputs=_outputs(tools[item.call.tool], item),
        )
        for number, item in enumerate(evidence, start=1)
    )


def _given(evidence: Evidence) -> str:
    """Return the arguments of a run that have a value."""
    values = {name: value for name, value in evidence.call.arguments.items() if value is not None}
    return json.dumps(values, ensure_ascii=False)


def _outputs(tool: Tool, evidence: Evidence) -> tuple[ReadableOutput, ...]:
    """Return the outputs that are there and are one number or word."""
    return tuple(
        ReadableOutput(
            name=output.name,
            meaning=output.meaning or output.name,
            unit=output.unit if output.unit != "-" else None,
        )
        for output in described(tool.outputs)
        if isinstance(evidence.outputs.get(output.name), int | float | str)
    )


async def read_claims(
    question: str,
    claims: Sequence[str],
    runs: Sequence[ReadableRun],
    ask: Asker,
    *,
    claims_per_call: int = CLAIMS_PER_CALL,
) -> tuple[ClaimReading, ...]:
    """Read what each claim says, in order; no call without claims.

    Raises ModelError where a reply, after one repair, leaves a claim out or names an output or a
    run that is not listed.
    """
    replies: list[ReadClaim] = await ask_in_batches(
        READ_CLAIMS,
        claims,
        ask,
        claims_per_call=claims_per_call,
        check_each=lambda reply, _: _check_listed(reply, runs),
        question=question,
        runs=[run.model_dump() for run in runs],
    )
    return tuple(
        ClaimReading.model_validate(reply.model_dump(exclude={"index"})) for reply in replies
    )


def _check_listed(item: ReadClaim, runs: Sequence[ReadableRun]) -> None:
    """Raise ValueError, in words that a model can act on, for what is not in the list."""
    known = {run.number: {output.name for output in run.outputs} for run in runs}
    where = f"claim {item.index}"
    if item.output is None:
        if item.run is not None or item.against is not None:
            raise ValueError(f"{where}: without an output, run and against are null")
        return
    if item.run is None:
        raise ValueError(f"{where}: name the run of the output '{item.output}'")
    if item.against == item.run:
        raise ValueError(f"{where}: a run is not compared with itself")
    for number in (item.run, item.against):
        if number is not None and item.output not in known.get(number, ()):
            listed: Any = ", ".join(sorted(known[number])) if number in known else "no such run"
            raise ValueError(
                f"{where}: run {number} has no output '{item.output}' in the list ({listed})"
            )


_SIGNS = {"rises": 1, "falls": -1, "same": 0}


def same_calls(one: Sequence[ToolCall], two: Sequence[ToolCall]) -> bool:
    """Return whether two answers rest on the same tool calls, in any order."""
    left = list(two)
    for call in one:
        if call not in left:
            return False
        left.remove(call)
    return not left


def same_claims(one: Sequence[ClaimReading], two: Sequence[ClaimReading]) -> float | None:
    """Return, of the numbers, directions and classes that two answers give, the share repeated.

    Both were read against the runs of the first question. A claim about no listed output is not
    compared; None where nothing was said of any.
    """
    repeated: list[bool] = []
    for claims, others in ((one, two), (two, one)):
        for claim in claims:
            statements = [_said(other) for other in others if _same(other, claim)]
            for kind, what in _said(claim).items():
                repeated.append(any(kind in t and _equal(what, t[kind]) for t in statements))
    return sum(repeated) / len(repeated) if repeated else None


def moved(
    old: Sequence[ClaimReading],
    new: Sequence[ClaimReading],
    before: Sequence[Evidence],
    after: Sequence[Evidence],
) -> bool | None:
    """Return whether an answer moved as the simulator did, in its numbers and in their differences.

    ``old`` was read against the runs ``before``, ``new`` against the runs ``after``; run k of the
    one is run k of the other with an argument changed. Compared are each number with its new run,
    each with the same output's number in the old answer, and each direction between two runs.
    None where nothing was compared.
    """
    right: list[bool] = []
    for claim in new:
        statement = _said(claim)
        size, base = (_size(after, run, claim.output) for run in (claim.run, claim.against))
        number, start = statement.get("number"), _size(before, claim.run, claim.output)
        if size is None:
            continue
        if base is not None and claim.direction is not None:
            right.append(_SIGNS[claim.direction] == _sign(size - base))
        if isinstance(number, StatedRange) and claim.against is None:
            right.append(number.holds_for(size))
            for other in old:
                was = _said(other).get("number")
                if start is not None and isinstance(was, StatedRange) and _same(other, claim):
                    right.append(_follows(was, number, start, size))
    return all(right) if right else None


def _same(one: ClaimReading, two: ClaimReading) -> bool:
    """Return whether two claims are about the same output of the same run or runs."""
    return (one.output, one.run, one.against) == (two.output, two.run, two.against)


def _said(claim: ClaimReading) -> dict[str, object]:
    """Return what a claim says of a listed output, by kind."""
    statement = {
        "number": stated_range(claim.value or ""),
        "direction": claim.direction,
        "class": claim.class_word and claim.class_word.casefold(),
    }
    return {} if claim.output is None else {kind: what for kind, what in statement.items() if what}


def _equal(one: object, two: object) -> bool:
    if isinstance(one, StatedRange) and isinstance(two, StatedRange):
        return one.holds_for(_middle(two)) or two.holds_for(_middle(one))
    return one == two


def _middle(stated: StatedRange) -> float:
    """Return the number itself; of a limit, the limit."""
    return stated.low if math.isinf(stated.high) else (stated.low + stated.high) / 2


def _size(evidence: Sequence[Evidence], run: int | None, output: str | None) -> float | None:
    """Return a run's output; None where there is no such number."""
    known = run is not None and 1 <= run <= len(evidence)
    value = evidence[run - 1].outputs.get(output or "") if run and known else None
    return float(value) if isinstance(value, int | float) and value is not True else None


def _follows(was: StatedRange, told: StatedRange, start: float, size: float) -> bool:
    """Return whether two stated numbers differ as the two runs do, within their rounding."""
    if told.low < was.high and was.low < told.high:
        return told.holds_for(start) or (was.holds_for(start) and was.holds_for(size))
    return _sign(told.low - was.low) == _sign(abs(size) - abs(start))


def _sign(difference: float) -> int:
    return (difference > 0) - (difference < 0)
