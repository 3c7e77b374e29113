"""Does it fit? Which sources can answer a question, by their handbooks, before anything is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from simulators.base import ArgumentError, Simulator, Tool
from simulrag.models.base import Asker
from simulrag.models.replies import RouteReply, SourceFit
from simulrag.records import Record


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
        "route",
        RouteReply,
        check=check,
        sources=[{"name": name, "handbook": one.handbook()} for name, one in sources.items()],
        question=question,
    )
    by_name = {one.source: one for one in completion.parsed.sources}
    return Route(fits=tuple(Fit(**by_name[name].model_dump()) for name in sources))


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


class NoSource:
    """What answers a question that no source fits: no tool, so nothing is run and none verified."""

    name = "none"
    oracle = False
    tools: Mapping[str, Tool] = {}

    def handbook(self) -> str:
        """Nothing can be told."""
        return ""

    def run(self, tool: str, arguments: Any, seed: int) -> Any:  # noqa: ARG002 there is none
        """Raises ArgumentError."""
        raise ArgumentError(f"no source fits the question, so there is no tool '{tool}'")

    def fingerprint(self) -> str:
        """Nothing can change a result that there is not."""
        return "none"
