"""Second stage: scenarios sampled from the templates' ranges and run on the simulator."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice
from math import prod

import numpy as np
from pydantic import JsonValue

from simulrag.benchmark.templates import grid, grid_value
from simulrag.method.simulation import Simulations
from simulrag.models.replies import Placeholder, Template
from simulrag.records import Evidence, Record


class SampledScenario(Record):
    """One filled template.

    ``arguments`` are the call's; ``shown`` has, by argument, the number as the situation shows it
    (a speed factor of 0.77 in a percent_reduction is shown as 23).
    """

    scenario_id: str
    template_id: str
    tool: str
    arguments: dict[str, JsonValue]
    situation: str
    shown: dict[str, float]


def sample_scenarios(
    templates: Sequence[Template], n: int, seed: int, domain: str
) -> list[SampledScenario]:
    """The first ``n`` scenarios of the stream, or as many as the templates' ranges hold."""
    return list(islice(scenario_stream(templates, seed, domain), n))


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
                if scenario.scenario_id not in seen:
                    seen.add(scenario.scenario_id)
                    left.append((template, turn))
                    yield scenario
                    break
        pending = left


async def run_scenario(
    simulations: Simulations, scenario: SampledScenario, seed: int = 0
) -> Evidence:
    """The scenario's evidence; ``seed`` is the simulator's. Raises ArgumentError or RunError."""
    return await simulations.run(scenario.tool, scenario.arguments, seed)


def scenario_id(domain: str, tool: str, arguments: dict[str, JsonValue]) -> str:
    """The id that questions of one run share: the domain and a hash of the call."""
    call = json.dumps([domain, tool, arguments], sort_keys=True, separators=(",", ":"))
    return f"{domain}-{hashlib.sha256(call.encode()).hexdigest()[:12]}"


def _draws(template: Template, seed: int) -> Iterator[tuple[Decimal, ...]]:
    """Distinct points of the template's grid in a random order."""
    digest = hashlib.sha256(template.template_id.encode()).digest()
    generator = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
    grids = [grid(placeholder) for placeholder in template.placeholders]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < prod(len(points) for points in grids):
        steps = tuple(points[int(generator.integers(len(points)))] for points in grids)
        if steps not in drawn:
            drawn.add(steps)
            yield tuple(
                grid_value(placeholder, step)
                for placeholder, step in zip(template.placeholders, steps, strict=True)
            )


def _fill(template: Template, values: tuple[Decimal, ...], domain: str) -> SampledScenario:
    arguments: dict[str, JsonValue] = {item.argument: _plain(item.value) for item in template.fixed}
    words: dict[str, str] = {}
    for placeholder, value in zip(template.placeholders, values, strict=True):
        arguments[placeholder.argument] = _plain(float(value))
        words[placeholder.argument] = f"{_shown(placeholder, value).normalize():f}"
    return SampledScenario(
        scenario_id=scenario_id(domain, template.tool, arguments),
        template_id=template.template_id,
        tool=template.tool,
        arguments=arguments,
        situation=template.situation.format_map(words),
        shown={name: float(word) for name, word in words.items()},
    )


def _plain(value: bool | int | float | str) -> JsonValue:
    """1.0 as 1, so that one scenario has one id however a template writes it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _shown(placeholder: Placeholder, value: Decimal) -> Decimal:
    match placeholder.wording:
        case "percent_reduction":
            return (1 - value) * 100
        case "percent_increase":
            return (value - 1) * 100
        case _:
            return value
