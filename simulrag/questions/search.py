"""Search questions: which runs answer them depends on what earlier runs show.

A model writes a ``SearchTemplate``: one or two searches over stated settings of a tool. Code makes
every run of them, draws the bounds, finds the one setting that answers, and refuses a search that
has none or several. The question and its reference are then written and checked as all others are,
with the winners as the template's runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise, product
from math import ceil, floor, log10, prod
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, JsonValue, StrictStr

from simulators.base import ArgumentError, Simulator, Tool, validate_call
from simulators.json_schema import described, names_of
from simulrag.method.asking import together
from simulrag.method.numbers import numbers
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.questions.records import (
    ArgumentValue,
    Ask,
    Choice,
    Placeholder,
    Run,
    Setting,
    SetUpTemplate,
    Template,
)
from simulrag.questions.scenarios import SampledScenario, plain, scenario_id
from simulrag.questions.templates import (
    Drawn,
    plain_template,
    sorted_out,
    told_to_writers,
)
from simulrag.records import Evidence, ToolCall
from simulrag.stand_in import MARK, Prompted
from simulrag.task import Task

FEWEST_SETTINGS, MOST_SETTINGS = 12, 40
"""Of the runs of a template: fewer are seen at a glance, more are paid for nothing."""
INNER = 0.2
"""A threshold lies this share of its grid's steps away from either end, a bound this share of the
gap away from either value beside it."""
LEAST_SHARE = 0.25
"""Of a family's settings, this share at least keeps to a bound, and this share does not."""


class Axis(Reply):
    """An argument that a search varies, and the values it tries, numbers in ascending order."""

    argument: Text
    values: Annotated[list[ArgumentValue], Field(min_length=2, max_length=MOST_SETTINGS)]


class Search(Reply):
    """All settings of ``axes`` for one tool, and which of them answers.

    threshold: the ``goal`` value of the one axis at which ``bounded`` is on that ``side`` of the
    bound. best: the setting with the ``goal`` value of ``output`` among those on that side.
    ``question`` asks for it, with {bound}; ``states`` names further outputs of the winner that it
    asks for. ``takes``: the argument that is the first axis' value that the search before found; ""
    where there is none. ``words``, ``uses``, ``fixed`` as of a ``Run``.
    """

    kind: Literal["threshold", "best"]
    tool: Text
    words: Text
    uses: list[Text]
    fixed: list[Setting]
    takes: StrictStr
    axes: Annotated[list[Axis], Field(min_length=1, max_length=3)]
    bounded: Text
    side: Literal["below", "above"]
    output: StrictStr
    goal: Literal["smallest", "largest"]
    question: Text
    states: Annotated[list[Text], Field(max_length=3)]

    @property
    def settings(self) -> int:
        """How many runs it is."""
        return prod(len(axis.values) for axis in self.axes)

    @property
    def outputs(self) -> list[str]:
        """The outputs that the reference states of its winner, each once."""
        return list(dict.fromkeys(filter(None, [self.output, self.bounded, *self.states])))


class SearchedTemplate(SetUpTemplate):
    """A template whose runs are the winners of its searches."""

    searches: list[Search]


class SearchTemplate(Reply):
    """A situation and the searches in it; two where the second needs what the first one found."""

    template_id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    set_up: Text
    situation: Text
    placeholders: list[Placeholder]
    choices: list[Choice]
    searches: Annotated[list[Search], Field(min_length=1, max_length=2)]

    def of_runs(self, *, with_arguments: bool) -> SearchedTemplate:
        """Return it as a template whose runs are the winners.

        Its asks are their outputs, and ``with_arguments`` the varied arguments that found them.
        """
        asks = []
        for number, search in enumerate(self.searches, start=1):
            if with_arguments:
                asks += [ask for axis in search.axes for ask in _asks_of(axis, number)]
            asks += [_ask(number, name) for name in search.outputs]
        return SearchedTemplate(
            template_id=self.template_id,
            situation=self.situation,
            placeholders=self.placeholders,
            choices=self.choices,
            runs=[self._run(search) for search in self.searches],
            asks=asks,
            set_up=self.set_up,
            beyond=[],
            searches=self.searches,
        )

    def _run(self, search: Search) -> Run:
        """Return the search's first setting as a run."""
        first = [Setting(argument=axis.argument, value=axis.values[0]) for axis in search.axes]
        if search.takes:
            value = self.searches[0].axes[0].values[0]
            first.append(Setting(argument=search.takes, value=value))
        return Run(
            tool=search.tool, words=search.words, uses=search.uses, fixed=[*search.fixed, *first]
        )


class SearchTemplates(Reply):
    """Reply to ``search_templates``."""

    templates: Annotated[list[SearchTemplate], Field(min_length=1)]


class Searched(NamedTuple):
    """A search made: its scenario, with the bounds in words, and all its runs, winners first."""

    scenario: SampledScenario
    evidence: tuple[Evidence, ...]


class NoWinnerError(Exception):
    """A search that has no single answer: why, in words."""


def _bests(prompted: Prompted) -> object:
    """Families of twelve settings of each tool that has a number to vary and one to compare."""
    known = [plain_template(simulator, tool) for simulator, tool in prompted.tools()]
    families = ((part, share) for share in range(STAND_INS) for part in known if part is not None)
    return {"templates": [_best(template, share / STAND_INS) for template, share in families]}


def _best(template: Template, offset: float) -> dict[str, object]:
    """Search along the one placeholder of a template; ``offset``: of a step, where it begins."""
    (placeholder,), run = template.placeholders, template.runs[0]
    step = (placeholder.high - placeholder.low) / (FEWEST_SETTINGS + 1)
    values = [placeholder.low + step * (at + offset) for at in range(FEWEST_SETTINGS)]
    search = {
        "kind": "best",
        "tool": run.tool,
        "words": run.words,
        "uses": [],
        "fixed": [item.model_dump() for item in run.fixed],
        "takes": "",
        "axes": [{"argument": placeholder.argument, "values": [round(v, 3) for v in values]}],
        "bounded": template.asks[-1].output,
        "side": "below",
        "output": template.asks[0].output,
        "goal": "largest",
        "question": f"{MARK} {{bound}}.",
        "states": [],
    }
    return {
        "template_id": f"{template.template_id}-{offset * STAND_INS:.0f}",
        "set_up": MARK,
        "situation": MARK,
        "placeholders": [],
        "choices": [],
        "searches": [search],
    }


STAND_INS = 4
"""Families of a tool in a dry run."""
SEARCH_TEMPLATES = Task("search_templates", SearchTemplates, tokens=6000, stand_in=_bests)


async def draw_search_templates(ask: Asker, simulator: Simulator, count: int) -> Drawn:
    """Return at most ``count`` good templates, and what is wrong with each other one.

    One reply with fewer good than bad ones goes back to the model; ModelError after that.
    """
    handbook = told_to_writers(simulator, set_up=True)

    def check(reply: Any) -> None:
        good, problems = search_templates_sorted(reply.templates, simulator, handbook)
        if 2 * len(good) < len(reply.templates):
            raise ValueError("; ".join(problems))

    completion = await ask.ask(SEARCH_TEMPLATES, check=check, handbook=handbook, count=count)
    reply: SearchTemplates = completion.parsed
    good, problems = search_templates_sorted(reply.templates, simulator, handbook)
    return Drawn(good[:count], problems)


def search_templates_sorted(
    templates: Sequence[SearchTemplate], simulator: Simulator, handbook: str
) -> Drawn:
    """Return the templates without a problem, and the problems of the others in words."""
    good: list[Template] = []
    problems: list[str] = []
    seen: set[str] = set()
    for template in templates:
        wrong = _search_problems(template, simulator)
        if template.template_id in seen:
            wrong.append("the template_id is used twice")
        seen.add(template.template_id)
        if wrong:
            problems.append("; ".join(f"{template.template_id}: {text}" for text in wrong))
            continue
        drawn = sorted_out([template.of_runs(with_arguments=False)], simulator, handbook)
        problems += drawn.problems
        good += [template.of_runs(with_arguments=True)] * len(drawn.templates)
    return Drawn(good, problems)


def _search_problems(template: SearchTemplate, simulator: Simulator) -> list[str]:
    """Name what a search's own rules forbid; what runs and asks forbid is found of its runs."""
    problems = []
    total = sum(search.settings for search in template.searches)
    if not FEWEST_SETTINGS <= total <= MOST_SETTINGS:
        problems.append(
            f"its searches have {total} settings: give {FEWEST_SETTINGS} to {MOST_SETTINGS}"
        )
    for number, search in enumerate(template.searches, start=1):
        where = f"search {number}"
        if bool(search.takes) != (number > 1):
            problems.append(
                f"{where}: takes names an argument in the second search, and only there"
            )
        if "{bound}" not in search.question:
            problems.append(f"{where}: its question holds no {{bound}}")
        if search.kind == "threshold" and (len(search.axes) > 1 or search.output):
            problems.append(f"{where}: a threshold has one axis and no output beside bounded")
        if search.kind == "best" and not search.output:
            problems.append(f"{where}: best needs an output")
        for axis in search.axes:
            if any(value in axis.values[:at] for at, value in enumerate(axis.values)):
                problems.append(f"{where}: {axis.argument} has a value twice")
            if search.kind == "threshold" and not _ascends(axis.values):
                problems.append(f"{where}: the values of {axis.argument} are no ascending numbers")
        tool = simulator.tools.get(search.tool)
        if tool is not None:
            problems += [f"{where}: {text}" for text in _unusable(search, tool, simulator)]
    return problems


def _numeric(values: Sequence[ArgumentValue]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _ascends(values: Sequence[ArgumentValue]) -> bool:
    return _numeric(values) and list(values) == sorted(values)


def _unusable(search: Search, tool: Tool, simulator: Simulator) -> Iterator[str]:
    """Name outputs that are no number, and values that the tool refuses."""
    schemas = {field.name: field.schema for field in described(tool.outputs)}
    for name in search.outputs:
        schema = schemas.get(name, {})
        kinds = {part.get("type") for part in [schema, *schema.get("anyOf", [])]}
        if not kinds & {"number", "integer"}:
            yield f"{tool.name} has no number '{name}'"
    known = {item.argument: item.value for item in search.fixed}
    for axis in search.axes:
        if axis.argument not in names_of(tool.arguments):
            yield f"{tool.name} has no argument '{axis.argument}'"
            continue
        if search.uses or search.takes or len(search.axes) > 1:
            continue  # what else a call holds is known when the scenario is drawn
        for value in axis.values:
            try:
                validate_call(simulator, tool.name, {**known, axis.argument: plain(value)})
            except ArgumentError as error:
                yield str(error)


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
    winners: list[Evidence] = []
    others: list[Evidence] = []
    words: list[str] = []
    other_words: list[str] = []
    asked: list[str] = []
    for search, call, named in zip(template.searches, scenario.calls, scenario.words, strict=True):
        arguments = dict(call.arguments)
        if search.takes:
            first = template.searches[0].axes[0].argument
            arguments[search.takes] = winners[0].call.arguments[first]
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
            listed, into = (words, winners) if at == winner else (other_words, others)
            listed.append(f"{named}: {_in_words(setting)}")
            into.append(run)
    evidence = (*winners, *others)
    calls = tuple(ToolCall(tool=run.call.tool, arguments=run.call.arguments) for run in evidence)
    varied = {axis.argument for search in template.searches for axis in search.axes}
    varied |= {search.takes for search in template.searches if search.takes}
    return Searched(
        scenario.model_copy(
            update={
                "scenario_id": scenario_id(domain, calls),
                "calls": calls,
                "words": (*words, *other_words),
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
    start = Decimal(repr(low)) + Decimal(repr(INNER)) * (Decimal(repr(high)) - Decimal(repr(low)))
    end = Decimal(repr(high)) - Decimal(repr(INNER)) * (Decimal(repr(high)) - Decimal(repr(low)))
    exponent = ceil(log10(high - low)) + 1
    while True:
        first = ceil(start.scaleb(-exponent))
        last = floor(end.scaleb(-exponent))
        choices = [digits for digits in range(first, last + 1) if digits % 5]
        if choices:
            return f"{Decimal(generator.choice(choices)).scaleb(exponent):f}"
        exponent -= 1


def _in_words(setting: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def _asks_of(axis: Axis, run: int) -> Iterator[Ask]:
    """Yield the ask for the value that was found; none where it is neither a number nor a word."""
    if _numeric(axis.values):
        yield _ask(run, axis.argument)
    elif all(isinstance(value, str) for value in axis.values):
        yield _ask(run, axis.argument, list(map(str, axis.values)))


def _ask(run: int, output: str, answers: Sequence[str] = ()) -> Ask:
    return Ask(
        run=run,
        against=0,
        output=output,
        scale="value",
        words=output.replace("_", " "),
        classes=[],
        answers=list(answers),
        better="neither",
    )
