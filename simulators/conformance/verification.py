"""Recorded runs made again on this machine's engines, to see whether they agree.

Outputs are rounded by the simulators, and another platform's last bit may tip a rounding. So two
numbers agree where they are equal, or differ by one step of the last decimal shown, or by a
millionth of their size; words, dates and classes must be equal. An engine whose trajectories
differ (another SUMO) is far outside of that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulators.base import Simulator, SimulatorError, validate_call
from simulators.json_schema import text_of

RELATIVE = 1e-6
RUNS_A_DOMAIN = 3


@dataclass(frozen=True)
class RecordedRun:
    """One run as it was recorded."""

    tool: str
    arguments: Mapping[str, Any]
    seed: int
    outputs: Mapping[str, Any]


@dataclass
class Repeats:
    """How many runs came out equal, how many within the tolerance, and what differs."""

    equal: int = 0
    close: int = 0
    differences: list[str] = field(default_factory=list)


def some_of(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """Choose ``RUNS_A_DOMAIN`` of them, of as many tools as there are; always the same ones."""
    ordered = sorted(runs, key=lambda run: (run.tool, json.dumps(run.arguments, sort_keys=True)))
    tools: dict[str, list[RecordedRun]] = {}
    for run in ordered:
        tools.setdefault(run.tool, []).append(run)
    depth = max(map(len, tools.values()), default=0)
    rounds = [some[k] for k in range(depth) for some in tools.values() if k < len(some)]
    return rounds[:RUNS_A_DOMAIN]


def verify(simulator: Simulator, runs: Sequence[RecordedRun]) -> Repeats:
    """Make the runs again and compare; a run that fails is a difference."""
    repeats = Repeats()
    for run in runs:
        try:
            arguments = validate_call(simulator, run.tool, run.arguments)
            outputs = simulator.run(run.tool, arguments, run.seed)
        except SimulatorError as error:
            repeats.differences.append(f"{run.tool}: {error}")
            continue
        ours = json.loads(text_of(outputs))
        if ours == run.outputs:
            repeats.equal += 1
        elif apart := differences(run.outputs, ours):
            repeats.differences += [f"{run.tool}.{line}" for line in apart]
        else:
            repeats.close += 1
    return repeats


def differences(recorded: Any, ours: Any, where: str = "") -> list[str]:
    """List fields that differ by more than the tolerance: name, recorded value, value now."""
    if isinstance(recorded, Mapping) and isinstance(ours, Mapping):
        names = sorted({*recorded, *ours})
        pairs = [(f"{where}.{n}" if where else n, recorded.get(n), ours.get(n)) for n in names]
    elif isinstance(recorded, list) and isinstance(ours, list) and len(recorded) == len(ours):
        both = zip(recorded, ours, strict=True)
        pairs = [(f"{where}[{k}]", theirs, own) for k, (theirs, own) in enumerate(both)]
    else:
        same = recorded == ours or _close(recorded, ours)
        return [] if same else [f"{where}: recorded {recorded!r}, here {ours!r}"]
    return [line for name, theirs, own in pairs for line in differences(theirs, own, name)]


def _close(one: Any, other: Any) -> bool:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (one, other)):
        return False
    step = 10.0 ** -max(_decimals(one), _decimals(other))
    allowed = max(1.01 * step, RELATIVE * max(abs(one), abs(other)))
    return bool(abs(one - other) <= allowed)


def _decimals(value: float) -> int:
    """Count the decimals that are shown; none of a whole number."""
    text = repr(float(value))
    return 0 if "e" in text or text.endswith(".0") else len(text.partition(".")[2])
