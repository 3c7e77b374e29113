"""First stage: templates for questions, proposed by a model from the handbook and checked."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from simulators.base import (
    ArgumentError,
    Simulator,
    Tool,
    handbook_with_guide,
    set_up_facts,
    validate_call,
)
from simulators.json_schema import described, names_of
from simulrag.method.numbers import Number, numbers
from simulrag.models.base import Asker
from simulrag.models.replies import Reply
from simulrag.questions.records import (
    Ask,
    Placeholder,
    Run,
    Setting,
    SetUpTemplate,
    Template,
)
from simulrag.questions.scenarios import fill_runs, grid, grid_value
from simulrag.stand_in import MARK, Prompted, example_call
from simulrag.task import Task


class Templates(Reply):
    """Reply to ``benchmark_templates``."""

    templates: Annotated[list[Template], Field(min_length=1)]


class SetUpTemplates(Reply):
    """Reply to ``benchmark_templates`` where questions state their set-up."""

    templates: Annotated[list[SetUpTemplate], Field(min_length=1)]


def _one_a_tool(prompted: Prompted) -> object:
    """A template for each tool that has a number to vary and a number to ask for."""
    more = {"set_up": MARK, "beyond": []} if prompted.shape == SetUpTemplates.__name__ else {}
    made = [plain_template(simulator, tool) for simulator, tool in prompted.tools()]
    return {
        "templates": [
            {**template.model_dump(), **more} for template in made if template is not None
        ]
    }


BENCHMARK_TEMPLATES = Task(
    "benchmark_templates", Templates, tokens=8500, stand_in=_one_a_tool, others=(SetUpTemplates,)
)


class Drawn(NamedTuple):
    """Templates to sample from; and of each that was left out what is wrong with it, in words."""

    templates: list[Template]
    problems: list[str]


async def draw_templates(
    ask: Asker, simulator: Simulator, count: int, *, set_up: bool = False
) -> Drawn:
    """At most ``count`` templates whose every call the simulator accepts.

    With ``set_up`` their questions state the set-up, whose numbers are the handbook's. Raises
    ModelError as ``draw_sorted`` does.
    """
    handbook = told_to_writers(simulator, set_up=set_up)
    task = BENCHMARK_TEMPLATES
    shown: dict[str, Any] = {"handbook": handbook}
    if set_up:
        task = task.replying(SetUpTemplates)
        shown["set_up"] = True

    def sort(templates: Sequence[Template]) -> Drawn:
        return sorted_out(templates, simulator, handbook)

    return await draw_sorted(ask, task, sort, count, **shown)


async def draw_sorted(
    ask: Asker, task: Task, sort: Callable[[Any], Drawn], count: int, **shown: Any
) -> Drawn:
    """Ask for ``count`` templates and keep the good ones of the reply, as ``sort`` finds them.

    A reply with fewer good than bad ones goes back to the model once, by the gateway; ModelError
    after that.
    """

    def check(reply: Any) -> None:
        good, problems = sort(reply.templates)
        if 2 * len(good) < len(reply.templates):
            raise ValueError("; ".join(problems))

    completion = await ask.ask(task, check=check, count=count, **shown)
    good, problems = sort(completion.parsed.templates)
    return Drawn(good[:count], problems)


def told_to_writers(simulator: Simulator, *, set_up: bool) -> str:
    """What a writer of templates is told of a simulator; with ``set_up`` its world's facts too."""
    handbook = handbook_with_guide(simulator)
    if not set_up:
        return handbook
    return f"{handbook.rstrip()}\n\n{set_up_facts(simulator)}".strip()


def sorted_out(templates: Sequence[Template], simulator: Simulator, handbook: str) -> Drawn:
    """The templates without a problem, and the problems of the others."""
    known = numbers(handbook)
    drawn = Drawn([], [])
    seen: set[str] = set()
    for template in templates:
        problems = template_problems(template, simulator) + _set_up_problems(template, known)
        if template.template_id in seen:
            problems.append(f"{template.template_id}: the template_id is used twice")
        seen.add(template.template_id)
        if problems:
            drawn.problems.append("; ".join(problems))
        else:
            drawn.templates.append(template)
    return drawn


def plain_template(simulator: Simulator, tool: str) -> Template | None:
    """A template around the simulator's own example of a call; None where no number varies."""
    kind, example = simulator.tools[tool], example_call(simulator, tool)
    asks = [
        Ask(
            run=1,
            against=0,
            output=field.name,
            scale="value",
            words=field.name,
            classes=[],
            answers=[],
            better="neither",
        )
        for field in described(kind.outputs)
        if field.schema.get("type") == "number"
    ][:2]
    if not asks:
        return None
    ranges = ((field.name, *_range_of(field.schema)) for field in described(kind.arguments))
    for name, low, high in ranges:
        template = Template(
            template_id=f"stand-in-{tool.lower().replace('_', '-')}",
            situation=f"{MARK} {{{name}}}.",
            placeholders=[
                Placeholder(
                    name=name, argument=name, low=low, high=high, decimals=2, wording="value"
                )
            ],
            choices=[],
            runs=[
                Run(
                    tool=tool,
                    words=tool,
                    uses=[name],
                    fixed=[
                        Setting.model_validate({"argument": key, "value": value})
                        for key, value in example.items()
                        if key != name
                    ],
                )
            ],
            asks=asks,
        )
        if low < high and not template_problems(template, simulator):
            return template
    return None


def _range_of(schema: Mapping[str, Any]) -> tuple[float, float]:
    """The range of a number; none at all, 0 to 0, where it has no two ends."""
    for part in [schema, *schema.get("anyOf", [])]:
        if part.get("type") == "number" and {"minimum", "maximum"} <= part.keys():
            return float(part["minimum"]), float(part["maximum"])
    return 0.0, 0.0


def template_problems(template: Template, simulator: Simulator) -> list[str]:
    """Everything that keeps a template from being sampled and asked, in words; [] if nothing."""
    problems = _situation_problems(template) + _run_problems(template, simulator)
    if all(run.tool in simulator.tools for run in template.runs):
        for ask in template.asks:
            problems += _ask_problems(ask, template, simulator)
    asked = [f"{ask.output} (run {ask.run}, {ask.against})" for ask in template.asks]
    problems += _repeats(asked, "the output", "asked about")
    return [f"{template.template_id}: {text}" for text in problems]


def _set_up_problems(template: Template, known: Sequence[Number]) -> list[str]:
    """Numbers of a set-up that the handbook does not have, and fields where none is filled."""
    if not isinstance(template, SetUpTemplate):
        return []
    problems = [
        f"{template.template_id}: the set-up says {number.written}, which the handbook does not"
        for number in numbers(template.set_up)
        if not any(number.repeats(other) for other in known)
    ]
    problems += [
        f"{template.template_id}: the set-up and the questions beyond hold no {{name}}"
        for text in (template.set_up, *template.beyond)
        if "{" in text
    ]
    return list(dict.fromkeys(problems))


def _situation_problems(template: Template) -> list[str]:
    declared = [item.name for item in template.placeholders]
    declared += [choice.name for choice in template.choices]
    problems = _repeats(declared, "the name", "declared")
    try:
        fields = _fields(template.situation)
        for run in template.runs:
            fields += [field for field in _fields(run.words) if field not in fields]
    except ValueError as error:
        return [f"the braces of the situation or of a run's words do not pair up ({error})"]
    problems += [f"write {{{name}}} without a format" for name, formatted in fields if formatted]
    named = list(dict.fromkeys(name for name, _ in fields))
    problems += [
        f"{{{name}}} is neither a placeholder nor a choice"
        for name in named
        if name not in declared
    ]
    shown = {name for name, _ in _fields(template.situation)}
    problems += [f"'{name}' is not in the situation" for name in declared if name not in shown]
    used = {name.partition(".")[0] for run in template.runs for name in run.uses}
    problems += [f"no run uses '{name}'" for name in declared if name not in used]
    return problems


def _fields(text: str) -> list[tuple[str, bool]]:
    """The fields of a text in braces, and whether each has a format of its own."""
    return [
        (name, bool(spec or conversion))
        for _, name, spec, conversion in string.Formatter().parse(text)
        if name is not None
    ]


def _run_problems(template: Template, simulator: Simulator) -> list[str]:
    """Unknown tools, names and arguments; then what the tools say of the ends and the options."""
    arguments = {item.name: [item.argument] for item in template.placeholders}
    for choice in template.choices:
        arguments[choice.name] = sorted(
            {item.argument for option in choice.options for item in option.settings}
        )
        arguments |= {f"{choice.name}.{name}": [name] for name in arguments[choice.name]}
    problems: list[str] = []
    for number, run in enumerate(template.runs, start=1):
        tool = simulator.tools.get(run.tool)
        if tool is None:
            known = ", ".join(sorted(simulator.tools))
            problems.append(f"there is no tool '{run.tool}' (tools: {known})")
            continue
        problems += [
            f"run {number} uses '{name}', which is neither a placeholder nor a choice"
            for name in run.uses
            if name not in arguments
        ]
        taken = [item.argument for item in run.fixed]
        taken += [argument for name in run.uses for argument in arguments.get(name, [])]
        problems += _repeats(taken, f"run {number}: the argument", "set")
        problems += [
            f"{tool.name} has no argument '{name}'"
            for name in dict.fromkeys(taken)
            if name not in names_of(tool.arguments)
        ]
    words = [run.words for run in template.runs]
    problems += _repeats(words, "the words of a run", "given") if len(words) > 1 else []
    for placeholder in template.placeholders:
        problems += _range_problems(placeholder)
    return problems or _refusals(template, simulator)


def _refusals(template: Template, simulator: Simulator) -> list[str]:
    """What the tools refuse: at both ends of every range, and for every option."""
    ends = [
        {item.name: grid_value(item, grid(item)[end]) for item in template.placeholders}
        for end in (0, -1)
    ]
    first = {choice.name: 0 for choice in template.choices}
    cases = [(values, first) for values in ends]
    cases += [
        (ends[0], {**first, choice.name: index})
        for choice in template.choices
        for index in range(1, len(choice.options))
    ]
    problems: list[str] = []
    for values, options in cases:
        for call in fill_runs(template, values, options):
            try:
                validate_call(simulator, call.tool, call.arguments)
            except ArgumentError as error:
                problems.append(str(error))
    return list(dict.fromkeys(problems))


def _range_problems(placeholder: Placeholder) -> list[str]:
    name = placeholder.name
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


def _ask_problems(ask: Ask, template: Template, simulator: Simulator) -> list[str]:
    if max(ask.run, ask.against) > len(template.runs) or ask.run == ask.against:
        return [f"output '{ask.output}': run {ask.run} against {ask.against} is no comparison"]
    runs = [template.runs[number - 1] for number in (ask.run, ask.against) if number]
    problems: list[str] = []
    for run in runs:
        problems += _output_problems(ask, simulator.tools[run.tool])
    if ask.scale == "percent" and not ask.against:
        problems.append(f"output '{ask.output}': percent needs a run to be compared with")
    if problems or not ask.classes:
        return list(dict.fromkeys(problems))
    starts = [item.from_magnitude for item in ask.classes]
    if len(ask.classes) == 1:
        problems.append(f"output '{ask.output}': one class alone tells nothing, give two or more")
    if starts[0] != 0:
        problems.append(f"output '{ask.output}': the first class starts at {starts[0]:g}, not at 0")
    if any(after <= before for before, after in pairwise(starts)):
        problems.append(f"output '{ask.output}': from_magnitude does not ascend")
    names = [item.name.casefold() for item in ask.classes]
    return problems + _repeats(names, f"output '{ask.output}': the class", "named")


def _output_problems(ask: Ask, tool: Tool) -> list[str]:
    schema = {field.name: field.schema for field in described(tool.outputs)}.get(ask.output)
    if schema is None:
        return [f"{tool.name} has no output '{ask.output}'"]
    words = schema.get("enum", [])
    if words and not ask.against and not ask.classes:
        known = ", ".join(words)
        wrong = sorted(ask.answers) != sorted(words)
        return [f"output '{ask.output}': answers must be {known}"] if wrong else []
    if words or not is_number(schema):
        return [f"output '{ask.output}' is not a number"]
    return [f"output '{ask.output}' is a number: leave answers empty"] if ask.answers else []


def is_number(schema: Mapping[str, Any]) -> bool:
    """Tell whether a schema takes a number, perhaps beside other kinds."""
    kinds = {part.get("type") for part in [schema, *schema.get("anyOf", [])]}
    return bool(kinds & {"number", "integer"})


def _repeats(names: list[str], what: str, done: str) -> list[str]:
    repeated = dict.fromkeys(name for name in names if names.count(name) > 1)
    return [f"{what} '{name}' is {done} twice" for name in repeated]
