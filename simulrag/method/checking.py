"""Step 9 by arithmetic: a model says which output a claim is about, and numbers are compared here.

By ``point`` the output's value decides, at the claim's own rounding. By ``range`` a number inside
the output's range is aligned, and a direction, class or limit is decided where the whole range, or
the stated level of the distribution, agrees on it; else the simulator cannot tell. An output
without a range is a range of one value, so that both are one rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from simulators.base import Spread, Tool
from simulrag.method.numbers import EXACT
from simulrag.method.reading import (
    ClaimReading,
    ReadableRun,
    read_claims,
    readable_runs,
    stated_range,
)
from simulrag.method.units import converter, is_percent
from simulrag.models.base import Asker
from simulrag.records import Evidence, Verdict

Rule = Literal["point", "range"]
CANNOT_TELL = "the simulator cannot tell"
SIGNED = frozenset({"change", "growth"})
"""Parts of the names of outputs that are changes: their sign is a direction."""


@dataclass(frozen=True)
class SimulatedValue:
    """What the outputs say of a claim's subject: a value and its range, in one unit."""

    value: float
    low: float
    high: float
    unit: str | None
    level: float | None

    def mapped(self, of: Callable[[float], float], unit: str | None = None) -> SimulatedValue:
        """Each number by a monotone function."""
        low, high = sorted((of(self.low), of(self.high)))
        return SimulatedValue(of(self.value), low, high, unit or self.unit, self.level)

    def told(self) -> str:
        """The value and its range, as a claim can say it."""
        if self.level is None:
            return _shown(self.value)
        ends = f"{_shown(self.low)} to {_shown(self.high)}"
        return f"{_shown(self.value)} ({100 * self.level:g} % range {ends})"

    def with_unit(self) -> str:
        """The same with its unit behind it."""
        return f"{self.told()} {self.unit}" if self.unit else self.told()


@dataclass(frozen=True)
class Outputs:
    """The runs of a question, as they may be named and as they came out."""

    evidence: Sequence[Evidence]
    runs: Sequence[ReadableRun]
    tools: Mapping[str, Tool]

    def value(self, run: int, name: str) -> float | str | None:
        """An output of a run, counted from 1."""
        output = self.evidence[run - 1].outputs.get(name)
        return output if isinstance(output, int | float | str) else None

    def spread(self, run: int, name: str) -> Spread | None:
        """How it scatters, where the tool says so."""
        return self.tools[self.evidence[run - 1].call.tool].spreads.get(name)

    def number(self, run: int, name: str, by: Rule) -> SimulatedValue:
        """A number with its range; by point, and without one, a range of one value."""
        value, spread = self.value(run, name), self.spread(run, name)
        if value is None or isinstance(value, str):
            raise _Undecided(f"{name} of run {run} is no number")
        unit = next(one.unit for one in self.runs[run - 1].outputs if one.name == name)
        ends = [self.value(run, end) for end in (spread.low, spread.high)] if spread else []
        low, high = ends or (None, None)
        if by == "point" or not isinstance(low, int | float) or not isinstance(high, int | float):
            return SimulatedValue(value, value, value, unit, None)
        return SimulatedValue(value, low, high, unit, spread.level if spread else None)

    def words(self, reading: ClaimReading) -> str:
        """The output that a reading names, in words."""
        run = self.runs[(reading.run or 1) - 1]
        meaning = next(one.meaning for one in run.outputs if one.name == reading.output)
        if reading.against is None:
            return f"{meaning.rstrip('.')} ({run.words})"
        other = self.runs[reading.against - 1].words
        return f"{meaning.rstrip('.')}, difference of {run.words} from {other}"


async def check_claims(
    question: str,
    claims: Sequence[str],
    evidence: Sequence[Evidence],
    tools: Mapping[str, Tool],
    ask: Asker,
    *,
    by: Rule,
    claims_per_call: int,
) -> list[Verdict]:
    """One verdict a claim, in order. Raises ModelError where the claims cannot be read."""
    outputs = Outputs(evidence, readable_runs(evidence, tools), tools)
    readings = await read_claims(
        question, claims, outputs.runs, ask, claims_per_call=claims_per_call
    )
    pairs = zip(claims, readings, strict=True)
    return [check_claim(claim, reading, outputs, by) for claim, reading in pairs]


def has_readable_outputs(evidence: Sequence[Evidence], tools: Mapping[str, Tool]) -> bool:
    """Whether a run has an output that a claim can be compared with."""
    return any(run.outputs for run in readable_runs(evidence, tools))


def with_value(read: Verdict, compared: Verdict) -> Verdict:
    """The verdict by reading, with the value that arithmetic found where both find it aligned."""
    if read.status == compared.status == "aligned":
        return read.model_copy(update={"found": compared.found})
    return read


class _Undecided(Exception):  # noqa: N818 caught where the claim's verdict is made
    """Why the outputs decide nothing."""


def check_claim(claim: str, reading: ClaimReading, outputs: Outputs, by: Rule) -> Verdict:
    """What the outputs decide of one claim; else indeterminate, with the reason."""
    try:
        return _decided(claim, reading, outputs, by)
    except _Undecided as why:
        return Verdict(status="indeterminate", reason=str(why))


def _decided(claim: str, reading: ClaimReading, outputs: Outputs, by: Rule) -> Verdict:
    if reading.output is None or reading.run is None:
        raise _Undecided("it is about no single output of the runs")
    if isinstance(word := outputs.value(reading.run, reading.output), str):
        return _by_word(reading, word, outputs, by)
    if reading.kind not in ("number", "direction"):
        raise _Undecided(f"a {reading.kind} is not among the outputs")
    simulated = _simulated_value(reading, outputs, by)
    change = bool(SIGNED & set(reading.output.split("_"))) or reading.against is not None
    if reading.kind == "direction":
        return _by_direction(reading, simulated, change, outputs)
    return _by_number(claim, reading, simulated, change, outputs)


def _simulated_value(reading: ClaimReading, outputs: Outputs, by: Rule) -> SimulatedValue:
    """What the reading names, in the claim's unit."""
    name = reading.output or ""
    simulated = outputs.number(reading.run or 1, name, by)
    if reading.against is not None:
        compared = outputs.number(reading.against, name, by)
        share = is_percent(reading.unit) and not is_percent(simulated.unit)
        if share and not compared.value:
            raise _Undecided(f"{name} of run {reading.against} is 0 and has no change in percent")
        simulated = _between(simulated, compared, share)
    difference = reading.against is not None or reading.direction is not None
    convert = converter(reading.unit, simulated.unit, difference=difference)
    if convert is None:
        raise _Undecided(
            f"its unit '{reading.unit}' is none of {name}, which is in {simulated.unit}"
        )
    return simulated.mapped(convert, reading.unit)


def _between(one: SimulatedValue, other: SimulatedValue, share: bool) -> SimulatedValue:
    """The difference, or the change in percent; the two ranges taken as independent.

    Each end is moved by itself, and the steps are added in quadrature (as of independent errors).
    """

    def of(a: float, b: float) -> float:
        return 100 * (a / b - 1) if share else a - b

    value = of(one.value, other.value)
    up = math.hypot(of(one.high, other.value) - value, of(one.value, other.low) - value)
    down = math.hypot(of(one.low, other.value) - value, of(one.value, other.high) - value)
    level = one.level or other.level
    return SimulatedValue(value, value - down, value + up, "%" if share else one.unit, level)


def _by_number(
    claim: str, reading: ClaimReading, simulated: SimulatedValue, signed: bool, outputs: Outputs
) -> Verdict:
    stated = None if reading.value is None else stated_range(reading.value)
    if stated is None:
        raise _Undecided("it gives no number that can be compared")
    side = _towards(simulated, reading.direction if signed else None)
    within = [end >= -EXACT and stated.holds_for(end) for end in (side.low, side.value, side.high)]
    slack = EXACT * max(1.0, abs(side.value))
    meets = side.low <= stated.high + slack and side.high >= stated.low - slack
    if stated.limit and any(within) and not all(within):
        raise _Undecided(f"{CANNOT_TELL}: {simulated.with_unit()}")
    if all(within) or (meets and not stated.limit):
        return Verdict(status="aligned", found=simulated.with_unit())
    text = f"{outputs.words(reading)}: {simulated.with_unit()}"
    written = rf"(?<![\w.,]){re.escape(reading.value or '')}(?!\w|[.,]\d)"
    if side.low >= 0 and len(re.findall(written, claim, re.I)) == 1:
        text = re.sub(written, lambda _: side.told(), claim, flags=re.I)
    return Verdict(status="contradicted", updated_claim=text, found=simulated.with_unit())


def _towards(simulated: SimulatedValue, direction: str | None) -> SimulatedValue:
    """As a magnitude that the claim's direction gives its sign; without one, signs aside."""
    if direction == "rises":
        return simulated
    if direction == "falls" or simulated.high <= 0:
        return simulated.mapped(lambda value: 0.0 - value)
    if simulated.low >= 0:
        return simulated
    high = max(-simulated.low, simulated.high)
    return SimulatedValue(abs(simulated.value), 0.0, high, simulated.unit, simulated.level)


def _by_direction(
    reading: ClaimReading, simulated: SimulatedValue, signed: bool, outputs: Outputs
) -> Verdict:
    if not signed or reading.direction is None:
        raise _Undecided("the output is a level and has no direction")
    text = f"{outputs.words(reading)}: {simulated.with_unit()}"
    wrong = Verdict(status="contradicted", updated_claim=text, found=simulated.with_unit())
    right = Verdict(status="aligned", found=simulated.with_unit())
    if reading.direction == "same":
        if simulated.level is None and simulated.value:
            raise _Undecided("how small a change counts as none is not said")
        return right if simulated.low <= 0 <= simulated.high else wrong
    side = _towards(simulated, reading.direction)
    if side.low > 0:
        return right
    if side.high < 0 or (simulated.level is None and not simulated.value):
        return wrong
    raise _Undecided(f"{CANNOT_TELL}: {simulated.with_unit()}")


def _by_word(reading: ClaimReading, word: str, outputs: Outputs, by: Rule) -> Verdict:
    """A class, where the output is the word itself."""
    run, name = reading.run or 1, reading.output or ""
    if reading.class_word is None or reading.against is not None:
        raise _Undecided("it gives no word that can be compared")
    shown = word
    spread = outputs.spread(run, name) if by == "range" else None
    share = outputs.value(run, spread.share) if spread else None
    if spread and isinstance(share, int | float):
        shown = f"{word} (in {100 * share:.0f} % of the runs)"
        if share < spread.level:
            raise _Undecided(f"{CANNOT_TELL}: {shown}")
    if reading.class_word.strip().casefold() == word.casefold():
        return Verdict(status="aligned", found=shown)
    text = f"{outputs.words(reading)}: {shown}"
    return Verdict(status="contradicted", updated_claim=text, found=shown)


def _shown(value: float) -> str:
    """Four digits, or all of those before the point."""
    places = min(6, max(0, 3 - math.floor(math.log10(abs(value))))) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
