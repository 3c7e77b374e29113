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
            for fit in self.fits:
                if fit.fit == wanted:
                    return fit.source
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
        """Make one that is not sent anywhere yet; without a scenario it is one by itself."""
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
    sources = []
    for part in parts:
        name = part.partition("\n")[0].strip()
        fits = RIGHT in asked and name in asked.split() and bool(prompted.tools(part))
        fit = {"fit": "partly", "covers": MARK, "tool": prompted.tools(part)[0][1]} if fits else {}
        sources.append({"source": name, "fit": "not", "covers": "", "tool": "", **fit})
    return {"sources": sources}


def _as_many(prompted: Prompted) -> object:
    """Of the first tool of the source that the prompt names last."""
    name = prompted.messages[-1].content.rpartition('source "')[2].partition('"')[0]
    _, _, handbooks = prompted.text("sources").partition(f"# Source: {name}\n")
    handbook = handbooks.partition("\n# Source: ")[0]
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
        sources=_shown(sources),
        question=question,
    )
    by_name = {fit.source: fit for fit in completion.parsed.sources}
    return Route(fits=tuple(Fit(**by_name[name].model_dump()) for name in sources))


async def routed(asked: Routed, sources: Mapping[str, Simulator], ask: Asker) -> Routed:
    """Send a question whose right source is known; a failed call is its ``failure``."""
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
    """Write questions that seem made for the source ``name`` and that no source can answer.

    A model writes them in one call, each with a call of the source that shows it: one that is
    refused for one argument and runs with another, or one that runs without what is asked. A call
    that does not run proves nothing, and its question is left out. Raises ModelError where there is
    no valid reply.

    Args:
        name: The source that they come near.
        sources: All sources; what another one answers is no near miss.
        ask: Who writes.
        runs: Runs the source's calls.
        seed: Of those runs.
        count: Questions wanted.
    """
    simulator = sources[name]

    def check(reply: Any) -> None:
        written = [*reply.out_of_range, *reply.not_returned]
        different = {" ".join(miss.question.split()).casefold() for miss in written}
        if len(written) != count or len(different) != count:
            raise ValueError(f"give {count} different questions, not {len(different)}")
        checked = [(miss.question, _outside(miss, simulator)) for miss in reply.out_of_range]
        checked += [(miss.question, _beside(miss, simulator)) for miss in reply.not_returned]
        if problems := [f"'{question}': {why}" for question, why in checked if why]:
            raise ValueError("; ".join(problems))

    if not count:
        return []
    completion = await ask.ask(
        NEAR_MISSES,
        check=check,
        name=name,
        sources=_shown(sources),
        count=count,
    )
    reply: NearMisses = completion.parsed
    written: list[OutOfRange | NotReturned] = [*reply.out_of_range, *reply.not_returned]
    proofs = await together(_proof(miss, runs, seed) for miss in written)
    kinds: list[AskedOf] = ["out_of_range"] * len(reply.out_of_range)
    kinds += ["not_returned"] * len(reply.not_returned)
    return [
        Routed.of(f"near-{name}-{number}", miss.question, kind).model_copy(update={"proof": proof})
        for number, (miss, kind, proof) in enumerate(zip(written, kinds, proofs, strict=True), 1)
        if proof
    ]


def _arguments(miss: NearMiss) -> dict[str, JsonValue]:
    return {item.argument: plain(item.value) for item in miss.arguments}


def _within(miss: OutOfRange) -> dict[str, JsonValue]:
    return {**_arguments(miss), miss.argument: plain(miss.inside)}


def _refusal(simulator: Simulator, tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """Say why a call is refused; "" where it is not."""
    try:
        validate_call(simulator, tool, arguments)
    except ArgumentError as error:
        return str(error)
    return ""


def _outside(miss: OutOfRange, simulator: Simulator) -> str:
    """Say why it does not show an argument out of range, in words that a model can act on."""
    if miss.argument not in _arguments(miss):
        return f"arguments do not hold '{miss.argument}'"
    if why := _refusal(simulator, miss.tool, _within(miss)):
        return f"with {miss.argument} inside: {why}"
    if not _refusal(simulator, miss.tool, _arguments(miss)):
        return f"{miss.tool} takes these arguments, so {miss.argument} is not out of range"
    return ""


def _beside(miss: NotReturned, simulator: Simulator) -> str:
    """Say why it does not show an output that comes near, in words that a model can act on."""
    if why := _refusal(simulator, miss.tool, _arguments(miss)):
        return why
    outputs = names_of(simulator.tools[miss.tool].outputs)
    return "" if miss.nearest in outputs else f"nearest is one of {', '.join(outputs)}"


async def _proof(miss: OutOfRange | NotReturned, runs: Simulations, seed: int) -> str:
    """Say what a run shows; "" where none could be made."""
    inside = _within(miss) if isinstance(miss, OutOfRange) else _arguments(miss)
    try:
        run = await runs.run(miss.tool, inside, seed)
    except (ArgumentError, RunError):
        return ""
    if isinstance(miss, OutOfRange):
        refused = _refusal(runs.simulator, miss.tool, _arguments(miss))
        return f"{refused}; with {miss.argument} {json.dumps(plain(miss.inside))} it runs"
    given = ", ".join(name for name, value in run.outputs.items() if value is not None)
    call = f"{miss.tool} {json.dumps(_arguments(miss), ensure_ascii=False)}"
    return f"{call} runs and returns {given}; the nearest is {miss.nearest}"


def _shown(sources: Mapping[str, Simulator]) -> list[dict[str, str]]:
    return [{"name": name, "handbook": simulator.handbook()} for name, simulator in sources.items()]


def _problems(given: Sequence[SourceFit], sources: Mapping[str, Simulator]) -> list[str]:
    """Say what is wrong with a reply, in words that a model can act on."""
    names = [fit.source for fit in given]
    problems = [f"give source '{name}' exactly once" for name in sources if names.count(name) != 1]
    for fit in given:
        if fit.source not in sources:
            problems.append(f"there is no source '{fit.source}'; known: {', '.join(sources)}")
        elif fit.fit != "not" and fit.tool not in sources[fit.source].tools:
            known = ", ".join(sources[fit.source].tools)
            problems.append(f"{fit.source}: there is no tool '{fit.tool}'; known: {known}")
        elif fit.fit == "not" and (fit.tool or fit.covers):
            problems.append(f"{fit.source}: leave covers and tool empty where fit is 'not'")
    return problems
