"""First stage: templates for questions, proposed by a model from the handbook and checked."""

from __future__ import annotations

import string
from decimal import Decimal
from itertools import pairwise
from typing import Any

from simulators.base import ArgumentError, Simulator, Tool, validate_call
from simulrag.models.base import Asker
from simulrag.models.replies import Ask, Placeholder, Template, Templates


async def draw_templates(ask: Asker, simulator: Simulator, count: int) -> list[Template]:
    """At most ``count`` templates whose every call the simulator accepts.

    A reply with a problem goes back to the model once, by the gateway; ModelError after that.
    """

    def check(reply: Any) -> None:
        problems = template_problems(reply.templates, simulator)
        if problems:
            raise ValueError("; ".join(problems))

    completion = await ask.ask(
        "benchmark_templates", Templates, check=check, handbook=simulator.handbook(), count=count
    )
    reply: Templates = completion.parsed
    return reply.templates[:count]


def template_problems(templates: list[Template], simulator: Simulator) -> list[str]:
    """Everything that keeps the templates from being sampled and asked, in words; [] if nothing."""
    problems: list[str] = []
    seen: set[str] = set()
    for template in templates:
        found = [] if template.template_id not in seen else ["the template_id is used twice"]
        seen.add(template.template_id)
        tool = simulator.tools.get(template.tool)
        if tool is None:
            known = ", ".join(sorted(simulator.tools))
            found.append(f"there is no tool '{template.tool}' (tools: {known})")
        else:
            found += _situation_problems(template)
            found += _argument_problems(template, tool, simulator)
            for ask in template.asks:
                found += _ask_problems(ask, tool)
            found += _repeats([ask.output for ask in template.asks], "the output", "asked about")
        problems += [f"{template.template_id}: {text}" for text in found]
    return problems


def grid(placeholder: Placeholder) -> range:
    """The values a placeholder may take, as whole multiples of 10 ** -decimals."""
    low = Decimal(str(placeholder.low)).scaleb(placeholder.decimals)
    high = Decimal(str(placeholder.high)).scaleb(placeholder.decimals)
    return range(int(low.to_integral_value("ROUND_CEILING")), int(high // 1) + 1)


def grid_value(placeholder: Placeholder, step: int) -> Decimal:
    """The exact decimal value of one point of the grid."""
    return Decimal(step).scaleb(-placeholder.decimals)


def _situation_problems(template: Template) -> list[str]:
    try:
        fields = [
            (name, spec, conversion)
            for _, name, spec, conversion in string.Formatter().parse(template.situation)
            if name is not None
        ]
    except ValueError as error:
        return [f"the situation's braces do not pair up ({error})"]
    problems = [
        f"write {{{name}}} in the situation without a format"
        for name, spec, conversion in fields
        if spec or conversion
    ]
    named = list(dict.fromkeys(name for name, _, _ in fields))
    declared = [placeholder.argument for placeholder in template.placeholders]
    problems += [
        f"{{{name}}} of the situation is no placeholder" for name in named if name not in declared
    ]
    problems += [
        f"placeholder '{name}' is not in the situation" for name in declared if name not in named
    ]
    return problems


def _argument_problems(template: Template, tool: Tool, simulator: Simulator) -> list[str]:
    varied = [placeholder.argument for placeholder in template.placeholders]
    fixed = {item.argument: item.value for item in template.fixed}
    problems = _repeats(varied + [item.argument for item in template.fixed], "the argument", "set")
    unknown = [name for name in [*varied, *fixed] if name not in tool.arguments.model_fields]
    problems += [f"{tool.name} has no argument '{name}'" for name in unknown]
    for placeholder in template.placeholders:
        problems += _range_problems(placeholder)
    if problems:
        return problems
    ends = [(grid(item)[0], grid(item)[-1]) for item in template.placeholders]
    for end in (0, 1):
        values = {
            item.argument: float(grid_value(item, steps[end]))
            for item, steps in zip(template.placeholders, ends, strict=True)
        }
        try:
            validate_call(simulator, template.tool, {**fixed, **values})
        except ArgumentError as error:
            problems.append(str(error))
    return list(dict.fromkeys(problems))


def _range_problems(placeholder: Placeholder) -> list[str]:
    name = placeholder.argument
    if len(grid(placeholder)) < 2:
        return [
            f"placeholder '{name}': {placeholder.low} to {placeholder.high} holds fewer than two "
            f"values of {placeholder.decimals} decimals"
        ]
    if (
        placeholder.wording == "percent_reduction"
        and not 0 <= placeholder.low < placeholder.high < 1
    ):
        return [f"placeholder '{name}': a percent_reduction needs a factor from 0 to below 1"]
    if placeholder.wording == "percent_increase" and placeholder.low <= 1:
        return [f"placeholder '{name}': a percent_increase needs a factor above 1"]
    return []


def _ask_problems(ask: Ask, tool: Tool) -> list[str]:
    schema = tool.outputs.model_json_schema()["properties"].get(ask.output)
    if schema is None:
        return [f"{tool.name} has no output '{ask.output}'"]
    kinds = {part.get("type") for part in [schema, *schema.get("anyOf", [])]}
    if not kinds & {"number", "integer"}:
        return [f"output '{ask.output}' is not a number"]
    if not ask.classes:
        return []
    starts = [item.from_magnitude for item in ask.classes]
    problems = []
    if len(ask.classes) == 1:
        problems.append(f"output '{ask.output}': one class alone tells nothing, give two or more")
    if starts[0] != 0:
        problems.append(f"output '{ask.output}': the first class starts at {starts[0]:g}, not at 0")
    if any(after <= before for before, after in pairwise(starts)):
        problems.append(f"output '{ask.output}': from_magnitude does not ascend")
    names = [item.name.casefold() for item in ask.classes]
    return problems + _repeats(names, f"output '{ask.output}': the class", "named")


def _repeats(names: list[str], what: str, done: str) -> list[str]:
    repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
    return [f"{what} '{name}' is {done} twice" for name in repeated]
