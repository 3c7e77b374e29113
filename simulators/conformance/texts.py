"""Whether a tool's text says each output with its unit: each is changed, and the text read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from simulators.conformance.ranges import is_scalar, parts
from simulators.conformance.runs import Finding, TriedRun, named
from simulators.json_schema import JsonShape, described

UNIT_WORDS: Mapping[str, tuple[str, ...]] = {
    "%": ("percent",),
    "percent": ("%",),
    "s": ("seconds",),
    "degC": ("°C", "degrees Celsius"),
    "people": ("patient", "person", "admissions", "infections"),
    "degrees": ("latitude", "longitude", "N", "S", "E", "W", "°"),
}
"""How a text may say a unit other than by its own name."""


def texts(runs: Sequence[TriedRun]) -> Finding:
    """Each output that is a number or a word must change the text, near its unit."""
    found = Finding("outputs in the text")
    said: dict[tuple[str, str], bool] = {}
    foreign: set[str] = set()
    for run in runs:
        try:
            text = run.tool.describe(run.arguments, run.outputs)
        except Exception as error:
            found.problems.append(f"{run.tool.name}: its template fails: {named(error)}")
            return found
        if isinstance(run.tool.outputs, JsonShape):
            foreign.add(run.tool.name)  # a service words its own results
            continue
        for output in described(run.tool.outputs):
            key = (run.tool.name, output.name)
            if not is_scalar(output.schema) or said.get(key):
                continue
            lines = _changed_lines(run, text, output.name, output.schema)
            said[key] = bool(lines) and _says(output.unit, lines)
    unsaid = [f"{tool}.{name}" for (tool, name), whole in said.items() if not whole]
    if unsaid:
        found.problems.append(f"no run's text says, with its unit: {', '.join(unsaid)}")
    found.seen = f"{len(said)} outputs"
    if foreign:
        found.seen += f"; not looked at, worded by their service: {', '.join(sorted(foreign))}"
    return found


def _changed_lines(run: TriedRun, text: str, name: str, schema: Mapping[str, Any]) -> list[str]:
    """Lines of the text that come out otherwise where one output is another."""
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
    """Other values of the same kind."""
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
