"""From a template and a choice of values to tool calls. Numbers are decimal: 0.77 stays 0.77."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from pydantic import JsonValue

from simulrag.questions.open.records import ArgumentValue, Placeholder, Template
from simulrag.records import ToolCall


def grid(placeholder: Placeholder) -> range:
    """The values a placeholder may take, as whole multiples of 10 ** -decimals."""
    low = Decimal(str(placeholder.low)).scaleb(placeholder.decimals)
    high = Decimal(str(placeholder.high)).scaleb(placeholder.decimals)
    return range(int(low.to_integral_value("ROUND_CEILING")), int(high // 1) + 1)


def grid_value(placeholder: Placeholder, step: int) -> Decimal:
    """The exact decimal value of one point of the grid."""
    return Decimal(step).scaleb(-placeholder.decimals)


def fill_runs(
    template: Template, values: Mapping[str, Decimal], options: Mapping[str, int]
) -> list[ToolCall]:
    """The calls of a template's runs ; ``values`` and ``options`` (which one) decide each name."""
    settings: dict[str, list[tuple[str, JsonValue]]] = {
        item.name: [(item.argument, plain(float(values[item.name])))]
        for item in template.placeholders
    }
    for choice in template.choices:
        chosen = choice.options[options[choice.name]]
        settings[choice.name] = [(item.argument, plain(item.value)) for item in chosen.settings]
        settings |= {f"{choice.name}.{pair[0]}": [pair] for pair in settings[choice.name]}
    calls = []
    for run in template.runs:
        arguments = {item.argument: plain(item.value) for item in run.fixed}
        arguments |= dict(pair for name in run.uses for pair in settings[name])
        calls.append(ToolCall(tool=run.tool, arguments=arguments))
    return calls


def plain(value: ArgumentValue | list[int | float]) -> JsonValue:
    """1.0 as 1, so that one scenario has one id however a template writes it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
