"""The points that an answer has to make: what is asked, with the prior's expectation of each."""

from __future__ import annotations

import re

from simulrag.models.offline import priors
from simulrag.models.offline.asking_cases import two_places, two_seasons
from simulrag.models.offline.asking_other import other_points
from simulrag.models.offline.asking_season import season
from simulrag.models.offline.points import DEGREE_GRIDS, Point, classes_for
from simulrag.models.offline.priors import Expectation
from simulrag.models.offline.situations import (
    Field,
    asked_part,
    read_climate,
    read_traffic,
)

CERTAIN = Expectation(1.0, 0.0)


def points(question: str, kind: Field) -> list[Point]:
    """The points in the order in which the question asks for them."""
    if kind == "traffic":
        return _traffic(question)
    if kind == "climate":
        return two_places(question) or _climate(question)
    if kind == "epidemic":
        return two_seasons(question) or season(question)
    return other_points(question)


_TRAFFIC_TOPICS = (
    ("travel_time", r"travel times?|journey times?|trip times?", "average travel time", None),
    ("idling", r"idling|idle|waiting time|stopped time", "average idling time", -100.0),
    ("co2", r"co2|carbon", "total CO2 emissions", -100.0),
    ("fuel", r"fuel", "total fuel consumption", -100.0),
    ("nox", r"nox|nitrogen", "total NOx emissions", -100.0),
)


def _traffic(question: str) -> list[Point]:
    asked = asked_part(question)
    expected = priors.traffic(read_traffic(question))
    found: list[tuple[int, Point]] = []
    for topic, words, noun, low in _TRAFFIC_TOPICS:
        match = re.search(words, asked, re.IGNORECASE)
        if match:
            classes = classes_for(question, noun)
            point = Point(topic, noun, expected[topic], classes=classes, low=low)
            found.append((match.start(), point))
    if not found:
        return [Point(t, noun, expected[t], low=low) for t, _, noun, low in _TRAFFIC_TOPICS[:3]]
    return [point for _, point in sorted(found, key=lambda item: item[0])]


def _climate(question: str) -> list[Point]:
    text = question.lower()
    setting = read_climate(question)
    expected = priors.climate(setting)
    gases = re.search(r"co2|ch4|greenhouse", text) is not None
    aerosols = re.search(r"so2|black carbon|aerosol|sulfur", text) is not None
    historic = re.search(
        r"(?:histor|average temperature (?:in|for|recorded)|temperature (?:was|recorded|record))",
        text,
    ) and any(1950 <= int(year) < 2020 for year in re.findall(r"\b(\d{4})\b", text))
    found: list[Point] = []
    if historic:
        noun = f"the historical average temperature in {setting.past_year}"
        found.append(_temperature("past", noun, expected["past"]))
    if gases and aerosols:
        return found + _climate_comparison(question, expected)
    if re.search(r"baseline (?:predicted |projected |local )?(?:average )?temperature", text):
        found.append(_temperature("baseline", "the baseline temperature", expected["baseline"]))
    level = "aerosol_level" if aerosols else "projected"
    if re.search(
        r"what (?:is|would be|will be) (?:the|its) (?:new |resulting |predicted |projected |local "
        r"|average |simulated |expected )*temperature(?! (?:change|diff))"
        r"|resulting local (?:average )?temperature\?",
        text,
    ) and not any(point.topic == "baseline" for point in found):
        found.append(_temperature(level, "the projected temperature", expected[level]))
    if re.search(r"change|difference|trend|warming|cooling|compare", text):
        topic = "aerosol_change" if aerosols and not historic else "change"
        if not historic and not aerosols:
            topic = "gas_change"
        expectation = expected[topic]
        found += [
            Point(
                topic,
                "the local temperature",
                expectation,
                unit="°C",
                grids=DEGREE_GRIDS,
                classes=classes_for(question, "temperature change"),
            ),
            Point(
                topic,
                "the local temperature",
                expectation,
                "trend",
                grids=DEGREE_GRIDS,
                names=("warming", "cooling"),
            ),
        ]
    if re.search(r"land or (?:sea|ocean)|on land|geograph", text):
        found.append(Point("place", "", CERTAIN, "fact", names=("The location is on land.",)))
    return found or [_temperature(level, "the projected temperature", expected[level])]


def _climate_comparison(question: str, expected: dict[str, Expectation]) -> list[Point]:
    text = question.lower()
    found: list[Point] = []
    if re.search(
        r"(?:predicted|resulting|projected|local|average) (?:local |average )*temperature if|"
        r"what would (?:be )?the (?:\w+ )*temperature",
        text,
    ):
        noun = "the temperature in the greenhouse gas scenario"
        found.append(_temperature("projected", noun, expected["projected"]))
    noun = "the temperature difference between the two scenarios"
    found.append(
        Point(
            "difference",
            noun,
            expected["difference"],
            "level",
            "°C",
            DEGREE_GRIDS,
            classes=classes_for(question, "temperature difference"),
        )
    )
    if re.search(r"which|warm|cool|higher|lower", text):
        names = ("The greenhouse gas scenario", "The aerosol scenario")
        found.append(
            Point(
                "difference", "", expected["difference"], "which", names=names, grids=DEGREE_GRIDS
            )
        )
    return found


def _temperature(topic: str, noun: str, expectation: Expectation) -> Point:
    return Point(topic, noun, expectation, "level", "°C", (0.5, 1.0, 1.0))
