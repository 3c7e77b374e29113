"""One point of an answer: what is asked, with the prior's expectation of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simulrag.models.offline.priors import Expectation
from simulrag.statements import MagnitudeClass, subjects, thresholds

DEGREE_GRIDS = (0.1, 0.1, 0.5)
CASE_GRIDS = (5.0, 50.0, 100.0)
PERCENT_GRIDS = (1.0, 5.0, 5.0)
"""Steps that guesses of percentages are rounded to."""


@dataclass(frozen=True)
class Point:
    """One thing to say. Points with one ``topic`` share one drawn value.

    ``kind``: "change" (signed, said with a verb), "level", "size" (a level without its sign),
    "trend" and "which" (a word for the sign: ``names`` positive, negative), "order" (a sentence for
    the sign), "fact" (``names[0]`` as it stands), "word" (a word for the size, in ``classes``).
    ``grids``: the steps a guess is rounded to, in the point's unit.
    """

    topic: str
    noun: str
    expectation: Expectation
    kind: Literal["change", "level", "size", "trend", "which", "order", "fact", "word"] = "change"
    unit: str = "%"
    grids: tuple[float, ...] = PERCENT_GRIDS
    names: tuple[str, ...] = ()
    classes: Sequence[MagnitudeClass] = ()
    low: float | None = None
    high: float | None = None


def classes_for(question: str, topic: str) -> Sequence[MagnitudeClass]:
    """The classes that the question states for a topic, () where it states none.

    A question with classes for one thing alone means them for whatever it asks; else the classes'
    subject has to be among the topic's.
    """
    stated = thresholds(question)
    wanted = subjects(topic)
    for asked in stated:
        if asked.subject in wanted or asked.subject.replace("_", " ") in topic:
            return asked.classes
    if len(stated) == 1 and not stated[0].subject:
        return stated[0].classes
    return ()
