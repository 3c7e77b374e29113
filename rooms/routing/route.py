"""Does it fit? Which sources can answer a question, by their handbooks, before anything is run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import JsonValue, StrictStr

from simulators.base import ArgumentError, RunError, Simulator, validate_call
from simulators.json_schema import names_of
from simulrag.errors import ModelError
from simulrag.method.asking import together
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.questions.records import ArgumentValue, Setting
from simulrag.questions.scenarios import plain
from simulrag.records import Record
from simulrag.stand_in import MARK, RIGHT, Prompted, example_call, sentence
from simulrag.task import Task

NONE = "none"
"""The right place of a question that no source can answer."""
AskedOf = Literal["own", "none", "out_of_range", "not_returned"]
"""A question of a benchmark, one of ours that no source answers, near misses that a model wrote."""


class Fit(Record):
    """Whether one source fits, the part of the question that it covers, and the tool for it."""

    source: str
    fit: Literal["fits", "partly", "not"]
    covers: str = ""
    tool: str = ""


class Route(Record):
    """What was found for each source, in the order in which they were given."""

    fits: tuple[Fit, ...]

    @property
    def chosen(self) -> str | None:
        """The first source that fits, else the first that does partly; None where none does."""
        for wanted in ("fits", "partly"):
            for one in self.fits:
                if one.fit == wanted:
                    return one.source
        return None


class Routed(Record):
    """A question whose right source is known (``right`` None: none), and where it was sent.

    ``proof``: of a near miss, what a run of the simulator shows. ``route`` None: it was not yet, or
    see ``failure``.
    """

    question_id: str
    text: str
    kind: AskedOf
    right: str | None
    scenario_id: str
    proof: str = ""
    route: Route | None = None
    failure: str | None = None

    @classmethod
    def of(
        cls, id: str, text: str, kind: AskedOf, right: str | None = None, scenario: str = ""
    ) -> Routed:
        """One that is not sent anywhere yet; without a scenario it is one by itself."""
        return cls(question_id=id, text=text, kind=kind, right=right, scenario_id=scenario or id)


class SourceFit(Reply):
    """What one source can say to a question: ``covers`` in words, ``tool`` one of its tools.

    Both are empty where the source cannot say anything.
    """

    source: Text
    fit: Literal["fits", "partly", "not"]
    covers: StrictStr
    tool: StrictStr


class RouteReply(Reply):
    """Reply to ``route``; each source has to be there exactly once."""

    sources: list[SourceFit]


class NearMiss(Reply):
    """A question that no source answers, what of it is out of reach, and the call that shows it."""

    question: Text
    missing: Text
    tool: Text
    arguments: list[Setting]


class OutOfRange(NearMiss):
    """One argument lies just outside of what the tool takes; ``inside`` is the nearest it takes."""

    argument: Text
    inside: ArgumentValue


class NotReturned(NearMiss):
    """The tool runs and does not return what is asked; ``nearest`` is the output closest to it."""

    nearest: Text


class NearMisses(Reply):
    """Reply to ``near_misses``."""

    out_of_range: list[OutOfRange]
    not_returned: list[NotReturned]


def _by_name(prompted: Prompted) -> object:
    """A source fits a question that says so of it, by its name."""
    asked = prompted.text("question")
    parts = re.split(r"^# Source: ", prompted.text("sources"), flags=re.M)[1:]
    found = []
    for part in parts:
        name = part.partition("\n")[0].strip()
        fits = RIGHT in asked and name in asked.split() and bool(prompted.tools(part))
        told = {"fit": "partly", "covers": MARK, "tool": prompted.tools(part)[0][1]} if fits else {}
        found.append({"source": name, "fit": "not", "covers": "", "tool": "", **told})
    return {"sources": found}


def _as_many(prompted: Prompted) -> object:
    """Of the first tool of the source that the prompt names last."""
    name = prompted.messages[-1].content.rpartition('source "')[2].partition('"')[0]
    _, _, told = prompted.text("sources").partition(f"# Source: {name}\n")
    handbook = told.partition("\n# Source: ")[0]
    simulator, tool = prompted.tools(handbook)[0]
    call = {
        "tool": tool,
        "arguments": [
            {"argument": name, "value": value}
            for name, value in example_call(simulator, tool).items()
            if value is not None
        ],
        "nearest": names_of(simulator.tools[tool].outputs)[0],
        "missing": MARK,
    }
    texts = [sentence(prompted.seed, number) for number in range(prompted.count)]
    return {"out_of_range": [], "not_returned": [{"question": text, **call} for text in texts]}


ROUTE = Task("route", RouteReply, tokens=65, stand_in=_by_name)
NEAR_MISSES = Task("near_misses", NearMisses, tokens=2500, stand_in=_as_many)


async def route(question: str, sources: Mapping[str, Simulator], ask: Asker) -> Route:
    """Ask about all sources in one call; no simulator runs.

    Raises ModelError where there is no valid reply. Without a source nothing is asked.
    """
    if not sources:
        return Route(fits=())

    def check(reply: Any) -> None:
        problems = _problems(reply.sources, sources)
        if problems:
            raise ValueError("; ".join(problems))

    completion = await ask.ask(
        ROUTE,
        check=check,
        sources=_told(sources),
        question=question,
    )
    by_name = {one.source: one for one in completion.parsed.sources}
    return Route(fits=tuple(Fit(**by_name[name].model_dump()) for name in sources))


async def routed(asked: Routed, sources: Mapping[str, Simulator], ask: Asker) -> Routed:
    """A question of a test, sent by ``route``; a failed call is its ``failure``."""
    try:
        return asked.model_copy(update={"route": await route(asked.text, sources, ask)})
    except ModelError as error:
        return asked.model_copy(update={"failure": str(error)})


async def near_misses(
    name: str,
    sources: Mapping[str, Simulator],
    ask: Asker,
    runs: Simulations,
    seed: int,
    count: int,
) -> list[Routed]:
    """Questions that seem made for the source ``name`` and that no source can answer.

    A model writes them in one call, each with a call of the source that shows it: one that is
    refused for one argument and runs with another, or one that runs without what is asked. A call
    that does not run proves nothing, and its question is left out. Raises ModelError where there is
    no valid reply.
    """
    simulator = sources[name]

    def check(reply: Any) -> None:
        written = [*reply.out_of_range, *reply.not_returned]
        different = {" ".join(one.question.split()).casefold() for one in written}
        if len(written) != count or len(different) != count:
            raise ValueError(f"give {count} different questions, not {len(different)}")
        found = [(one.question, _outside(one, simulator)) for one in reply.out_of_range]
        found += [(one.question, _beside(one, simulator)) for one in reply.not_returned]
        if problems := [f"'{question}': {why}" for question, why in found if why]:
            raise ValueError("; ".join(problems))

    if not count:
        return []
    completion = await ask.ask(
        NEAR_MISSES,
        check=check,
        name=name,
        sources=_told(sources),
        count=count,
    )
    reply: NearMisses = completion.parsed
    written: list[OutOfRange | NotReturned] = [*reply.out_of_range, *reply.not_returned]
    proofs = await together(_proof(one, runs, seed) for one in written)
    kinds: list[AskedOf] = ["out_of_range"] * len(reply.out_of_range)
    kinds += ["not_returned"] * len(reply.not_returned)
    return [
        Routed.of(f"near-{name}-{number}", one.question, kind).model_copy(update={"proof": proof})
        for number, (one, kind, proof) in enumerate(zip(written, kinds, proofs, strict=True), 1)
        if proof
    ]


def _arguments(one: NearMiss) -> dict[str, JsonValue]:
    return {item.argument: plain(item.value) for item in one.arguments}


def _within(one: OutOfRange) -> dict[str, JsonValue]:
    return {**_arguments(one), one.argument: plain(one.inside)}


def _refusal(simulator: Simulator, tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Why a call is refused; "" where it is not."""
    try:
        validate_call(simulator, tool, arguments)
    except ArgumentError as error:
        return str(error)
    return ""


def _outside(one: OutOfRange, simulator: Simulator) -> str:
    """Why it does not show an argument out of range, in words that a model can act on."""
    if one.argument not in _arguments(one):
        return f"arguments do not hold '{one.argument}'"
    if why := _refusal(simulator, one.tool, _within(one)):
        return f"with {one.argument} inside: {why}"
    if not _refusal(simulator, one.tool, _arguments(one)):
        return f"{one.tool} takes these arguments, so {one.argument} is not out of range"
    return ""


def _beside(one: NotReturned, simulator: Simulator) -> str:
    """Why it does not show an output that comes near, in words that a model can act on."""
    if why := _refusal(simulator, one.tool, _arguments(one)):
        return why
    outputs = names_of(simulator.tools[one.tool].outputs)
    return "" if one.nearest in outputs else f"nearest is one of {', '.join(outputs)}"


async def _proof(one: OutOfRange | NotReturned, runs: Simulations, seed: int) -> str:
    """What a run shows, in words; "" where none could be made."""
    inside = _within(one) if isinstance(one, OutOfRange) else _arguments(one)
    try:
        run = await runs.run(one.tool, inside, seed)
    except (ArgumentError, RunError):
        return ""
    if isinstance(one, OutOfRange):
        refused = _refusal(runs.simulator, one.tool, _arguments(one))
        return f"{refused}; with {one.argument} {json.dumps(plain(one.inside))} it runs"
    given = ", ".join(name for name, value in run.outputs.items() if value is not None)
    call = f"{one.tool} {json.dumps(_arguments(one), ensure_ascii=False)}"
    return f"{call} runs and returns {given}; the nearest is {one.nearest}"


def _told(sources: Mapping[str, Simulator]) -> list[dict[str, str]]:
    return [{"name": name, "handbook": one.handbook()} for name, one in sources.items()]


def _problems(given: Sequence[SourceFit], sources: Mapping[str, Simulator]) -> list[str]:
    """What is wrong with a reply, in words that a model can act on."""
    names = [one.source for one in given]
    found = [f"give source '{name}' exactly once" for name in sources if names.count(name) != 1]
    for one in given:
        if one.source not in sources:
            found.append(f"there is no source '{one.source}'; known: {', '.join(sources)}")
        elif one.fit != "not" and one.tool not in sources[one.source].tools:
            known = ", ".join(sources[one.source].tools)
            found.append(f"{one.source}: there is no tool '{one.tool}'; known: {known}")
        elif one.fit == "not" and (one.tool or one.covers):
            found.append(f"{one.source}: leave covers and tool empty where fit is 'not'")
    return found
