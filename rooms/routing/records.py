"""What routing found, as records: read by the stage, the metrics and the report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simulrag.records import Record

if TYPE_CHECKING:
    from flows.project import Results

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


class OutOfReach(Record):
    """A question that seems the source ``near``'s and that no source answers, and why."""

    question_id: str
    near: str
    text: str
    why: str


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


def sent(found: Iterable[Routed]) -> dict[str, dict[str, int]]:
    """By kind of question how many were sent right and wrongly; by right and chosen how many."""
    routed = [one for one in found if one.route is not None]
    counts: dict[str, dict[str, int]] = {}
    for one, to in ((one, one.route.chosen) for one in routed if one.route is not None):
        kind = counts.setdefault(one.kind, {"right": 0, "wrong": 0})
        kind["right" if one.right == to else "wrong"] += 1
        row = counts.setdefault(f"right is {one.right or NONE}", {})
        row[f"sent to {to or NONE}"] = row.get(f"sent to {to or NONE}", 0) + 1
    return counts


def counts_of(place: Results, domain: str) -> Path:
    """How many questions of a domain were sent where."""
    return place.metrics / f"routing-{domain}.json"


def file_of(place: Results, domain: str) -> Path:
    """Where the questions of a domain were sent."""
    return place.data / "routing" / f"{domain}.jsonl"
