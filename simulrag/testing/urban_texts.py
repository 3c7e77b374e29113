"""What the test double reads and writes of the urban simulator: its texts, templates, references.

No model's work: the structure of our own text templates, read by their labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSIDE = {
    "average vehicle travel time": ("Average travel time", "travel_time_change_percent"),
    "average vehicle idling time": ("Average idling time", "idling_change_percent"),
    "total fuel consumption": ("Total fuel consumption", "fuel_change_percent"),
    "total CO2 emissions": ("Total CO2 emissions", "co2_change_percent"),
    "total NOx emissions": ("Total NOx emissions", "nox_change_percent"),
    "average distance travelled": ("Average distance", ""),
}
"""What claims speak of: its label in the evidence, and the output of a comparison."""

_OF_A_RUN = {"travel_time_s": "Average travel time", "co2_mg": "Total CO2 emissions"}
_LINE = re.compile(
    r"^(?P<label>[A-Z][\w ]+): (?P<value>[\d.]+) (?P<unit>\w+)"
    r"(?:.*?a change of (?P<change>[+-]?[\d.]+) %)?.*$",
    re.M,
)


@dataclass(frozen=True)
class PrintedLine:
    """One line of a run's evidence, its numbers as printed; ``change`` in percent."""

    value: str
    unit: str
    change: str | None


def runs_of(evidence: str) -> list[dict[str, PrintedLine]]:
    """The runs of an evidence, each a reading by label."""
    parts = re.split(r"^Run \d+ \(.*\):\n", evidence, flags=re.M)
    return [
        {m["label"]: PrintedLine(m["value"], m["unit"], m["change"]) for m in _LINE.finditer(part)}
        for part in parts
        if part.strip()
    ]


def changes(evidence: str) -> dict[str, float]:
    """By subject: the change in percent that an evidence states first."""
    found: dict[str, float] = {}
    for run in runs_of(evidence):
        for subject, (label, _) in INSIDE.items():
            reading = run.get(label)
            if reading is not None and reading.change is not None:
                found.setdefault(subject, float(reading.change))
    return found


def templates() -> list[dict[str, Any]]:
    """Two templates of one run against the baseline, one that sets two runs side by side."""
    text = Path(__file__).with_name("urban_templates.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


_CUT = re.compile(r"cut by (\d+) %")
_GROWTH = re.compile(r"built, (\d+) % more vehicles")
_LANES = re.compile(r"carry (\d+) % more vehicles")


def tool_calls(question: str, handbook: str) -> list[dict[str, Any]]:
    """The calls behind a question of ``templates``; of any other question one and the same."""
    if "compare_with_baseline" not in handbook:
        return []
    if (cut := _CUT.search(question)) is not None:
        return [_call("compare_with_baseline", speed_factor=round(1 - int(cut[1]) / 100, 2))]
    if (growth := _GROWTH.search(question)) is not None:
        return [_call("compare_with_baseline", demand_factor=round(1 + int(growth[1]) / 100, 2))]
    if (growth := _LANES.search(question)) is not None:
        demand = round(1 + int(growth[1]) / 100, 2)
        return [_call("run_scenario", demand_factor=demand, lanes=lanes) for lanes in (1, 3)]
    return [_call("compare_with_baseline", speed_factor=0.8)]


def question_and_reference(
    situation: str, asks: Sequence[dict[str, Any]], evidence: str
) -> tuple[str, str]:
    """A question of ``templates`` and its reference: every number as the evidence prints it."""
    runs = runs_of(evidence)
    asked: list[str] = []
    stated: list[str] = []
    better: list[bool] = []
    for ask in asks:
        words = ask["words"]
        asked.append(f"What is the {words} in percent, and is it {_limits(ask['classes'])}?")
        if ask["against"]:
            one, other = (
                runs[ask[side] - 1][_OF_A_RUN[ask["output"]]] for side in ("run", "against")
            )
            change = (float(one.value) / float(other.value) - 1) * 100
            stated.append(
                f"The {words.removeprefix('difference in ')} is {one.value} {one.unit} in run "
                f"{ask['run']} and {other.value} {other.unit} in run {ask['against']}."
            )
        else:
            label = next(label for label, output in INSIDE.values() if output == ask["output"])
            printed = runs[ask["run"] - 1][label].change or "0.00"
            change = float(printed)
            way = "rise" if change > 0 else "fall" if change < 0 else "change"
            stated.append(f"The {words} is a {way} of {printed.lstrip('+-')} %.")
        stated.append(f"The {words} is {_class(change, ask['classes'])}.")
        better.append((change < 0) == (ask["better"] == "lower"))
    asked.append("Does the situation improve overall?")
    stated.append(f"Overall the situation {'improves' if all(better) else 'does not improve'}.")
    return " ".join((situation, *asked)), " ".join(stated)


def _limits(classes: Sequence[dict[str, Any]]) -> str:
    names = [item["name"] for item in classes]
    starts = [f"{item['from_magnitude']:g} %" for item in classes]
    said = [f"{names[0]} (below {starts[1]})"]
    for index in range(1, len(names) - 1):
        said.append(f"{names[index]} ({starts[index]} to below {starts[index + 1]})")
    return ", ".join(said) + f" or {names[-1]} ({starts[-1]} or more)"


def _class(change: float, classes: Sequence[dict[str, Any]]) -> str:
    reached = [item["name"] for item in classes if abs(change) >= item["from_magnitude"]]
    return str(reached[-1])


def _call(tool: str, **arguments: float) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}
