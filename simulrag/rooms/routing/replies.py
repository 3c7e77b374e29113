"""What the test double replies to the room's tasks."""

from __future__ import annotations

import re
from typing import Any

from simulrag.models.base import Message
from simulrag.testing.traffic import SCHEME, part_of


def _route(said: list[Message]) -> Any:
    """The source with a tool that compares with the baseline fits; questions of ours are of it."""
    _, *parts = re.split(r"^# Source: ", part_of(said, "sources"), flags=re.M)
    inside = SCHEME.search(part_of(said, "question")) is not None
    found = []
    for part in parts:
        name, _, handbook = part.partition("\n")
        fits = inside and "compare_with_baseline" in handbook
        found.append(
            {
                "source": name.strip(),
                "fit": "partly" if fits else "not",
                "covers": "travel, idling and emissions" if fits else "",
                "tool": "compare_with_baseline" if fits else "",
            }
        )
    return {"sources": found}


def _near_misses(said: list[Message]) -> Any:
    """As many as are asked for, of no scheme; near the runs of the simulator of streets."""
    count = next(int(word) for word in said[-1].content.split() if word.isdigit())
    call = {"missing": "noise", "tool": "run_scenario"}
    lanes = {**call, "arguments": [{"argument": "lanes", "value": 4}]}
    outside = {**lanes, "argument": "lanes", "inside": 3, "question": "How long with four lanes?"}
    asked = [f"How loud is street {number} at night?" for number in range(1, count)]
    near = {**call, "arguments": [], "nearest": "travel_time_s"}
    return {
        "out_of_range": [outside] if count else [],
        "not_returned": [{**near, "question": one} for one in asked],
    }


REPLIES = {"RouteReply": _route, "NearMisses": _near_misses}
"""By the name of the schema that is asked for."""
