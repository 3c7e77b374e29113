"""Runs of a simulator's tools, from the calls it names to the limits of every argument."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.base import (
    ArgumentError,
    Exampled,
    Simulator,
    SimulatorError,
    Tool,
    validate_call,
)
from simulators.json_schema import JsonShape, Values, described, read_values

Call = dict[str, Any]
_CALL = re.compile(r"\{.*?\}(?=: )")
"""The arguments of a call in a problem, as ``run_once`` words it."""


def parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schema itself, or the alternatives that it names."""
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return [part for other in schema[word] for part in parts(other)]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds]
    return [schema]


def is_scalar(schema: Mapping[str, Any]) -> bool:
    """Tell numbers and words, which a text must say, from a series or a table."""
    kinds = {part.get("type", "object") for part in parts(schema)} - {"null"}
    return bool(kinds) and kinds <= {"number", "integer", "string", "boolean"}


def _limits(part: Mapping[str, Any]) -> tuple[float | None, float | None, float]:
    """Return lowest and highest value, and the step beyond them."""
    whole = part.get("type") == "integer"
    low, high = part.get("minimum"), part.get("maximum")
    step = 1.0 if whole else 1e-6
    if low is None and "exclusiveMinimum" in part:
        low = part["exclusiveMinimum"] + step
    if high is None and "exclusiveMaximum" in part:
        high = part["exclusiveMaximum"] - step
    return low, high, step


def values_within(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the ends and the middle of a range, every word of an enumeration."""
    for part in parts(schema):
        if "enum" in part or "const" in part:
            yield from part.get("enum", [part.get("const")])
        elif part.get("type") == "boolean":
            yield from (False, True)
        elif part.get("type") in ("number", "integer"):
            low, high, _ = _limits(part)
            middle = [] if low is None or high is None else [(low + high) / 2]
            kept = [value for value in (low, *middle, high) if value is not None]
            cast: Callable[[float], float] = int if part["type"] == "integer" else float
            yield from (cast(value) for value in kept)


def values_outside(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield numbers just beyond a range, and one that is not a number."""
    numbers = [part for part in parts(schema) if part.get("type") in ("number", "integer")]
    if len(numbers) != 1:
        return
    low, high, step = _limits(numbers[0])
    beyond = 1.0 if step == 1.0 else 1e-3
    if low is not None:
        yield low - beyond
    if high is not None:
        yield high + beyond
    yield math.nan


@dataclass
class Finding:
    """One thing that was looked at: what was seen, what is wrong with it, and what is no fault."""

    what: str
    seen: str = ""
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    refused: int = 0

    @property
    def passed(self) -> bool:
        """Nothing is wrong."""
        return not self.problems

    @property
    def folded(self) -> list[str]:
        """The problems; of those that differ in their call alone the first, with how many."""
        alike: dict[str, list[str]] = {}
        for problem in self.problems:
            alike.setdefault(_CALL.sub("", problem), []).append(problem)
        return [
            first if not more else f"{first} (x {1 + len(more)})" for first, *more in alike.values()
        ]


@dataclass(frozen=True)
class TriedRun:
    """One run of a tool, as it came out."""

    tool: Tool
    call: Call
    arguments: Values
    outputs: Values
    seconds: float


def starting_calls(simulator: Simulator, finding: Finding) -> dict[str, list[Call]]:
    """Collect by tool calls that it accepts: the simulator's own, else one out of the ranges."""
    given: Mapping[str, Sequence[Mapping[str, Any]]] = {}
    finding.seen = "made from the ranges"
    if isinstance(simulator, Exampled):
        finding.seen = "examples() of the simulator"
        try:
            given = simulator.examples()
        except Exception as error:
            finding.problems.append(f"examples() fails: {named(error)}")
    kept: dict[str, list[Call]] = {}
    for name, tool in simulator.tools.items():
        calls = [dict(call) for call in given.get(name, [])] or [_made(tool, finding)]
        kept[name] = []
        for call in calls:
            why = refusal(simulator, name, call)
            if why is None:
                kept[name].append(call)
            else:
                finding.problems.append(f"{why}; name calls of {name} that work in examples()")
    return kept


def _made(tool: Tool, finding: Finding) -> Call:
    """Make a call with a value from inside its range for each argument that must be given."""
    call = {}
    for taken in described(tool.arguments):
        if taken.required:
            values = list(values_within(taken.schema))
            if values:
                call[taken.name] = values[len(values) // 2]
            else:
                finding.problems.append(
                    f"{tool.name}: no value for '{taken.name}' follows from its type"
                )
    return call


def runs_at_ranges(
    simulator: Simulator, tool: str, calls: Sequence[Call], finding: Finding
) -> Iterator[TriedRun]:
    """Run the calls as they are, then with one argument after another at its limits."""
    wanted = list(calls)
    for taken in described(simulator.tools[tool].arguments):
        for value in values_within(taken.schema) if calls else ():
            changed = [{**call, taken.name: value} for call in calls]
            why = [refusal(simulator, tool, call) for call in changed]
            if None in why:
                wanted.append(changed[why.index(None)])
            else:
                finding.problems.append(f"{taken.name} = {value!r} is in its range, but: {why[0]}")
    for number, call in enumerate(wanted):
        made = run_once(simulator, tool, call, finding, may_refuse=number >= len(calls))
        if made is not None:
            yield made


def run_once(
    simulator: Simulator, tool: str, call: Call, finding: Finding, *, may_refuse: bool = False
) -> TriedRun | None:
    """Run once with seed 0; what goes wrong is a problem.

    With ``may_refuse`` an ArgumentError is none: a run may refuse what no range can say.
    """
    shown = f"{tool} {json.dumps(call)}"
    arguments = validate_call(simulator, tool, call)
    began = time.perf_counter()
    try:
        outputs = simulator.run(tool, arguments, 0)
    except SimulatorError as error:
        if may_refuse and isinstance(error, ArgumentError):
            finding.refused += 1
        else:
            finding.problems.append(f"{shown}: {named(error)}")
        return None
    except Exception as error:
        finding.problems.append(f"{shown}: {named(error)}, which is not a SimulatorError")
        return None
    kind = simulator.tools[tool]
    wrong = _misfit(kind, outputs)
    if wrong:
        finding.problems.append(f"{shown}: {wrong}")
        return None
    return TriedRun(kind, call, arguments, outputs, time.perf_counter() - began)


def _misfit(kind: Tool, outputs: Values) -> str:
    """Say why outputs are not of the tool's shape; empty where they are."""
    if not isinstance(kind.outputs, JsonShape):
        fits = isinstance(outputs, kind.outputs)
        return "" if fits else f"gave {type(outputs).__name__}, not {kind.outputs.__name__}"
    try:
        read_values(kind.outputs, outputs)
    except ValueError as error:
        return f"gave outputs that do not fit their schema: {error}"
    return ""


def refusal(simulator: Simulator, tool: str, call: Call) -> str | None:
    """Say why a call is refused; none where it is not."""
    try:
        validate_call(simulator, tool, call)
    except ArgumentError as error:
        return str(error)
    return None


def named(error: Exception) -> str:
    """Name an error with its class."""
    return f"{type(error).__name__}: {error}"
