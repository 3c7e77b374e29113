"""Second stage: scenarios sampled from the templates' ranges and run on the simulator.

Numbers are decimal: 0.77 stays 0.77.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import prod

import numpy as np
from pydantic import JsonValue

from simulrag.method.simulation import Simulations
from simulrag.questions.records import ArgumentValue, Choice, Placeholder, Template
from simulrag.records import Evidence, Record, ToolCall


class SampledScenario(Record):
    """One filled template.

    ``calls`` are its runs, ``words`` what each is called where there are several. ``shown`` has,
    by placeholder, the number as the situation shows it (a speed factor of 0.77 in a
    percent_reduction is shown as 23). ``searched``: the arguments that a search varied.
    """

    scenario_id: str
    template_id: str
    calls: tuple[ToolCall, ...]
    words: tuple[str, ...]
    situation: str
    shown: dict[str, float]
    searched: tuple[str, ...] = ()


def scenario_stream(
    templates: Sequence[Template], seed: int, domain: str
) -> Iterator[SampledScenario]:
    """Distinct scenarios, the templates in turn, until every combination has been drawn.

    The order depends on the templates, the seed and the domain alone, so asking for more keeps
    what was drawn before.
    """
    seen: set[str] = set()
    turns = [_draws(template, seed) for template in templates]
    pending = list(zip(templates, turns, strict=True))
    while pending:
        left = []
        for template, turn in pending:
            for values in turn:
                scenario = _fill(template, values, domain)
                if scenario.scenario_id not in seen and _compares(scenario):
                    seen.add(scenario.scenario_id)
                    left.append((template, turn))
                    yield scenario
                    break
        pending = left


async def run_scenario(
    simulations: Simulations, scenario: SampledScenario, seed: int = 0
) -> tuple[Evidence, ...]:
    """The evidence of each call; ``seed`` is the simulator's. Raises ArgumentError or RunError."""
    return tuple(
        [await simulations.run(call.tool, call.arguments, seed) for call in scenario.calls]
    )


def scenario_id(domain: str, calls: Sequence[ToolCall]) -> str:
    """The id that questions of the same runs share: the domain and a hash of the calls."""
    plain = [part for call in calls for part in (call.tool, call.arguments)]
    text = json.dumps([domain, *plain], sort_keys=True, separators=(",", ":"))
    return f"{domain}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _compares(scenario: SampledScenario) -> bool:
    """Whether all runs differ: two equal cities drawn are no comparison."""
    return all(call not in scenario.calls[:index] for index, call in enumerate(scenario.calls))


def _draws(template: Template, seed: int) -> Iterator[tuple[int, ...]]:
    """Distinct points of the template's grid in a random order: steps, then options."""
    digest = hashlib.sha256(template.template_id.encode()).digest()
    generator = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
    grids = [grid(placeholder) for placeholder in template.placeholders]
    grids += [range(len(choice.options)) for choice in template.choices]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < prod(len(points) for points in grids):
        steps = tuple(points[int(generator.integers(len(points)))] for points in grids)
        if steps not in drawn:
            drawn.add(steps)
            yield steps


def _fill(template: Template, steps: tuple[int, ...], domain: str) -> SampledScenario:
    count = len(template.placeholders)
    values = {
        item.name: grid_value(item, step)
        for item, step in zip(template.placeholders, steps[:count], strict=True)
    }
    options = {
        choice.name: step for choice, step in zip(template.choices, steps[count:], strict=True)
    }
    numbers = {
        item.name: f"{_shown(item, values[item.name]).normalize():f}"
        for item in template.placeholders
    }
    words = numbers | {item.name: _words(item, options[item.name]) for item in template.choices}
    calls = fill_runs(template, values, options)
    return SampledScenario(
        scenario_id=scenario_id(domain, calls),
        template_id=template.template_id,
        calls=tuple(calls),
        words=tuple(run.words.format_map(words) for run in template.runs),
        situation=template.situation.format_map(words),
        shown={name: float(number) for name, number in numbers.items()},
    )


def _words(choice: Choice, option: int) -> str:
    return choice.options[option].words


def _shown(placeholder: Placeholder, value: Decimal) -> Decimal:
    match placeholder.wording:
        case "percent_reduction":
            return (1 - value) * 100
        case "percent_increase":
            return (value - 1) * 100
        case _:
            return value


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
    """The calls of a template's runs; ``values`` and ``options`` (which one) decide each name."""
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
