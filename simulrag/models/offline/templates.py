"""Question templates out of a handbook: known scenes first, then pairs of arguments and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from simulrag.models.offline.guide import guided
from simulrag.models.offline.handbook import ArgumentRow, HandbookTool, OutputRow, read_handbook
from simulrag.models.offline.named_settings import settings
from simulrag.models.offline.scenes import SCENES, Asked, Scene, Vary
from simulrag.models.offline.single import asked, single_run

PERCENT_CLASSES = (("minor", 0.0), ("moderate", 10.0), ("significant", 25.0))
DEGREE_CLASSES = (("negligible", 0.0), ("modest", 0.2), ("significant", 1.0))
BOOKKEEPING = ("seed", "replicate", "step", "version", "timeout")
"""Arguments that no planner asks about."""


def templates(handbook: str, count: int) -> list[dict[str, Any]]:
    """At most ``count`` templates for the handbook's tools, in the form of ``replies.Template``.

    The situations of the handbook's own guide come first, then scenes whose arguments and outputs
    a tool has. A handbook with neither gets pairs of its tools' numeric arguments (one, then two
    at a time) and numeric outputs.
    """
    tools = read_handbook(handbook)
    found = guided(handbook, tools)
    for scene in SCENES:
        tool = _tool_for(scene, tools)
        if tool is not None:
            found.append(_from_scene(scene, tool))
    if not found:
        found = [*_pairings(tools), *settings(tools)]
    return found[:count]


def _tool_for(scene: Scene, tools: Sequence[HandbookTool]) -> HandbookTool | None:
    arguments = [*(vary.argument for vary in scene.vary), *(name for name, _ in scene.fixed)]
    needed = {*arguments, *(ask.output for ask in scene.asks)}
    for tool in tools:
        if needed <= {row.name for row in tool.arguments} | {row.name for row in tool.outputs}:
            return tool
    return None


def _from_scene(scene: Scene, tool: HandbookTool) -> dict[str, Any]:
    rows = {row.name: row for row in tool.arguments}
    return single_run(
        scene.name,
        tool.name,
        scene.situation,
        placeholders=[_placeholder(vary, rows[vary.argument]) for vary in scene.vary],
        fixed=dict(scene.fixed),
        asks=[_ask(ask) for ask in scene.asks],
    )


def _placeholder(vary: Vary, parameter: ArgumentRow) -> dict[str, Any]:
    low = vary.low if parameter.low is None else max(vary.low, parameter.low)
    high = vary.high if parameter.high is None else min(vary.high, parameter.high)
    return {
        "name": vary.argument,
        "argument": vary.argument,
        "low": low,
        "high": high,
        "decimals": 0 if "integer" in parameter.type else 2,
        "wording": vary.wording,
    }


def _ask(ask: Asked) -> dict[str, Any]:
    return asked(ask.output, ask.words, ask.classes, ask.better)


def _pairings(tools: Sequence[HandbookTool]) -> Iterator[dict[str, Any]]:
    """Templates for a handbook that no scene knows.

    A required argument without a numeric range cannot be sampled, so its tool is left out.
    """
    for more in (0, 1):
        for tool in tools:
            if any(not _can_vary(row) for row in tool.arguments if row.required):
                continue
            ranged = [row for row in tool.arguments if _can_vary(row)]
            outputs = [row for row in tool.outputs if _is_number(row) and _is_asked(row)]
            required = [row for row in tool.arguments if row.required]
            if not outputs or any(p not in ranged for p in required):
                continue
            optional = [p for p in ranged if p not in required]
            extra = more if required else more + 1
            for index, chosen in enumerate(combinations(optional, extra)):
                start = index % len(outputs)
                turned = [*outputs[start:], *outputs[:start]][:2]
                yield _pairing(tool, [*required, *chosen], turned)


def _can_vary(row: ArgumentRow) -> bool:
    return _is_number(row) and row.low is not None and row.high is not None and _is_asked(row)


def _is_number(row: ArgumentRow | OutputRow) -> bool:
    return any(part in ("number", "integer") for part in row.type.split(" or "))


def _is_asked(row: ArgumentRow | OutputRow) -> bool:
    return not any(word in row.name for word in BOOKKEEPING)


def _pairing(
    tool: HandbookTool, varied: Sequence[ArgumentRow], outputs: Sequence[OutputRow]
) -> dict[str, Any]:
    settings = " and ".join(
        f"{spoken(p)} is set to {{{p.name}}}{_unit_after(p.unit)}" for p in varied
    )
    name = "-".join([tool.name, *(p.name for p in varied)]).lower()
    return single_run(
        re.sub(r"[^a-z0-9]+", "-", name).strip("-"),
        tool.name,
        f"Suppose that {settings}, with everything else at its usual value.",
        placeholders=[
            {
                "name": p.name,
                "argument": p.name,
                "low": p.low,
                "high": p.high,
                "decimals": 0 if "integer" in p.type else 2,
                "wording": "value",
            }
            for p in varied
        ],
        fixed={},
        asks=[asked(p.name, spoken(p), _classes(p), "neither") for p in outputs],
    )


def spoken(parameter: ArgumentRow | OutputRow) -> str:
    """The parameter in words: the first phrase of its meaning, or its name without the unit.

    A number in the meaning ('most in 20 years') would be taken for one that the question sets.
    """
    phrase = re.split(r"[.;:(,]", parameter.meaning, maxsplit=1)[0].strip()
    if not 0 < len(phrase.split()) <= 10 or re.search(r"\d", phrase):
        unit = re.sub(r"\W+", "_per_", parameter.unit.strip("-% ")) or "percent"
        units = rf"_(?:{re.escape(unit)}|percent|degc|s|mg|ml|m|kg|k)$"
        phrase = re.sub(units, "", parameter.name, flags=re.I).replace("_", " ")
    phrase = phrase[:1].lower() + phrase[1:] if not phrase[:2].isupper() else phrase
    return phrase if phrase.startswith(("the ", "a ", "an ")) else f"the {phrase}"


def _unit_after(unit: str) -> str:
    if unit in ("", "1", "-", "factor"):
        return ""
    return "%" if unit in ("%", "percent") else f" {unit}"


def _classes(parameter: OutputRow) -> tuple[tuple[str, float], ...]:
    """Limits for units with a common scale; a magnitude of unknown scale gets no classes."""
    unit = parameter.unit.lower()
    if unit in ("%", "percent") or parameter.name.endswith("_percent"):
        return PERCENT_CLASSES
    if "°c" in unit or unit in ("degc", "k", "kelvin") or parameter.name.endswith("_degc"):
        return DEGREE_CLASSES
    return ()
