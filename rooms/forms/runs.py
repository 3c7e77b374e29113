"""Questions by form from a simulator's runs: the answer is computed, the words are a model's.

A choice's wrong options are what neighbouring scenarios really gave; a cloze's term is the class
of a result, the word that it is, or its direction.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from math import floor, log10
from typing import Any, NamedTuple

from pydantic import JsonValue

from rooms.forms.audits import same_value
from rooms.forms.generation import (
    Maker,
    Seed,
    Written,
    WrittenFreeform,
    WrittenStatement,
    attempt,
    in_form,
    in_turn,
)
from rooms.forms.records import Form, Formed, Level, Rejection, SourceText
from simulators.base import ArgumentError, RunError
from simulators.json_schema import described
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.questions.records import Ask, SetUpTemplate, Template, asked_value
from simulrag.questions.scenarios import SampledScenario, run_scenario, scenario_stream
from simulrag.records import Evidence
from simulrag.task import Task


class WrittenStem(Reply):
    """Reply to ``forms_run``: the stem of a choice whose options are given."""

    question: Text


FORMS_RUN = Task("forms_run", WrittenFreeform, tokens=90, stand_in=in_form, others=(WrittenStem,))
NEIGHBOURS = 12
"""Scenarios of one template, at least, among which neighbours are looked for."""
OPTIONS = 4
DIGITS = 3
"""Significant ones of a result, so that options tell apart scenarios and not the last digit."""
DIRECTIONS = {1: "rises", -1: "falls", 0: "stays the same"}


class Result(NamedTuple):
    """What one ask of a scenario came to: a value with its unit, and the class or word of it."""

    value: str
    term: str


def from_runs(
    templates: Sequence[Template],
    simulations: Simulations,
    ask: Asker,
    source: str,
    *,
    seeds: int,
    seed: int,
    simulator_seed: int = 0,
) -> list[Seed]:
    """Return at most ``seeds`` scenarios, each giving a question, a harder one and a cloze.

    Args:
        templates: What scenarios are drawn of.
        simulations: Runs the scenarios and their neighbours.
        ask: Who writes.
        source: The domain's name.
        seeds: How many scenarios.
        seed: Of the draw of scenarios and of the options' order.
        simulator_seed: Of the runs.
    """
    drawn = max(seeds, NEIGHBOURS * len(templates))
    scenarios = list(islice(scenario_stream(templates, seed, source), drawn))
    by_id = {template.template_id: template for template in templates}

    def one(rank: int, scenario: SampledScenario) -> Seed:
        others = [s for s in scenarios if s.template_id == scenario.template_id and s != scenario]
        others.sort(key=lambda other: _distance(scenario, other))
        template = by_id[scenario.template_id]
        work = _Scenario(template, scenario, others, simulations, ask, simulator_seed)

        async def write() -> Written:
            try:
                return await work.written(source, seed, rank // len(templates), *in_turn(rank))
            except (ArgumentError, RunError) as error:
                return Written([Rejection(kind="simulator", detail=str(error))])

        return Seed(scenario.scenario_id, write)

    return [one(rank, scenario) for rank, scenario in enumerate(scenarios[:seeds])]


@dataclass(frozen=True)
class _Scenario:
    """One scenario, and its neighbours, the nearest first."""

    template: Template
    scenario: SampledScenario
    others: list[SampledScenario]
    simulations: Simulations
    ask: Asker
    simulator_seed: int

    async def written(
        self, source: str, seed: int, turn: int, choice: bool, level: Level
    ) -> Written:
        """Write the questions, each about another output of the template while there is one."""
        evidence = await run_scenario(self.simulations, self.scenario, self.simulator_seed)
        make = Maker(source, self.scenario.scenario_id, self._contexts(evidence), seed)
        results = [
            (ask, result) for ask in self.template.asks if (result := self._of(ask, evidence))
        ]
        valued = [pair for pair in results if pair[1].value]
        named = [pair for pair in results if pair[1].term]
        write = self._choice if choice else self._freeform
        writing: list[Awaitable[Formed | Rejection]] = []
        if valued:
            levels: tuple[Level, Level] = ("base", level)
            for step, how in enumerate(levels):
                writing.append(attempt(write(make, how, *valued[(turn + step) % len(valued)])))
        if named:
            writing.append(attempt(self._cloze(make, *named[turn % len(named)])))
        given = [self._set_up(), self.scenario.situation]
        given += [f"{r.value} {self._asked(a)}" for a, r in results]
        return Written(await together(writing), tuple(given))

    async def _choice(
        self, make: Maker, level: Level, ask: Ask, result: Result
    ) -> Formed | Rejection:
        wrong: list[str] = []
        for other in self.others:
            if len(wrong) == OPTIONS - 1:
                break
            with suppress(ArgumentError, RunError):
                runs = await run_scenario(self.simulations, other, self.simulator_seed)
                near = self._of(ask, runs)
                known = (result.value, *wrong)
                if near and near.value and not any(same_value(near.value, x) for x in known):
                    wrong.append(near.value)
        if len(wrong) < OPTIONS - 1:
            return Rejection(
                kind="options", detail=f"neighbours give too few values of {ask.output}"
            )
        task = FORMS_RUN.replying(WrittenStem)
        stem = await self._reply(task, "choice", make, level, ask, result.value)
        return make.choice(level, stem.question, result.value, wrong)

    async def _freeform(
        self, make: Maker, level: Level, ask: Ask, result: Result
    ) -> Formed | Rejection:
        answer = f"{result.value} ({result.term})" if result.term else result.value
        reply = await self._reply(FORMS_RUN, "freeform", make, level, ask, answer)
        return make.freeform(level, reply.question, reply.answer)

    async def _cloze(self, make: Maker, ask: Ask, result: Result) -> Formed | Rejection:
        task = FORMS_RUN.replying(WrittenStatement)
        reply = await self._reply(task, "cloze", make, "base", ask, result.term)
        return make.cloze(reply.statement, result.term, self._choices(ask))

    def _choices(self, ask: Ask) -> str:
        """Name the words that a term is one of; of classes with the sizes at which each begins."""
        unit = self._unit(ask)
        named = [
            f"{c.name} (size from {c.from_magnitude:g} {unit}".rstrip() + ")" for c in ask.classes
        ]
        words = named or ask.answers or list(DIRECTIONS.values())
        return f"The gap holds one of: {'; '.join(words)}."

    def _set_up(self) -> str:
        return self.template.set_up if isinstance(self.template, SetUpTemplate) else ""

    async def _reply(
        self, task: Task, form: Form, make: Maker, level: Level, ask: Ask, result: str
    ) -> Any:
        completion = await self.ask.ask(
            task,
            form=form,
            level=level,
            set_up=self._set_up(),
            situation=self.scenario.situation,
            asked=self._asked(ask),
            result=result,
            contexts=[context.text for context in make.contexts],
        )
        return completion.parsed

    def _of(self, ask: Ask, evidence: Sequence[Evidence]) -> Result | None:
        """Return the result of an ask; None where the runs give none."""
        if ask.answers:
            return Result("", str(evidence[ask.run - 1].outputs.get(ask.output, "")))
        asked = asked_value(ask, evidence)
        if asked is None:
            return None
        rounded = float(f"{asked.value:.{DIGITS}g}")
        decimals = max(0, DIGITS - 1 - floor(log10(abs(rounded)))) if rounded else 0
        number = f"{rounded:{'+' if ask.against else ''}.{decimals}f}"
        term = asked.class_name if asked.limits else None
        if term is None and ask.against:
            term = DIRECTIONS[(rounded > 0) - (rounded < 0)]
        return Result(f"{number} {self._unit(ask)}".strip(), term or "")

    def _unit(self, ask: Ask) -> str:
        if ask.scale == "percent":
            return "%"
        outputs = self.simulations.simulator.tools[self.template.runs[ask.run - 1].tool].outputs
        return next((field.unit for field in described(outputs) if field.name == ask.output), "")

    def _asked(self, ask: Ask) -> str:
        """Say what is asked for, in the template's words."""
        words, unit = self.scenario.words, self._unit(ask)
        lines = [f"{ask.words} ({unit})" if unit else ask.words, f"of: {words[ask.run - 1]}"]
        if ask.against:
            lines.append(f"compared with: {words[ask.against - 1]} (first minus second)")
        lines += [f"class {c.name}: size from {c.from_magnitude:g}" for c in ask.classes]
        return "\n".join([*lines, *(f"possible: {word}" for word in ask.answers)])

    def _contexts(self, evidence: Sequence[Evidence]) -> tuple[SourceText, ...]:
        several = len(evidence) > 1
        return tuple(
            SourceText(
                id=f"{self.scenario.scenario_id}-{number}",
                text=f"{words}:\n{run.text}" if several else run.text,
                locator=f"{run.call.tool} {json.dumps(run.call.arguments, sort_keys=True)}",
            )
            for number, (words, run) in enumerate(
                zip(self.scenario.words, evidence, strict=True), start=1
            )
        )


def _distance(one: SampledScenario, other: SampledScenario) -> float:
    """Measure how far apart a template's scenarios are: relative steps of numbers, 1 a word."""
    return sum(
        _step(value, theirs.arguments.get(name))
        for ours, theirs in zip(one.calls, other.calls, strict=True)
        for name, value in ours.arguments.items()
    )


def _step(one: JsonValue, other: JsonValue) -> float:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) / (max(abs(one), abs(other)) or 1.0)
    return float(one != other)
