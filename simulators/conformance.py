"""Whether a simulator keeps the protocol, found out by trying it and without any model.

``check`` renders the handbook, runs every tool at the ends and inside of the ranges of its
arguments, once more with equal seeds, refuses what is wrong, perturbs each output to see that the
text says it, and compares with a fresh process, where every file that a run loads or opens is
set against those that the fingerprint hashed. Calls to start from are the simulator's
``examples()``, else they are made from the ranges.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from simulators.base import (
    ArgumentError,
    Exampled,
    Guided,
    Simulator,
    SimulatorError,
    Tool,
    ToolModel,
    handbook_with_guide,
    validate_call,
)
from simulators.probe import Probed, Task
from simulators.registry import load

Call = dict[str, Any]
PROBE_TIMEOUT_S = 600

UNIT_WORDS: Mapping[str, tuple[str, ...]] = {
    "%": ("percent",),
    "percent": ("%",),
    "s": ("seconds",),
    "degC": ("°C", "degrees Celsius"),
    "people": ("patient", "person", "admissions", "infections"),
    "degrees": ("latitude", "longitude", "N", "S", "E", "W", "°"),
}
"""How a text may say a unit other than by its own name."""


@dataclass
class Finding:
    """One thing that was looked at: what was seen, and what is wrong with it."""

    what: str
    seen: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Nothing is wrong."""
        return not self.problems


@dataclass(frozen=True)
class Run:
    """One run of a tool."""

    tool: Tool
    call: Call
    arguments: ToolModel
    outputs: ToolModel
    seconds: float


def check(name: str, settings: Mapping[str, Any] | None = None) -> list[Finding]:
    """Everything that was looked at. Raises SimulatorError where there is no such simulator."""
    simulator = load(name, settings)
    starts = Finding("calls to start from")
    examples = _examples(simulator, starts)
    calls = {tool: _starts(simulator, tool, examples, starts) for tool in simulator.tools}
    ranges = Finding("ranges of arguments")
    runs = [run for tool in simulator.tools for run in _at_ranges(simulator, tool, calls, ranges)]
    ranges.seen = f"{len(runs)} runs"
    probed = _probe(Task(name, dict(settings or {}), calls))
    return [
        _handbook(simulator),
        starts,
        ranges,
        _repeated(simulator, runs, calls, probed),
        _refusals(simulator, calls),
        _texts(runs),
        _covered(simulator, probed),
        _times(runs),
    ]


def _handbook(simulator: Simulator) -> Finding:
    found = Finding("handbook")
    try:
        text = simulator.handbook()
        guided = handbook_with_guide(simulator)
    except Exception as error:
        found.problems.append(f"it does not render: {_named(error)}")
        return found
    guide = f", {len(guided) - len(text)} of a guide" if isinstance(simulator, Guided) else ""
    found.seen = f"{len(text)} characters{guide}"
    for name, tool in simulator.tools.items():
        if tool.name != name:
            found.problems.append(f"tool '{name}' calls itself '{tool.name}'")
        fields = [*tool.arguments.model_fields, *tool.outputs.model_fields]
        missing = [word for word in (name, *fields) if word not in text]
        if missing:
            found.problems.append(f"it lacks {', '.join(missing)} of {name}")
    return found


def _examples(simulator: Simulator, found: Finding) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    if not isinstance(simulator, Exampled):
        found.seen = "made from the ranges"
        return {}
    found.seen = "examples() of the simulator"
    try:
        return simulator.examples()
    except Exception as error:
        found.problems.append(f"examples() fails: {_named(error)}")
        return {}


def _starts(
    simulator: Simulator,
    tool: str,
    examples: Mapping[str, Sequence[Mapping[str, Any]]],
    found: Finding,
) -> list[Call]:
    """Calls that the tool accepts: the simulator's own, else one out of the ranges."""
    given = examples.get(tool, [])
    calls = [dict(call) for call in given] or [_made(simulator.tools[tool], found)]
    kept = []
    for call in calls:
        try:
            validate_call(simulator, tool, call)
        except ArgumentError as error:
            found.problems.append(f"{error}; name calls of {tool} that work in examples()")
        else:
            kept.append(call)
    return kept


def _made(tool: Tool, found: Finding) -> Call:
    """A call with a value from inside its range for each argument that must be given."""
    call = {}
    for name, schema in _schemas(tool.arguments).items():
        if tool.arguments.model_fields[name].is_required():
            values = list(_values(schema))
            if values:
                call[name] = values[len(values) // 2]
            else:
                found.problems.append(f"{tool.name}: no value for '{name}' follows from its type")
    return call


def _at_ranges(
    simulator: Simulator, tool: str, calls: Mapping[str, list[Call]], found: Finding
) -> Iterator[Run]:
    """Runs of the calls as they are, then with one argument after another at its limits."""
    for call in calls[tool]:
        run = _run(simulator, tool, call, 0, found)
        if run is not None:
            yield run
    if not calls[tool]:
        return
    for name, schema in _schemas(simulator.tools[tool].arguments).items():
        for value in _values(schema):
            taken = [
                {**call, name: value}
                for call in calls[tool]
                if _refused(simulator, tool, {**call, name: value}) is None
            ]
            if not taken:
                why = _refused(simulator, tool, {**calls[tool][0], name: value})
                found.problems.append(f"{name} = {value!r} is in the handbook's range, but: {why}")
                continue
            run = _run(simulator, tool, taken[0], 0, found)
            if run is not None:
                yield run


def _run(simulator: Simulator, tool: str, call: Call, seed: int, found: Finding) -> Run | None:
    shown = f"{tool} {json.dumps(call)}"
    arguments = validate_call(simulator, tool, call)
    began = time.perf_counter()
    try:
        outputs = simulator.run(tool, arguments, seed)
    except SimulatorError as error:
        found.problems.append(f"{shown}: {type(error).__name__}: {error}")
        return None
    except Exception as error:
        found.problems.append(f"{shown}: {_named(error)}, which is no SimulatorError")
        return None
    kind = simulator.tools[tool]
    if not isinstance(outputs, kind.outputs):
        found.problems.append(
            f"{shown}: gave {type(outputs).__name__}, not {kind.outputs.__name__}"
        )
        return None
    return Run(kind, call, arguments, outputs, time.perf_counter() - began)


def _repeated(
    simulator: Simulator, runs: Sequence[Run], calls: Mapping[str, list[Call]], probed: Probed
) -> Finding:
    found = Finding("equal seeds, equal bytes")
    first = {(run.tool.name, json.dumps(run.call)): run.outputs.model_dump_json() for run in runs}
    count = 0
    for tool, starts in calls.items():
        for call in starts:
            key = (tool, json.dumps(call))
            if key not in first:
                continue
            again = _run(simulator, tool, call, 0, found)
            if again is not None and again.outputs.model_dump_json() != first[key]:
                found.problems.append(f"{tool} {key[1]}: two runs with one seed differ")
            elsewhere = probed.outputs.get(f"{tool} {key[1]}")
            if elsewhere is not None and elsewhere != first[key]:
                found.problems.append(f"{tool} {key[1]}: a fresh process gives other outputs")
            count += 1
    found.seen = f"{count} calls, here and in a fresh process"
    return found


def _refusals(simulator: Simulator, calls: Mapping[str, list[Call]]) -> Finding:
    found = Finding("refusals")
    count = 0

    def refused(tool: str, call: Call, what: str) -> None:
        nonlocal count
        count += 1
        try:
            validate_call(simulator, tool, call)
        except ArgumentError:
            return
        except Exception as error:
            found.problems.append(f"{tool}: {what} raises {_named(error)}, not ArgumentError")
            return
        found.problems.append(f"{tool}: {what} is taken")

    refused("no-such-tool", {}, "an unknown tool")
    for tool, starts in calls.items():
        fields = simulator.tools[tool].arguments.model_fields
        for call in starts[:1]:
            refused(tool, {**call, "no_such_argument": 1}, "an unknown argument")
            for name, schema in _schemas(simulator.tools[tool].arguments).items():
                for value in _outside(schema):
                    refused(tool, {**call, name: value}, f"{name} = {value!r}, out of its range,")
                if name in call and fields[name].is_required():
                    left = {key: value for key, value in call.items() if key != name}
                    refused(tool, left, f"a call without {name}")
    found.seen = f"{count} wrong calls"
    return found


def _texts(runs: Sequence[Run]) -> Finding:
    """Each output that is a number or a word must change the text, near its unit."""
    found = Finding("outputs in the text")
    said: dict[tuple[str, str], bool] = {}
    for run in runs:
        try:
            text = run.tool.describe(run.arguments, run.outputs)
        except Exception as error:
            found.problems.append(f"{run.tool.name}: its template fails: {_named(error)}")
            return found
        for name, schema in _schemas(run.tool.outputs).items():
            key = (run.tool.name, name)
            if not _scalar(schema) or said.get(key):
                continue
            lines = _changed_lines(run, text, name, schema)
            unit = _unit(run.tool.outputs, name)
            if lines:
                said[key] = said.get(key, False) or _says(unit, lines)
            else:
                said.setdefault(key, False)
                continue
    unsaid = [f"{tool}.{name}" for (tool, name), whole in said.items() if not whole]
    if unsaid:
        found.problems.append(f"no run's text says, with its unit: {', '.join(unsaid)}")
    found.seen = f"{len(said)} outputs"
    return found


def _changed_lines(run: Run, text: str, name: str, schema: Mapping[str, Any]) -> list[str]:
    """Lines of the text that come out otherwise where one output is another."""
    for other in _others(getattr(run.outputs, name), schema):
        try:
            new = run.tool.describe(run.arguments, run.outputs.model_copy(update={name: other}))
        except Exception:
            return text.splitlines()
        if new != text:
            known = set(new.splitlines())
            return [line for line in text.splitlines() if line not in known] or new.splitlines()
    return []


def _others(value: Any, schema: Mapping[str, Any]) -> list[Any]:
    """Other values of the same kind."""
    words = [w for part in _parts(schema) for w in part.get("enum", []) if w != value]
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
            numbers = any(part.get("type") in ("number", "integer") for part in _parts(schema))
            return words or ([11.25] if numbers else ["x"])


def _says(unit: str, lines: Sequence[str]) -> bool:
    if unit in ("", "-"):
        return True
    text = "\n".join(lines)
    if unit == "YYYY-MM-DD":
        return re.search(r"\d{4}-\d\d-\d\d", text) is not None
    words = "|".join(re.escape(word) for word in (unit, *UNIT_WORDS.get(unit, ())))
    return re.search(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", text, re.IGNORECASE) is not None


def _covered(simulator: Simulator, probed: Probed) -> Finding:
    found = Finding("fingerprint", f"{len(probed.hashed)} files")
    try:
        one, other = simulator.fingerprint(), simulator.fingerprint()
    except Exception as error:
        found.problems.append(f"fingerprint() fails: {_named(error)}")
        return found
    if one != other:
        found.problems.append("two calls of fingerprint() differ")
    elif probed.fingerprint and one != probed.fingerprint:
        found.problems.append("a fresh process has another fingerprint")
    if probed.error:
        found.problems.append(f"in a fresh process: {probed.error}")
    if probed.missed:
        found.problems.append(
            "an edit of these files, which runs use, would not change it: "
            + ", ".join(probed.missed)
        )
    return found


def _times(runs: Sequence[Run]) -> Finding:
    found = Finding("time a run")
    times: dict[str, list[float]] = {}
    for run in runs:
        times.setdefault(run.tool.name, []).append(run.seconds)
    shown = [f"{tool} {sum(t) / len(t):.3g} s (first {t[0]:.3g} s)" for tool, t in times.items()]
    found.seen = "; ".join(shown)
    return found


def _probe(task: Task) -> Probed:
    """What a fresh process sees, with another hash seed: the order of a set decides no result."""
    done = subprocess.run(
        [sys.executable, "-m", "simulators.probe"],
        input=json.dumps(asdict(task)),
        capture_output=True,
        text=True,
        timeout=PROBE_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Probed(error=last)
    return Probed(**json.loads(done.stdout.splitlines()[-1]))


def _refused(simulator: Simulator, tool: str, call: Call) -> str | None:
    try:
        validate_call(simulator, tool, call)
    except ArgumentError as error:
        return str(error)
    return None


def _schemas(model: type[ToolModel]) -> dict[str, Mapping[str, Any]]:
    """By field its JSON schema."""
    found: dict[str, Mapping[str, Any]] = model.model_json_schema().get("properties", {})
    return found


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in (schema, *schema.get("anyOf", ())) if "anyOf" not in part]


def _scalar(schema: Mapping[str, Any]) -> bool:
    """Numbers and words must be said; a series or a table may be left to other readers."""
    kinds = {part.get("type", "object") for part in _parts(schema)} - {"null"}
    return bool(kinds) and kinds <= {"number", "integer", "string", "boolean"}


def _limits(part: Mapping[str, Any]) -> tuple[float | None, float | None, float]:
    """Lowest and highest value, and the step beyond them."""
    whole = part.get("type") == "integer"
    low, high = part.get("minimum"), part.get("maximum")
    step = 1.0 if whole else 1e-6
    if low is None and "exclusiveMinimum" in part:
        low = part["exclusiveMinimum"] + step
    if high is None and "exclusiveMaximum" in part:
        high = part["exclusiveMaximum"] - step
    return low, high, step


def _values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The ends and the middle of a range, every word of an enumeration."""
    for part in _parts(schema):
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


def _outside(schema: Mapping[str, Any]) -> Iterator[Any]:
    parts = [part for part in _parts(schema) if part.get("type") in ("number", "integer")]
    if len(parts) != 1:
        return
    low, high, step = _limits(parts[0])
    beyond = 1.0 if step == 1.0 else 1e-3
    if low is not None:
        yield low - beyond
    if high is not None:
        yield high + beyond
    yield math.nan


def _unit(model: type[ToolModel], name: str) -> str:
    extra = model.model_fields[name].json_schema_extra
    return str(extra.get("unit", "-")) if isinstance(extra, dict) else "-"


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
