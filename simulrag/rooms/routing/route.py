"""Does it fit? Which sources can answer a question, by their handbooks, before anything is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import StrictStr

from simulators.base import Simulator
from simulrag.errors import ModelError
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.rooms.routing.records import Fit, Route, Routed
from simulrag.stand_in import MARK, Prompted, sentence
from simulrag.task import Task


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
    """A question that no source answers, and what of it is out of reach."""

    question: Text
    missing: Text


class NearMisses(Reply):
    """Reply to ``near_misses``."""

    questions: list[NearMiss]


def _no_fit(prompted: Prompted) -> object:
    names = [source["name"] for source in prompted.values["sources"]]
    return {"sources": [{"source": n, "fit": "not", "covers": "", "tool": ""} for n in names]}


def _as_many(prompted: Prompted) -> object:
    texts = [sentence(prompted.seed, number) for number in range(prompted.values["count"])]
    return {"questions": [{"question": text, "missing": MARK} for text in texts]}


ROUTE = Task("route", RouteReply, tokens=65, stand_in=_no_fit)
NEAR_MISSES = Task("near_misses", NearMisses, tokens=450, stand_in=_as_many)


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
    name: str, sources: Mapping[str, Simulator], ask: Asker, count: int
) -> list[Routed]:
    """Questions that seem made for the source ``name`` and that no source can answer.

    A model writes them in one call, from what handbooks say they cannot tell; nobody checked them.
    Raises ModelError where there is no valid reply.
    """

    def check(reply: Any) -> None:
        different = {" ".join(one.question.split()).casefold() for one in reply.questions}
        if len(reply.questions) != count or len(different) != count:
            raise ValueError(f"give {count} different questions, not {len(different)}")

    if not count:
        return []
    completion = await ask.ask(
        NEAR_MISSES, check=check, name=name, sources=_told(sources), count=count
    )
    written = enumerate(completion.parsed.questions, start=1)
    return [Routed.of(f"near-{name}-{n}", one.question, "near_miss") for n, one in written]


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
