"""Outputs with their spread: ranges over equally likely runs (seeds or members of an ensemble).

A simulator that is set to give them declares its tools with ``with_spread`` and passes what its
single runs gave to ``spread_over``. Off, nothing here is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import quantiles
from typing import Any

from pydantic import create_model

from simulators.base import Spread, Tool
from simulators.shapes import ToolModel, described, measured

CODE = Path(__file__)
"""Part of the fingerprint of a simulator that gives ranges."""
LEVEL = 0.9
RUNS = 19
"""The fewest runs whose smallest and largest value hold a further one with chance ``LEVEL``."""

HANDBOOK = (
    "## Ranges\n\nA result is one draw of chance. Beside an output x stand x_low and x_high, the "
    "ends of its 90 % range: 90 % of runs with other seeds lie inside. Beside an output that is a "
    "word stands the share of such runs that have it. Two numbers inside one range do not differ."
)


def central_range(values: Sequence[float]) -> tuple[float, float]:
    """The ends between which a further value lies with chance ``LEVEL``, of any distribution.

    Of n values the k-th smallest lies above a further one with chance k / (n + 1); the ends are
    interpolated between two of them. Raises ValueError for fewer than ``RUNS`` values.
    """
    if len(values) < RUNS:
        raise ValueError(f"a 90 % range needs {RUNS} values, and there are {len(values)}")
    cuts = quantiles(values, n=20)
    return cuts[0], cuts[-1]


def with_spread(
    tool: Tool,
    numbers: Sequence[str],
    words: Sequence[str] = (),
    ends: Mapping[str, tuple[str, str]] | None = None,
) -> Tool:
    """The tool with ranges beside some of its outputs, in their names, the handbook and the text.

    ``ends``: of ``numbers`` whose range the tool gives and tells already, the names of its ends.
    """
    given = ends or {}
    spreads = {name: Spread(LEVEL, *given.get(name, _ends(name))) for name in numbers}
    spreads |= {name: Spread(LEVEL, share=f"{name}_share") for name in words}
    fields: dict[str, Any] = {}
    lines = []
    for output in described(tool.outputs):
        spread = spreads.get(output.name)
        if spread is None or output.name in given:
            continue
        about = (output.meaning or output.name).rstrip(".")
        if spread.share:
            meaning = f"Share of the runs in which this is so: {output.name}."
            fields[spread.share] = (float, measured("ratio", meaning))
            lines.append(
                f"In {{{{ '%.0f' | format(100 * outputs.{spread.share}) }}}} % of the runs "
                f"({about}): {{{{ outputs.{output.name} }}}}."
            )
            continue
        for name, which in ((spread.low, "Lower"), (spread.high, "Upper")):
            meaning = f"{which} end of the 90 % range of {output.name}."
            fields[name] = (float | None, measured(output.unit, meaning))
        lines.append(
            f"{{% if outputs.{spread.low} is not none %}}90 % range ({about}): "
            f"{{{{ '%.10g' | format(outputs.{spread.low}) }}}} to "
            f"{{{{ '%.10g' | format(outputs.{spread.high}) }}}} {output.unit}.{{% endif %}}"
        )
    outputs = create_model(f"{tool.outputs.__name__}Ranges", __base__=tool.outputs, **fields)
    template = "\n".join([tool.template.rstrip(), *lines])
    return replace(tool, outputs=outputs, template=template, spreads=spreads)


def spread_over(tool: Tool, whole: ToolModel, single: Sequence[ToolModel]) -> ToolModel:
    """The outputs of a tool with its ranges: ``single`` are those of each run by itself.

    A range is none where a run has no value.
    """
    found = whole.model_dump()
    for name, spread in tool.spreads.items():
        values = [getattr(one, name) for one in single]
        if spread.share:
            found[spread.share] = round(values.count(getattr(whole, name)) / len(values), 3)
        elif any(value is None for value in values):
            found[spread.low] = found[spread.high] = None
        else:
            ends = central_range(values)
            found[spread.low], found[spread.high] = (round(end, 2) + 0.0 for end in ends)
    outputs: ToolModel = tool.outputs.model_validate(found)
    return outputs


def _ends(name: str) -> tuple[str, str]:
    """``travel_time_low_s`` of ``travel_time_s``: the unit stays at the end."""
    stem, _, unit = name.rpartition("_")
    known = unit in ("s", "m", "mg", "ml", "percent", "degc")
    return (
        (f"{stem}_low_{unit}", f"{stem}_high_{unit}") if known else (f"{name}_low", f"{name}_high")
    )
