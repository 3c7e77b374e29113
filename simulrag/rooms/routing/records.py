"""What routing found, as records: read by the stage, the metrics and the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simulrag.records import Record

if TYPE_CHECKING:
    from flows.project import Results

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


class OutOfReach(Record):
    """A question that seems the source ``near``'s and that no source answers, and why."""

    question_id: str
    near: str
    text: str
    why: str


class Routed(Record):
    """A question whose right source is known (``right`` None: none), and where it was sent.

    ``route`` None: it was not yet, or see ``failure``.
    """

    question_id: str
    text: str
    kind: AskedOf
    right: str | None
    scenario_id: str
    route: Route | None = None
    failure: str | None = None

    @classmethod
    def of(
        cls, id: str, text: str, kind: AskedOf, right: str | None = None, scenario: str = ""
    ) -> Routed:
        """One that is not sent anywhere yet; without a scenario it is one by itself."""
        return cls(question_id=id, text=text, kind=kind, right=right, scenario_id=scenario or id)


def file_of(place: Results, domain: str) -> Path:
    """Where the questions of a domain were sent."""
    return place.data / "routing" / f"{domain}.jsonl"
