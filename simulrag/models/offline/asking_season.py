"""What to say of one influenza season: its opening, its peak in size and time, its burden."""

from __future__ import annotations

import math
import re

from simulrag.models.offline import priors
from simulrag.models.offline.points import CASE_GRIDS, Point, classes_for
from simulrag.models.offline.priors import Expectation
from simulrag.models.offline.situations import read_influenza
from simulrag.statements import MagnitudeClass

GROWTH_GRIDS = (25.0, 50.0, 100.0)
WEEK_GRIDS = (1.0, 2.0, 2.0)
TIMINGS = (
    MagnitudeClass("early", -math.inf, 6.0),
    MagnitudeClass("mid-season", 6.0, 12.0),
    MagnitudeClass("late", 12.0, math.inf),
)
TRENDS = (
    MagnitudeClass("declining", -math.inf, -5.0, high_inclusive=False),
    MagnitudeClass("stable", -5.0, 5.0),
    MagnitudeClass("slow growth", 5.0, 50.0),
    MagnitudeClass("rapid growth", 50.0, math.inf),
)


def season(question: str) -> list[Point]:
    """The points of an outlook; classes that the question states replace the usual words."""
    setting = read_influenza(question)
    expected = priors.influenza(setting)
    metric = f"hospital {setting.metric}"
    found = _opening(question, metric, expected["growth"])
    found += _peak(question, metric, expected["peak"], setting.states)
    found += _timing(question, expected["weeks"])
    if re.search(r"burden|cumulative", question, re.IGNORECASE):
        noun = f"cumulative {metric} over the season"
        grids = CASE_GRIDS
        found.append(Point("burden", noun, expected["burden"], "level", " cases", grids, low=1.0))
    return found


def _opening(question: str, metric: str, growth: Expectation) -> list[Point]:
    named = all(item.name in question for item in TRENDS)
    noun = f"the initial trend of {metric}" if named else f"initial {metric}"
    trend = Point(
        "growth",
        noun,
        growth,
        "word" if named else "trend",
        "",
        GROWTH_GRIDS,
        names=("growing", "declining"),
        classes=TRENDS if named else (),
        low=-95.0,
    )
    over = f"{metric} over the first four weeks"
    return [trend, Point("growth", over, growth, grids=GROWTH_GRIDS, low=-95.0)]


def _peak(question: str, metric: str, peak: Expectation, states: int) -> list[Point]:
    noun = f"the median peak of {metric}"
    stated = classes_for(question, noun)
    level = Point("peak", noun, peak, "level", " cases", CASE_GRIDS, classes=stated, low=1.0)
    if stated:
        return [level]
    usual = _severities(states)
    word = f"the peak of {metric}"
    return [level, Point("peak", word, peak, "word", "", CASE_GRIDS, classes=usual, low=1.0)]


def _timing(question: str, weeks: Expectation) -> list[Point]:
    stated = classes_for(question, "the peak time")
    noun = "the peak time" if stated else "the time from the season's start to the peak"
    level = Point("weeks", noun, weeks, "level", " weeks", WEEK_GRIDS, classes=stated, low=0.0)
    if stated:
        return [level]
    word = "the timing of the peak"
    return [level, Point("weeks", word, weeks, "word", "", WEEK_GRIDS, classes=TIMINGS, low=0.0)]


def _severities(states: int) -> tuple[MagnitudeClass, ...]:
    """Low, moderate and high peaks, in cases: a few and a few dozen hospitals' worth a state."""
    return (
        MagnitudeClass("low", -math.inf, 40.0 * states),
        MagnitudeClass("moderate", 40.0 * states, 250.0 * states),
        MagnitudeClass("high", 250.0 * states, math.inf),
    )
