"""Situations that a traffic planner meets, for question templates over a road simulator.

Each scene names arguments and outputs; it is offered only where a handbook has all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Wording = Literal["value", "percent_reduction", "percent_increase"]
Fixed = tuple[str, bool | int | float | str]


@dataclass(frozen=True)
class Vary:
    """An argument that varies, between two values in the argument's own unit."""

    argument: str
    low: float
    high: float
    wording: Wording


@dataclass(frozen=True)
class Asked:
    """An output in plain words, with the class limits in the output's unit."""

    output: str
    words: str
    classes: tuple[tuple[str, float], ...]
    better: Literal["lower", "higher", "neither"] = "lower"


@dataclass(frozen=True)
class Scene:
    """A situation with placeholders, the arguments behind it and what is asked."""

    name: str
    situation: str
    vary: tuple[Vary, ...]
    fixed: tuple[Fixed, ...]
    asks: tuple[Asked, ...]


def _travel(*limits: float) -> Asked:
    return _asked("travel_time_change_percent", "average travel time", *limits)


def _idling(*limits: float) -> Asked:
    return _asked("idling_change_percent", "average vehicle idling time", *limits)


def _co2(*limits: float) -> Asked:
    return _asked("co2_change_percent", "total CO2 emissions", *limits)


def _asked(output: str, noun: str, moderate: float, significant: float) -> Asked:
    classes = (("minor", 0.0), ("moderate", moderate), ("significant", significant))
    return Asked(output, f"the percentage change in {noun}", classes)


def _speed(low: float, high: float) -> Vary:
    return Vary("speed_factor", low, high, "percent_reduction" if high <= 1 else "percent_increase")


def _demand(low: float, high: float) -> Vary:
    wording: Wording = "percent_reduction" if high <= 1 else "percent_increase"
    return Vary("demand_factor", low, high, wording)


PRIORITY: Fixed = ("use_priority_junction", True)
ONE_LANE: Fixed = ("lanes", 1)
THREE_LANES: Fixed = ("lanes", 3)

SCENES = (
    Scene(
        "calm-zone-green-wave",
        "To calm the city centre, speed limits along the main corridor drop by {speed_factor}%. So "
        "that cars do not queue at the central signal, it is replaced by a priority junction that "
        "gives the corridor a green wave.",
        (_speed(0.5, 0.9),),
        (PRIORITY,),
        (_idling(25, 75), _co2(10, 30)),
    ),
    Scene(
        "concert-surge",
        "A stadium concert is expected to raise traffic demand on the downtown corridor by "
        "{demand_factor}% this evening. The traffic centre answers by turning the main signal into "
        "a priority junction with a green wave for the arterial.",
        (_demand(1.05, 1.3),),
        (PRIORITY,),
        (_travel(10, 25), _idling(25, 75)),
    ),
    Scene(
        "tolled-smart-corridor",
        "A corridor pilot combines two measures: tolls that vary by the hour and are expected to "
        "cut peak traffic demand by {demand_factor}%, and a priority junction with a "
        "green wave in place of the main traffic light.",
        (_demand(0.7, 0.95),),
        (PRIORITY,),
        (_idling(50, 90), _co2(10, 30)),
    ),
    Scene(
        "road-diet",
        "The arterial is rebuilt from two lanes to one in each direction so that a protected cycle "
        "track fits, and its speed limit falls by {speed_factor}% at the same time.",
        (_speed(0.6, 0.9),),
        (ONE_LANE,),
        (_travel(10, 25), _co2(5, 20)),
    ),
    Scene(
        "school-street",
        "Around two schools on the corridor the speed limit is cut by {speed_factor}%, with the "
        "lanes, the signal and the traffic volume left as they are.",
        (_speed(0.45, 0.8),),
        (),
        (_travel(15, 40), _co2(5, 15)),
    ),
    Scene(
        "detour-traffic",
        "A closed bridge sends detour traffic through the downtown corridor, where demand grows by "
        "{demand_factor}% while the road and its signal stay unchanged.",
        (_demand(1.05, 1.3),),
        (),
        (_travel(5, 15), _idling(10, 30)),
    ),
    Scene(
        "work-zone",
        "For a water main repair the arterial is narrowed from 2 lanes to 1 and the speed limit "
        "through the work zone is lowered by {speed_factor}%; announcements reduce traffic demand "
        "by {demand_factor}%.",
        (_speed(0.6, 0.9), _demand(0.8, 0.95)),
        (ONE_LANE,),
        (_travel(10, 30), _idling(10, 30)),
    ),
    Scene(
        "remote-work",
        "Employers along the corridor agree on days of remote work, which lowers traffic demand by "
        "{demand_factor}% without any change to the road.",
        (_demand(0.7, 0.95),),
        (),
        (_travel(5, 15), _co2(10, 25)),
    ),
    Scene(
        "car-light-quarter",
        "A quarter goes car-light: limits on the main road are lowered by {speed_factor}% and "
        "parking rules reduce demand by {demand_factor}%.",
        (_speed(0.6, 0.9), _demand(0.75, 0.95)),
        (),
        (_travel(10, 25), _idling(10, 30), _co2(10, 30)),
    ),
    Scene(
        "bus-lane",
        "Buses get a lane of their own, which takes the corridor from 2 lanes to 1 for cars. The "
        "main signal becomes a priority junction, and drivers who switch to the bus lower traffic "
        "demand by {demand_factor}%.",
        (_demand(0.75, 0.95),),
        (ONE_LANE, PRIORITY),
        (_travel(10, 25), _co2(15, 40)),
    ),
    Scene(
        "faster-arterial",
        "Engineers consider raising the speed limit of the arterial by {speed_factor}% outside "
        "school hours, with nothing else changed.",
        (_speed(1.05, 1.3),),
        (),
        (_travel(5, 15), _co2(2, 8)),
    ),
    Scene(
        "widened-road",
        "The corridor is widened from 2 lanes to 3 ahead of a new housing estate that raises "
        "traffic demand by {demand_factor}%.",
        (_demand(1.05, 1.3),),
        (THREE_LANES,),
        (_travel(5, 15), _co2(10, 25)),
    ),
)
