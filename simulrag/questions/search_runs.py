"""The runs of a search: all are made, a bound is drawn, and the one setting that answers is found.

What has no single answer is refused.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise, product
from math import ceil, floor, log10
from typing import NamedTuple

from simulrag.method.asking import together
from simulrag.method.numbers import numbers
from simulrag.method.simulation import Simulations
from simulrag.questions.scenarios import SampledScenario, plain, scenario_id
from simulrag.questions.search import Search, SearchedTemplate
from simulrag.records import Evidence

INNER = 0.2
"""A threshold lies this share of its grid's steps away from either end, a bound this share of the
gap away from either value beside it."""
LEAST_SHARE = 0.25
"""Of a family's settings, this share at least keeps to a bound, and this share does not."""


class Searched(NamedTuple):
    """A search made: its scenario, with the bounds in words, and all its runs, winners first."""

    scenario: SampledScenario
    evidence: tuple[Evidence, ...]


class NoWinnerError(Exception):
    """A search that has no single answer: why, in words."""


async def run_search(
    simulations: Simulations,
    template: SearchedTemplate,
    scenario: SampledScenario,
    domain: str,
    *,
    seed: int = 0,
    drawn_by: int = 0,
) -> Searched:
    """Make all runs of a scenario's searches and find the winners; bounds are drawn by a seed.

    ``scenario`` is one of ``template.of_runs``. Raises ArgumentError, RunError and NoWinnerError.
    """
    generator = random.Random(f"{drawn_by} {template.template_id} {scenario.scenario_id}")  # noqa: S311
    winners: list[tuple[Evidence, str]] = []
    others: list[tuple[Evidence, str]] = []
    asked: list[str] = []
    for search, call, named in zip(template.searches, scenario.calls, scenario.words, strict=True):
        arguments = dict(call.arguments)
        if search.takes:
            first = template.searches[0].axes[0].argument
            arguments[search.takes] = winners[0][0].call.arguments[first]
        settings = [
            {axis.argument: plain(value) for axis, value in zip(search.axes, values, strict=True)}
            for values in product(*(axis.values for axis in search.axes))
        ]
        runs = await together(
            simulations.run(search.tool, {**arguments, **setting}, seed) for setting in settings
        )
        bound, winner = found_by(search, runs, generator)
        asked.append(search.question.replace("{bound}", bound))
        for at, (setting, run) in enumerate(zip(settings, runs, strict=True)):
            values = ", ".join(f"{name} {value}" for name, value in setting.items())
            (winners if at == winner else others).append((run, f"{named}: {values}"))
    evidence, words = zip(*winners, *others, strict=True)
    calls = tuple(run.call for run in evidence)
    varied = {axis.argument for search in template.searches for axis in search.axes}
    varied |= {search.takes for search in template.searches if search.takes}
    return Searched(
        scenario.model_copy(
            update={
                "scenario_id": scenario_id(domain, calls),
                "calls": calls,
                "words": words,
                "situation": " ".join([scenario.situation, *asked]),
                "searched": tuple(sorted(varied)),
            }
        ),
        evidence,
    )


def found_by(search: Search, runs: Sequence[Evidence], generator: random.Random) -> tuple[str, int]:
    """Draw a bound and return it, as written, with the place of the one run that answers.

    Outputs count as the runs' texts print them. Raises NoWinnerError where no bound leaves a single
    answer.
    """
    bounded = [printed(run, search.bounded) for run in runs]
    if search.kind == "threshold":
        places = list(_crossings(search, bounded))
    else:
        places = list(_limits(search, bounded, [printed(run, search.output) for run in runs]))
    if not places:
        raise NoWinnerError(f"no bound on {search.bounded} has a single answer among the runs")
    low, high, winner = generator.choice(places)
    return _between(low, high, generator), winner


def _crossings(search: Search, bounded: Sequence[float]) -> Iterator[tuple[float, float, int]]:
    """Yield the gaps that are crossed once, away from the grid's ends, and where that is."""
    count = len(bounded)
    for at in range(max(1, ceil(INNER * count)), floor((1 - INNER) * count) + 1):
        low, high = sorted(bounded[at - 1 : at + 1])
        before, after = bounded[:at], bounded[at:]
        if max(before) <= low < high <= min(after):
            rises = True
        elif max(after) <= low < high <= min(before):
            rises = False
        else:
            continue
        kept_after = rises == (search.side == "above")
        if kept_after == (search.goal == "smallest"):
            yield low, high, at if kept_after else at - 1


def _limits(
    search: Search, bounded: Sequence[float], wanted: Sequence[float]
) -> Iterator[tuple[float, float, int]]:
    """Yield the gaps in which a bound shuts out the best of all and leaves one best setting."""
    sign = 1 if search.goal == "largest" else -1
    best = max(sign * value for value in wanted)
    values = sorted(set(bounded))
    for low, high in pairwise(values):
        kept = [
            at
            for at, value in enumerate(bounded)
            if (value <= low if search.side == "below" else value >= high)
        ]
        if not LEAST_SHARE <= len(kept) / len(bounded) <= 1 - LEAST_SHARE:
            continue
        ranked = sorted(kept, key=lambda at: -sign * wanted[at])
        top = [sign * wanted[at] for at in ranked[:2]]
        if top[0] < best and top[0] > top[1]:
            yield low, high, ranked[0]


def printed(run: Evidence, output: str) -> float:
    """Return an output as the run's text prints it. Raises NoWinnerError where it prints none."""
    value = run.outputs.get(output)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoWinnerError(f"a run has no number {output}")
    shown = [number for number in numbers(run.text) if number.states(value)]
    if not shown:
        raise NoWinnerError(f"the text of a run does not print {output}")
    finest = min(shown, key=lambda number: number.half_unit)
    return -finest.value if value < 0 else finest.value


def _between(low: float, high: float, generator: random.Random) -> str:
    """Write a number well between two others, as short as it can be and no round one."""
    bottom, top = Decimal(repr(low)), Decimal(repr(high))
    margin = Decimal(repr(INNER)) * (top - bottom)
    start, end = bottom + margin, top - margin
    exponent = ceil(log10(high - low)) + 1
    while True:
        first = ceil(start.scaleb(-exponent))
        last = floor(end.scaleb(-exponent))
        choices = [digits for digits in range(first, last + 1) if digits % 5]
        if choices:
            return f"{Decimal(generator.choice(choices)).scaleb(exponent):f}"
        exponent -= 1
