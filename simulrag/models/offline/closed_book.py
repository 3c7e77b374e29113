"""Closed-book answers: a stated prior, a belief a question, and a little noise a sample.

A belief is drawn with the question's text as its seed, so all samples of a question share it, as
the samples of one model share what it believes; the noise is the sample's own. A question that the
prior is sure of has a small belief error and little noise at once, which is why agreement between
samples says something about truth without settling it.
"""

from __future__ import annotations

import hashlib
import math
import random as random_module
from dataclasses import dataclass
from random import Random

from simulrag.models.offline.asking import points
from simulrag.models.offline.points import Point
from simulrag.models.offline.situations import field_of
from simulrag.models.offline.wording import (
    CHANGE,
    CLASS,
    DIRECTION,
    EPIDEMIC_JUDGEMENT,
    LEVEL,
    LEVEL_CLASS,
    REMARKS,
    STEADY,
    TRAFFIC_JUDGEMENT,
    TREND,
    WORD,
    phrase,
    verb,
)
from simulrag.statements import class_of

NOISE = 0.35
"""Noise of one sample, as a share of the belief's own spread."""


@dataclass(frozen=True)
class Draw:
    """What one sample states for one point: the number as written and its value."""

    point: Point
    value: float
    shown: str


def closed_book(question: str, random: Random) -> str:
    """One sample of an answer: three to eight sentences. Deterministic in both arguments."""
    field = field_of(question)
    asked = points(question, field)
    noise = {topic: random.gauss(0, 1) for topic in dict.fromkeys(point.topic for point in asked)}
    draws = [_draw(question, point, noise[point.topic]) for point in asked]
    lines = [line for draw in draws for line in _sentences(draw, random)]
    lines += _judgement(field, draws, random)
    if random.random() < 0.3:
        lines.append(random.choice(REMARKS.get(field, REMARKS["other"])))
    return " ".join(dict.fromkeys(lines))


def _belief(question: str, point: Point) -> Random:
    key = f"{' '.join(question.split())}\n{point.topic}"
    return random_module.Random(hashlib.sha256(key.encode()).hexdigest())  # noqa: S311 no secret


def _draw(question: str, point: Point, noise: float) -> Draw:
    """The stated number: belief error and noise both scaled by how unsure the question leaves one.

    A guess is stated on a coarse grid, as people do; the grid is the question's, not the sample's.
    """
    belief = _belief(question, point)
    unsure = belief.uniform(0.05, 1.25)
    grid = belief.choice(point.grids)
    deviation = unsure * (belief.gauss(0, 1) + NOISE * noise)
    value = point.expectation.at(deviation)
    if point.low is not None:
        value = max(value, point.low)
    if point.high is not None:
        value = min(value, point.high)
    step = grid
    # A ratio is stated to one or two digits; a decline in percent ends at 100.
    if point.expectation.scale == "ratio" and abs(value) >= 10:
        digits = 1 if grid > min(point.grids) else 2
        step = max(min(point.grids), 10 ** (math.floor(math.log10(abs(value))) + 1 - digits))
    if point.expectation.offset and value < 0:
        step = 5.0
    rounded = round(round(value / step) * step, 6)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    magnitude = abs(rounded) if point.kind in ("change", "size") else rounded
    return Draw(point, rounded, f"{magnitude:.{decimals}f}{point.unit}")


def _sentences(draw: Draw, random: Random) -> list[str]:
    point, lines = draw.point, []
    name: str | None
    if point.kind == "which":
        name = point.names[0] if draw.value > 0 else point.names[1]
        lines.append(f"{name} would be the warmer of the two.")
    elif point.kind == "trend":
        if draw.value == 0:
            return []
        trend = point.names[0] if draw.value > 0 else point.names[1]
        lines.append(phrase(TREND, random, noun=point.noun, trend=trend))
    elif point.kind == "word":
        name = class_of(draw.value, point.classes)
        lines += [phrase(WORD, random, noun=point.noun, name=name)] if name else []
    elif point.kind == "order":
        lines.append(point.names[0] if draw.value > 0 else point.names[1])
    elif point.kind == "fact":
        lines.append(point.names[0])
    elif point.kind in ("level", "size"):
        lines.append(phrase(LEVEL, random, noun=point.noun, number=draw.shown))
        lines += _class(draw, LEVEL_CLASS, random)
    elif draw.value == 0:
        lines.append(phrase(STEADY, random, noun=point.noun))
        lines += _class(draw, CLASS, random)
    else:
        if random.random() < 0.6:
            lines.append(phrase(DIRECTION, random, noun=point.noun, verb=verb(draw.value, random)))
        moved = verb(draw.value, random)
        lines.append(phrase(CHANGE, random, noun=point.noun, verb=moved, number=draw.shown))
        lines += _class(draw, CLASS, random)
    return lines


def _class(draw: Draw, options: tuple[str, ...], random: Random) -> list[str]:
    if not draw.point.classes:
        return []
    name = class_of(abs(draw.value), draw.point.classes)
    return [phrase(options, random, noun=draw.point.noun, name=name)] if name else []


def _judgement(field: str, draws: list[Draw], random: Random) -> list[str]:
    by_topic = {draw.point.topic: draw.value for draw in draws}
    if field == "traffic":
        better = [
            by_topic[topic] < 0 for topic in ("travel_time", "idling", "co2") if topic in by_topic
        ]
        if not better:
            return []
        key = "better" if all(better) else "mixed" if any(better) else "worse"
        return [random.choice(TRAFFIC_JUDGEMENT[key])]
    if field == "epidemic" and "growth" in by_topic:
        growth = by_topic["growth"]
        key = "severe" if growth > 400 else "moderate" if growth > 0 else "mild"
        return [random.choice(EPIDEMIC_JUDGEMENT[key])]
    return []
