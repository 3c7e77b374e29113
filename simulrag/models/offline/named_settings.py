"""Question templates for tools whose required arguments include words: a city, a pathway.

Words stay fixed in a template and numbers vary. What a required list should hold a table does not
say, so a tool that needs one yields none; a handbook's guide does (``guide``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from simulrag.models.offline.handbook import ArgumentRow, HandbookTool, OutputRow
from simulrag.models.offline.single import asked, single_run

CITIES = ("Lisbon", "Nairobi", "Osaka", "Lima", "Toronto", "Cairo")
"""Cities that templates ask about: one or two a continent."""
_PLACE = re.compile(r"city|place|town", re.I)
_CASES = 4
_DEGREES = (("negligible", 0.0), ("modest", 0.2), ("significant", 1.0))


def settings(tools: Sequence[HandbookTool]) -> list[dict[str, Any]]:
    """Templates of every such tool, the tools in turn so that the first few cover all of them."""
    turns = zip_longest(*(_of_tool(tool) for tool in tools))
    return [template for turn in turns for template in turn if template is not None]


def _of_tool(tool: HandbookTool) -> Iterator[dict[str, Any]]:
    required = [row for row in tool.arguments if row.required]
    outputs = [row for row in tool.outputs if row.type in ("number", "integer")]
    words = [row for row in required if row.choices or _is_place(row) or row.type == "boolean"]
    numbers = [row for row in required if row not in words]
    if not outputs or not words or not numbers or not all(_varies(row) for row in numbers):
        return
    cases = max([_CASES, *(len(row.choices) for row in words)])
    for case in range(cases):
        fixed = {row.name: _word(row, case) for row in words}
        yield _template(tool, fixed, numbers, outputs[:2], case)


def _is_place(row: ArgumentRow) -> bool:
    return row.type == "string" and bool(_PLACE.search(row.name))


def _varies(row: ArgumentRow) -> bool:
    numeric = row.type.split(" or ")[0] in ("number", "integer")
    return numeric and row.low is not None and row.high is not None


def _word(row: ArgumentRow, case: int) -> str | bool:
    if row.type == "boolean":
        return case % 2 == 0
    options = row.choices or CITIES
    return options[case % len(options)]


def _template(
    tool: HandbookTool,
    fixed: dict[str, str | bool],
    numbers: Sequence[ArgumentRow],
    outputs: Sequence[OutputRow],
    case: int,
) -> dict[str, Any]:
    said = [_said_word(row, fixed[row.name]) for row in tool.arguments if row.name in fixed]
    varied = [_said_number(row) for row in numbers]
    name = re.sub(r"[^a-z0-9]+", "-", f"{tool.name}-{'-'.join(map(str, fixed.values()))}".lower())
    return single_run(
        f"{name.strip('-')}-{case + 1}",
        tool.name,
        f"Consider {', '.join([*said, *varied])}.",
        placeholders=[
            {
                "name": row.name,
                "argument": row.name,
                "low": row.low if row.unit == "year" else max(row.low or 0.0, -50.0),
                "high": row.high if row.unit == "year" else min(row.high or 0.0, 50.0),
                "decimals": 0 if row.type == "integer" else 1,
                "wording": "value",
            }
            for row in numbers
        ],
        fixed=fixed,
        asks=[_ask(row) for row in outputs],
    )


def _said_word(row: ArgumentRow, value: str | bool) -> str:
    noun = row.name.replace("_", " ")
    if isinstance(value, bool):
        return f"{noun} {'in place' if value else 'not in place'}"
    if _is_place(row):
        return f"the city of {value}"
    return f"{value} {noun}" if noun == "seasonality" else f"under the {value} {noun}"


def _said_number(row: ArgumentRow) -> str:
    noun = row.name.replace("_percent", "").replace("_", " ").strip()
    if row.name == "year":
        return "in the year {year}"
    if re.match(r"(?i)delta\b", noun):
        return f"with {noun[5:].strip()} emissions changed by {{{row.name}}}%"
    unit = "%" if row.unit == "percent" else "" if row.unit in ("-", "") else f" {row.unit}"
    return f"with {noun} of {{{row.name}}}{unit}"


def _ask(row: OutputRow) -> dict[str, Any]:
    change = "change" in row.name and row.unit == "degC"
    classes = _DEGREES if change else ()
    phrase = re.split(r"[.;:(,]", row.meaning, maxsplit=1)[0].strip() or row.name.replace("_", " ")
    words = phrase if phrase.startswith(("the ", "a ")) else f"the {phrase}"
    return asked(row.name, words, classes, "neither")
