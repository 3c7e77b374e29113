"""What routing found, as records: read by the stage, the metrics and the report."""

from __future__ import annotations

from typing import Literal

from simulrag.records import Record

AskedOf = Literal["own", "none", "near_miss"]
"""A question of a benchmark, one of ours that no source answers, one that a model wrote."""


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


class ToRoute(Record):
    """A question whose right source is known; ``right`` None: no source can answer it."""

    question_id: str
    text: str
    kind: AskedOf
    right: str | None
    scenario_id: str


class Routed(ToRoute):
    """Where it was sent. ``route`` None: see ``failure``."""

    route: Route | None = None
    failure: str | None = None
