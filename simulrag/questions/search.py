"""Search questions: which runs answer them depends on what earlier runs show.

A model writes a ``SearchTemplate``: one or two searches over stated settings of a tool. Code makes
every run of them, draws the bounds, finds the one setting that answers, and refuses a search that
has none or several. The question and its reference are then written and checked as all others are,
with the winners as the template's runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Annotated, Literal

from pydantic import Field, StrictStr

from simulators.base import ArgumentError, Simulator, Tool, validate_call
from simulators.json_schema import described, names_of
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
from simulrag.questions.scenarios import plain
from simulrag.questions.templates import (
    Drawn,
    draw_sorted,
    is_number,
    plain_template,
    sorted_out,
    told_to_writers,
)
from simulrag.stand_in import MARK, Prompted
from simulrag.task import Task

FEWEST_SETTINGS, MOST_SETTINGS = 12, 40
"""Of the runs of a template: fewer are seen at a glance, more are paid for nothing."""


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

    Raises ModelError as ``draw_sorted`` does.
    """
    handbook = told_to_writers(simulator, set_up=True)

    def sort(templates: Sequence[SearchTemplate]) -> Drawn:
        return search_templates_sorted(templates, simulator, handbook)

    return await draw_sorted(ask, SEARCH_TEMPLATES, sort, count, handbook=handbook)


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
        if not is_number(schemas.get(name, {})):
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
