"""What a text speaks of: measured quantities and inputs, by a table of their usual names."""

from __future__ import annotations

import re
from functools import lru_cache

# (subject, pattern). Inputs of the simulators are subjects too, so that a set-up is known as one.
_NAMES: tuple[tuple[str, str], ...] = (
    (
        "travel_time",
        r"travel[\s_-]?times?|journey times?|trip (?:times?|durations?)|journey durations?"
        r"|commut(?:e|ing) times?|travel durations?|transit times?|commutes|journeys|trips|trip",
    ),
    (
        "idling",
        r"idling|idle(?:[\s-]time)?|idles|waiting(?: times?)?|wait times?|waits?|stop[- ]times?"
        r"|stop-and-go"
        r"|time (?:\w+ )?(?:stopped|standing still|waiting|stationary)|standstill times?",
    ),
    ("co2_per_vehicle", r"co2_per_vehicle|(?:CO2|CO₂|carbon)[^.;]{0,30}per (?:vehicle|car)"),
    ("co2", r"CO2|CO₂|(?<!black )carbon(?: dioxide)?(?! monoxide| black)"),
    ("nox", r"NOx|NOₓ|nitrogen oxides?"),
    ("fuel", r"fuel|petrol|gasoline"),
    ("distance", r"distances?|route length"),
    (
        "vehicles",
        r"(?:total|number of|how many) vehicles|vehicle counts?|vehicles served|vehicles(?=: )",
    ),
    ("simulation_steps", r"simulation[\s_]steps"),
    (
        "land_or_sea",
        r"on (?:the )?(?:land|sea)|at sea|land-based|landlocked|inland|coastal|maritime",
    ),
    (
        "temperature_change",
        r"temperature[\s_](?:change|difference|shift|increase|decrease|rise|drop|fall|gap|anomaly)s?"
        r"|(?:change|difference|shift|increase|decrease|rise|drop|gap)s? (?:in|of) (?:\w+ ){0,4}"
        r"temperatures?|(?:warming|cooling)(?: trend| effect| influence| signal)?|warms|cools"
        r"|warmed|cooled|warmer|cooler|(?:total|overall|projected|net|local|exact) (?:\w+ ){0,2}"
        r"(?:change|shift|difference)",
    ),
    ("temperature", r"temperatures?|\d°C|warmth"),
    (
        "four_week_growth",
        r"(?:four|4)[\s_-]weeks?|(?:initial|early) growth|growth[\s_]percentage|first month"
        r"|(?:growth|decline) rate",
    ),
    (
        "trend",
        r"(?:initial|early|starting|opening|qualitative)[\s_](?:\w+ )?(?:trend|trajectory|phase"
        r"|speed|direction|stage|momentum|dynamics?|decline|surge|rise)"
        r"|(?:declining|(?:rapid|slow) growth|growing|downward|upward) (?:trend|trajectory|phase)"
        r"|rapid growth|slow growth|(?:begin|start|commence|open)s? with"
        r"|trend(?:s|ing)? (?:up|down)\w*",
    ),
    (
        "cumulative",
        r"cumulative|total[\s_]burden"
        r"|(?:total|overall) (?:number of )?(?:cases|hospitali[sz]ations)"
        r"|whole[- ]season (?:burden|total)|over the (?:whole |entire )?season",
    ),
    (
        "interval",
        r"confidence intervals?|credible intervals?|uncertainty (?:range|interval)s?|90[\s_]?%?"
        r"(?: percent)?[\s_](?:ci|confidence|interval)|percentiles?",
    ),
    (
        "peak_timing",
        r"peak(?:[\s_](?:timing|date|time|week|day))|timing of (?:the|its) peak"
        r"|when (?:it|the \w+) peaks?"
        r"|peak[^.;]{0,60}?(?:\bweeks?\b|\bweek \d|20\d\d-\d\d|\b(?:occur|arriv|expected around"
        r"|anticipated around|early|late)\w*)|peaks? (?:\w+ ){0,3}(?:on|around|in|at about) (?:week"
        r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))",
    ),
    (
        "peak_magnitude",
        r"tops? out|crests?|culminat\w+"
        r"|peak(?:s|ed|ing)?(?!s?[\s_-](?:timing|date|time|week|hour))|maximum (?:cases|prevalence"
        r"|incidence)|(?:highest|top) (?:\w+ )?(?:level|point|value)",
    ),
    ("speed_limit", r"speed[\s-]?limits?|low-speed|speeds?"),
    (
        "demand",
        r"traffic (?:demand|volumes?)|demand|traffic(?! (?:flow|effic|light|signal|man|sys))",
    ),
    ("lanes", r"lanes?|road diet"),
    ("priority", r"green wave|priority (?:junction|system)|signal priorit\w+"),
    ("ch4", r"CH4|CH₄|methane"),
    ("so2", r"SO2|SO₂|sul(?:ph|f)ur dioxide|sulfates?"),
    ("bc", r"black carbon|\bBC\b|soot"),
    ("r0", r"R0|R₀|R-naught|reproduct\w+ number"),
    ("immunity", r"immun\w+"),
    ("seasonality", r"seasonality|seasonal (?:forcing|influence)"),
)
_SUBJECT_PATTERNS = tuple((name, re.compile(rf"(?<!\w)(?:{p})(?!\w)", re.I)) for name, p in _NAMES)


# A subject inside the words of a more exact one is not meant ("temperature" of "temperature
# change").
_PART_OF = {
    "temperature_change": "temperature",
    "co2_per_vehicle": "co2",
    "trend": "four_week_growth",
}


# Inputs of the simulators: what a scenario sets, never what a class or a result is about.
INPUTS = frozenset(
    {"speed_limit", "demand", "lanes", "priority"}
    | {"ch4", "so2", "bc"}
    | {"r0", "immunity", "seasonality"}
)


def subjects(text: str) -> frozenset[str]:
    """What a text speaks of, by table (travel_time, idling, co2, temperature_change, ...)."""
    return frozenset(name for name, _, _ in subject_spans(text))


def subject_spans(text: str) -> list[tuple[str, int, int]]:
    """The subjects of a text with where they stand, in order of appearance."""
    return list(_spans(text))


@lru_cache(maxsize=4096)
def _spans(text: str) -> tuple[tuple[str, int, int], ...]:
    spans = [
        (name, match.start(), match.end())
        for name, pattern in _SUBJECT_PATTERNS
        for match in pattern.finditer(text)
    ]
    kept = [
        span
        for span in spans
        if not any(
            span[0] == _PART_OF.get(other[0]) and other[1] <= span[1] and span[2] <= other[2]
            for other in spans
        )
    ]
    return tuple(sorted(kept, key=lambda item: (item[1], -item[2])))
