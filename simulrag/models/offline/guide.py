"""Question templates out of a handbook's own guide: its table of values and its situations.

A handbook may say which values are worth asking about, in a table with the columns ``name``,
``sets`` (arguments) and ``values``, and which situations, as a bold name with a quoted sentence and
a list of runs and asks. docs/bring-your-own-simulator.md describes the form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from simulrag.models.offline.handbook import HandbookTool, rows

_RANGE = re.compile(r"(-?[\d.]+) to (-?[\d.]+)(?:, (\d) decimals?)?")
_SITUATION = re.compile(
    r"^\*\*(?P<name>[^*\n]+?)\*\* +\"(?P<text>[^\"]+)\"\n+(?P<list>(?:- .*\n?(?: +\S.*\n?)*)+)",
    re.M,
)
_RUN = re.compile(r"run `(?P<tool>\w+)`(?: \((?P<words>[^)]+)\))?(?:: (?P<rest>.*))?")
_ASK = re.compile(
    r"ask `(?P<output>\w+)`(?: of (?P<run>\d))?"
    r"(?: against (?P<against>\d)(?P<percent> in percent)?)?: (?P<words>[^;]+?)"
    r"(?:; (?P<better>lower|higher) is better)?(?:; (?P<classes>.* from .*))?"
)
_COLUMNS = {"name", "sets", "values"}
_FIXED = re.compile(r"`(\w+)` (.+)")
_CLASS = re.compile(r"(.+) from ([\d.]+)")


def guided(handbook: str, tools: Sequence[HandbookTool]) -> list[dict[str, Any]]:
    """A template for every situation that the handbook's guide describes, [] where it has none."""
    values = {
        row["name"]: row for row in rows(handbook) if row.keys() == {"name", "sets", "values"}
    }
    by_name = {tool.name: tool for tool in tools}
    return [_template(match, values, by_name) for match in _SITUATION.finditer(handbook)]


def _template(
    match: re.Match[str], values: Mapping[str, dict[str, str]], tools: Mapping[str, HandbookTool]
) -> dict[str, Any]:
    situation = " ".join(match["text"].split())
    items = [" ".join(item.split()) for item in re.split(r"^- ", match["list"], flags=re.M)[1:]]
    runs = [_run(found) for item in items if (found := _RUN.fullmatch(item))]
    asks = [_ask(found, runs, tools) for item in items if (found := _ASK.fullmatch(item))]
    used = list(dict.fromkeys(re.findall(r"\{(\w+)\}", situation)))
    numbers = [name for name in used if _RANGE.fullmatch(values[name]["values"])]
    return {
        "template_id": re.sub(r"[^a-z0-9]+", "-", match["name"].lower()).strip("-"),
        "situation": situation,
        "placeholders": [_placeholder(values[name]) for name in numbers],
        "choices": [_choice(values[name]) for name in used if name not in numbers],
        "runs": runs,
        "asks": asks,
    }


def _run(match: re.Match[str]) -> dict[str, Any]:
    """'run `tool` (in the past): {place}, {year}, `metric` infections'."""
    parts = [part.strip() for part in (match["rest"] or "").split(",") if part.strip()]
    fixed = [found for part in parts if (found := _FIXED.fullmatch(part))]
    return {
        "tool": match["tool"],
        "words": match["words"] or match["tool"],
        "uses": [part.strip("{}") for part in parts if part.startswith("{")],
        "fixed": [{"argument": found[1], "value": _value(found[2])} for found in fixed],
    }


def _ask(
    match: re.Match[str], runs: Sequence[dict[str, Any]], tools: Mapping[str, HandbookTool]
) -> dict[str, Any]:
    run = int(match["run"] or 1)
    outputs = tools[runs[run - 1]["tool"]].outputs
    words = next((row.choices for row in outputs if row.name == match["output"]), [])
    classes = [
        found for part in (match["classes"] or "").split(", ") if (found := _CLASS.fullmatch(part))
    ]
    return {
        "run": run,
        "against": int(match["against"] or 0),
        "output": match["output"],
        "scale": "percent" if match["percent"] else "value",
        "words": match["words"],
        "classes": [{"name": found[1], "from_magnitude": float(found[2])} for found in classes],
        "answers": words,
        "better": match["better"] or "neither",
    }


def _placeholder(row: Mapping[str, str]) -> dict[str, Any]:
    match = _RANGE.fullmatch(row["values"])
    if match is None:
        raise ValueError(f"{row['values']} is no range")
    return {
        "name": row["name"],
        "argument": row["sets"],
        "low": float(match[1]),
        "high": float(match[2]),
        "decimals": int(match[3] or 0),
        "wording": "value",
    }


def _choice(row: Mapping[str, str]) -> dict[str, Any]:
    """'Lisbon; Lima', or 'no season = {"seasonality": "none"}; ...' where words differ."""
    options = []
    for part in row["values"].split(";"):
        words, _, settings = part.strip().partition(" = ")
        chosen = json.loads(settings) if settings else {row["sets"]: words}
        pairs = [{"argument": name, "value": value} for name, value in chosen.items()]
        options.append({"words": words, "settings": pairs})
    return {"name": row["name"], "options": options}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
