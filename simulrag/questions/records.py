"""A template of questions: its situation, the runs behind it, and what its asks come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StrictBool, StrictInt, StrictStr

from simulrag.errors import InputError
from simulrag.models.replies import Reply, Text
from simulrag.records import Evidence

Kind = Literal["open", "search"]
"""Of questions: about the outputs of given runs, or about the one setting that a search finds."""
ArgumentValue = (
    StrictBool | StrictInt | float | StrictStr | list[StrictStr | float | list[StrictInt | float]]
)
"""What an argument can be set to: a single value, or a list (names, numbers, pairs of numbers)."""


class Setting(Reply):
    """One argument and its value."""

    argument: Text
    value: ArgumentValue


class Placeholder(Reply):
    """A number that varies in a template, for one argument of the runs that use it.

    The wording says how the situation shows it.
    """

    name: Text
    argument: Text
    low: float
    high: float
    decimals: Annotated[StrictInt, Field(ge=0, le=6)]
    wording: Literal["value", "percent_reduction", "percent_increase"]


class Option(Reply):
    """One way to fill a choice: what the situation says and the arguments behind it."""

    words: Text
    settings: Annotated[list[Setting], Field(min_length=1)]


class Choice(Reply):
    """Words that vary in a template: a place, a pathway, a list of states."""

    name: Text
    options: Annotated[list[Option], Field(min_length=2)]


class Run(Reply):
    """One tool call behind a question.

    ``words`` tell the run from its siblings and may hold placeholders; ``uses`` names the
    placeholders and choices that set its arguments (``choice.argument``: that one alone of the
    choice), ``fixed`` the arguments that never vary.
    """

    tool: Text
    words: Text
    uses: list[Text]
    fixed: list[Setting]


class MagnitudeClass(Reply):
    """A class of absolute magnitude, from ``from_magnitude`` up to the next class's."""

    name: Text
    from_magnitude: Annotated[float, Field(ge=0)]


class Ask(Reply):
    """One output that a template asks about.

    ``run`` counts from 1. ``against`` 0: the run's own output; else the number of the run that it
    is compared with: the run's output minus that run's, or, with ``scale`` percent, that change in
    percent of the other run's output. ``answers``: every word that an output in words can be;
    empty for a number.
    """

    run: Annotated[StrictInt, Field(ge=1)]
    against: Annotated[StrictInt, Field(ge=0)]
    output: Text
    scale: Literal["value", "percent"]
    words: Text
    classes: list[MagnitudeClass]
    answers: list[Text]
    better: Literal["lower", "higher", "neither"]


class Template(Reply):
    """One question template; ``{name}`` in ``situation`` is a placeholder or a choice."""

    template_id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    situation: Text
    placeholders: list[Placeholder]
    choices: list[Choice]
    runs: Annotated[list[Run], Field(min_length=1, max_length=3)]
    asks: Annotated[list[Ask], Field(min_length=1)]


class SetUpTemplate(Template):
    """A template whose questions state their set-up and ask beyond the simulator's reach.

    ``set_up``: what an expert has to know of the simulator's world. ``beyond``: questions that no
    run can answer.
    """

    set_up: Text
    beyond: Annotated[list[Text], Field(max_length=2)]


@dataclass(frozen=True)
class AskedValue:
    """What one ask of a template comes to: the number, and the class that it falls into."""

    ask: Ask
    value: float
    class_name: str | None

    @property
    def limits(self) -> list[float]:
        """The magnitudes at which a class begins, without the first (0)."""
        return [item.from_magnitude for item in self.ask.classes[1:]]


def shown_by(run: Evidence, name: str) -> JsonValue:
    """Return an output of a run; of a search's winner also the argument that was searched for."""
    return run.outputs.get(name, run.call.arguments.get(name))


def asked_value(ask: Ask, evidence: Sequence[Evidence]) -> AskedValue | None:
    """The number that an ask is about; None where the runs give none (an output in words)."""
    values = []
    for number in (ask.run, ask.against):
        value = shown_by(evidence[number - 1], ask.output) if number else 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        values.append(float(value))
    own, other = values
    if ask.scale == "percent" and not other:
        return None
    result = 100 * (own / other - 1) if ask.scale == "percent" else own - other
    reached = [item.name for item in ask.classes if item.from_magnitude <= abs(result)]
    return AskedValue(ask, result, reached[-1] if reached else None)


def read_templates(path: Path) -> dict[str, Template]:
    """The templates of generated questions by id; none of published or imported ones.

    What a template holds besides, such as a set-up, is no asked value and is left out.
    """
    if not path.is_file():
        return {}
    known = Template.model_fields
    try:
        templates = [
            Template.model_validate({name: item[name] for name in item if name in known})
            for item in json.loads(path.read_bytes())
        ]
    except (ValueError, TypeError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a file of templates: {first}") from None
    return {template.template_id: template for template in templates}
