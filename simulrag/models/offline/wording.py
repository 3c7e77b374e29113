"""Phrases of the offline model's answers. A choice among them never changes what is claimed."""

from __future__ import annotations

import random
from collections.abc import Sequence

UP = ("rise", "increase", "grow", "climb")
DOWN = ("fall", "decrease", "drop", "decline")

CHANGE = (
    "{Noun} would {verb} by about {number}.",
    "I expect {noun} to {verb} by roughly {number}.",
    "{Noun} is likely to {verb} by {number}.",
    "My estimate is that {noun} would {verb} by around {number}.",
)
DIRECTION = (
    "{Noun} would {verb}.",
    "I expect {noun} to {verb}.",
    "{Noun} should {verb} under these conditions.",
)
STEADY = ("{Noun} would stay about the same.", "I expect {noun} to remain nearly unchanged.")
LEVEL = (
    "{Noun} would be about {number}.",
    "I would put {noun} at roughly {number}.",
    "{Noun} should be close to {number}.",
)
CLASS = (
    "The change in {noun} would count as {name}.",
    "By the stated thresholds the change in {noun} is {name}.",
    "I would call the change in {noun} {name}.",
)
LEVEL_CLASS = (
    "{Noun} would count as {name}.",
    "By the stated thresholds {noun} is {name}.",
    "I would call {noun} {name}.",
)
WORD = ("{Noun} would be {name}.", "I expect {noun} to be {name}.")
TREND = (
    "{Noun} would show a {trend} trend.",
    "I expect {noun} to follow a {trend} trend.",
)
TRAFFIC_JUDGEMENT = {
    "better": (
        "Overall the measures improve both traffic flow and the environment.",
        "On balance the strategy is effective for mobility and for sustainability.",
        "Overall the intervention delivers benefits for traffic and for air quality.",
    ),
    "mixed": (
        "Overall the strategy is a trade-off between traffic flow and the environment.",
        "On balance the outcome is mixed, with one goal gained at the cost of another.",
        "Overall the measures balance mobility against sustainability only in part.",
    ),
    "worse": (
        "Overall the measures make the situation worse.",
        "On balance the intervention misses both its traffic and its environmental goals.",
    ),
}
EPIDEMIC_JUDGEMENT = {
    "severe": (
        "Overall the season would place a severe burden on hospitals.",
        "Overall this points to a severe and demanding season.",
    ),
    "moderate": (
        "Overall the season would be moderate and manageable for hospitals.",
        "Overall this points to a moderate season with a noticeable wave.",
    ),
    "mild": (
        "Overall the season would be mild, with a low burden on hospitals.",
        "Overall prior immunity keeps the outbreak small and the season mild.",
    ),
}
REMARKS = {
    "traffic": (
        "Public acceptance will depend on how the change is explained to residents.",
        "Pedestrian safety should benefit as well.",
        "Shops along the corridor may see different footfall.",
        "Drivers may resent the measure at first.",
    ),
    "climate": (
        "Farmers in the region may need to adapt their crops.",
        "Local vegetation and water use could shift the outcome further.",
        "Public health services should watch heat stress.",
    ),
    "epidemic": (
        "Vaccination campaigns could still change this course.",
        "Hospital staffing may become a concern.",
        "Public awareness will influence behaviour.",
    ),
    "other": (
        "Costs and public opinion will matter for the decision.",
        "Local circumstances may shift the outcome.",
    ),
}


def capitalised(text: str) -> str:
    """The text with a capital first letter, the rest untouched."""
    return text[:1].upper() + text[1:]


def phrase(options: Sequence[str], source: random.Random, **values: str) -> str:
    """One of the options, filled; ``noun`` also fills ``{Noun}``."""
    noun = values.get("noun", "")
    return source.choice(options).format(Noun=capitalised(noun), **values)


def verb(value: float, source: random.Random) -> str:
    """A verb for the sign of a change."""
    return source.choice(UP if value > 0 else DOWN)
