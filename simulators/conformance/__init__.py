"""Whether a simulator keeps the protocol, found out by trying it and without any model.

``check`` renders the handbook, runs every tool at the ends and inside of the ranges of its
arguments, once more with equal seeds, refuses what is wrong, perturbs each output to see that the
text says it, and compares with a fresh process, where every file that a run loads or opens is
compared with those that the fingerprint hashed. Calls to start from are the simulator's
``examples()``, else they are made from the ranges.

``verify`` makes recorded runs again on this machine's engines, to see whether they agree.

Outputs are rounded by the simulators, and another platform's last bit may tip a rounding. So two
numbers agree where they are equal, or differ by one step of the last decimal shown, or by a
millionth of their size; words, dates and classes must be equal. An engine whose trajectories
differ (another SUMO) is far outside of that.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from simulators.base import (
    ArgumentError,
    Guided,
    Simulator,
    SimulatorError,
    handbook_with_guide,
    validate_call,
)
from simulators.conformance.runs import (
    Call,
    Finding,
    TriedRun,
    is_scalar,
    named,
    parts,
    run_once,
    runs_at_ranges,
    starting_calls,
    values_outside,
)
from simulators.json_schema import JsonShape, described, names_of, text_of
from simulators.probe import Probed, ProbeTask
from simulators.registry import load
from simulators.tied import tied

__all__ = ["Finding", "RecordedRun", "Repeats", "check", "some_of", "verify"]
PROBE_TIMEOUT_S = 600
UNIT_WORDS: Mapping[str, tuple[str, ...]] = {
    "%": ("percent",),
    "percent": ("%",),
    "s": ("seconds",),
    "min": ("minutes",),
    "h": ("hours",),
    "degC": ("°C", "degrees Celsius"),
    "people": ("patient", "person", "admissions", "infections"),
    "degrees": ("latitude", "longitude", "N", "S", "E", "W", "°"),
}
"""How a text may say a unit other than by its own name."""
RELATIVE = 1e-6
RUNS_A_DOMAIN = 3


def check(name: str, settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Look at everything. Raises SimulatorError where there is no such simulator."""
    simulator = load(name, settings)
    starts = Finding("calls to start from")
    calls = starting_calls(simulator, starts)
    ranges = Finding("ranges of arguments")
    runs = [
        run for tool, some in calls.items() for run in runs_at_ranges(simulator, tool, some, ranges)
    ]
    ranges.seen = f"{len(runs)} runs"
    if ranges.refused:
        ranges.seen += f", {ranges.refused} calls refused in words"
    probed = _probe(ProbeTask(name, dict(settings or {}), calls))
    return [
        _handbook(simulator),
        starts,
        ranges,
        _repeated(simulator, runs, calls, probed),
        _refusals(simulator, calls),
        texts(runs),
        _covered(simulator, probed),
        _times(runs),
    ]


def _handbook(simulator: Simulator) -> Finding:
    finding = Finding("handbook")
    try:
        text = simulator.handbook()
        guided = handbook_with_guide(simulator)
    except Exception as error:
        finding.problems.append(f"it does not render: {named(error)}")
        return finding
    guide = f", {len(guided) - len(text)} of a guide" if isinstance(simulator, Guided) else ""
    finding.seen = f"{len(text)} characters{guide}"
    for name, tool in simulator.tools.items():
        if tool.name != name:
            finding.problems.append(f"tool '{name}' calls itself '{tool.name}'")
        fields = [*names_of(tool.arguments), *names_of(tool.outputs)]
        missing = [word for word in (name, *fields) if word not in text]
        if missing:
            finding.problems.append(f"it lacks {', '.join(missing)} of {name}")
        if bare := [taken.name for taken in described(tool.arguments) if not taken.meaning]:
            finding.notes.append(
                f"it does not say what {', '.join(bare)} of {name} means: declare it by measured()"
            )
    return finding


def _repeated(
    simulator: Simulator, runs: Sequence[TriedRun], calls: Mapping[str, list[Call]], probed: Probed
) -> Finding:
    finding = Finding("equal seeds, equal bytes")
    first = {(run.tool.name, json.dumps(run.call)): text_of(run.outputs) for run in runs}
    count = 0
    for tool, starts in calls.items():
        for call in starts:
            key = (tool, json.dumps(call))
            if key not in first:
                continue
            again = run_once(simulator, tool, call, finding)
            if again is not None and text_of(again.outputs) != first[key]:
                finding.problems.append(f"{tool} {key[1]}: two runs with one seed differ")
            elsewhere = probed.outputs.get(f"{tool} {key[1]}")
            if elsewhere is not None and elsewhere != first[key]:
                finding.problems.append(f"{tool} {key[1]}: a fresh process gives other outputs")
            count += 1
    finding.seen = f"{count} calls, here and in a fresh process"
    return finding


def _refusals(simulator: Simulator, calls: Mapping[str, list[Call]]) -> Finding:
    finding = Finding("refusals")
    count = 0

    def refused(tool: str, call: Call, what: str) -> None:
        nonlocal count
        count += 1
        try:
            validate_call(simulator, tool, call)
        except ArgumentError:
            return
        except Exception as error:
            finding.problems.append(f"{tool}: {what} raises {named(error)}, not ArgumentError")
            return
        finding.problems.append(f"{tool}: {what} is taken")

    refused("no-such-tool", {}, "an unknown tool")
    for tool, starts in calls.items():
        shape = simulator.tools[tool].arguments
        for call in starts[:1]:
            if not (isinstance(shape, JsonShape) and shape.schema.get("additionalProperties")):
                refused(tool, {**call, "no_such_argument": 1}, "an unknown argument")
            for taken in described(shape):
                name = taken.name
                for value in values_outside(taken.schema):
                    refused(tool, {**call, name: value}, f"{name} = {value!r}, out of its range,")
                if name in call and taken.required:
                    left = {key: value for key, value in call.items() if key != name}
                    refused(tool, left, f"a call without {name}")
    finding.seen = f"{count} wrong calls"
    return finding


def _covered(simulator: Simulator, probed: Probed) -> Finding:
    finding = Finding("fingerprint", f"{len(probed.hashed)} files")
    try:
        first, second = simulator.fingerprint(), simulator.fingerprint()
    except Exception as error:
        finding.problems.append(f"fingerprint() fails: {named(error)}")
        return finding
    if first != second:
        finding.problems.append("two calls of fingerprint() differ")
    elif probed.fingerprint and first != probed.fingerprint:
        finding.problems.append("a fresh process has another fingerprint")
    if probed.error:
        finding.problems.append(f"in a fresh process: {probed.error}")
    if probed.script and not probed.hashed:
        finding.notes.append(
            f"it reads no file, so an edit of {probed.script} leaves it as it is: change its text "
            "with the numbers, or old runs are served"
        )
    elif probed.missed:
        finding.problems.append(
            "an edit of these files, which runs use, would not change it: "
            + ", ".join(probed.missed)
        )
    return finding


def _times(runs: Sequence[TriedRun]) -> Finding:
    finding = Finding("time a run")
    times: dict[str, list[float]] = {}
    for run in runs:
        times.setdefault(run.tool.name, []).append(run.seconds)
    shown = [f"{tool} {sum(t) / len(t):.3g} s (first {t[0]:.3g} s)" for tool, t in times.items()]
    finding.seen = "; ".join(shown)
    return finding


def _probe(task: ProbeTask) -> Probed:
    """Look from a fresh process with another hash seed: the order of a set decides no result."""
    done = subprocess.run(
        tied([sys.executable, "-m", "simulators.probe"]),
        input=json.dumps(asdict(task)),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=PROBE_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Probed(error=last)
    return Probed(**json.loads(done.stdout.splitlines()[-1]))


def texts(runs: Sequence[TriedRun]) -> Finding:
    """Check that each output that is a number or a word changes the text, near its unit."""
    finding = Finding("outputs in the text")
    stated: dict[tuple[str, str], bool] = {}
    foreign: set[str] = set()
    for run in runs:
        try:
            text = run.tool.describe(run.arguments, run.outputs)
        except Exception as error:
            finding.problems.append(f"{run.tool.name}: its template fails: {named(error)}")
            return finding
        if isinstance(run.tool.outputs, JsonShape):
            foreign.add(run.tool.name)  # a service words its own results
            continue
        for output in described(run.tool.outputs):
            key = (run.tool.name, output.name)
            if not is_scalar(output.schema) or stated.get(key):
                continue
            lines = _changed_lines(run, text, output.name, output.schema)
            stated[key] = bool(lines) and _says(output.unit, lines)
    unsaid = [f"{tool}.{name}" for (tool, name), whole in stated.items() if not whole]
    if unsaid:
        finding.problems.append(f"no run's text says, with its unit: {', '.join(unsaid)}")
    finding.seen = f"{len(stated)} outputs"
    if foreign:
        finding.seen += f"; not looked at, worded by their service: {', '.join(sorted(foreign))}"
    return finding


def _changed_lines(run: TriedRun, text: str, name: str, schema: Mapping[str, Any]) -> list[str]:
    """Return lines of the text that come out otherwise where one output is another."""
    for other in _others(getattr(run.outputs, name), schema):
        try:
            new = run.tool.describe(run.arguments, run.outputs.model_copy(update={name: other}))
        except Exception:  # the template reads the value, so it says it
            return text.splitlines()
        if new != text:
            known = set(new.splitlines())
            return [line for line in text.splitlines() if line not in known] or new.splitlines()
    return []


def _others(value: Any, schema: Mapping[str, Any]) -> list[Any]:
    """Return other values of the same kind."""
    words = [w for part in parts(schema) for w in part.get("enum", []) if w != value]
    match value:
        case bool():
            return [not value]
        case int():
            return [2 * value + 11]
        case float():
            return [1.5 * value + 11.25, -1.5 * value - 11.25]
        case str():
            return words or [f"{value}x"]
        case _:
            numbers = any(part.get("type") in ("number", "integer") for part in parts(schema))
            return words or ([11.25] if numbers else ["x"])


def _says(unit: str, lines: Sequence[str]) -> bool:
    if unit in ("", "-"):
        return True
    text = "\n".join(lines)
    if unit == "YYYY-MM-DD":
        return re.search(r"\d{4}-\d\d-\d\d", text) is not None
    words = "|".join(re.escape(word) for word in (unit, *UNIT_WORDS.get(unit, ())))
    return re.search(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", text, re.IGNORECASE) is not None


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


def _close(recorded: Any, ours: Any) -> bool:
    if any(
        isinstance(value, bool) or not isinstance(value, int | float) for value in (recorded, ours)
    ):
        return False
    step = 10.0 ** -max(_decimals(recorded), _decimals(ours))
    allowed = max(1.01 * step, RELATIVE * max(abs(recorded), abs(ours)))
    return bool(abs(recorded - ours) <= allowed)


def _decimals(value: float) -> int:
    """Count the decimals that are shown; none of a whole number."""
    text = repr(float(value))
    return 0 if "e" in text or text.endswith(".0") else len(text.partition(".")[2])
