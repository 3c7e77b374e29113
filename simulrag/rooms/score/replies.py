"""What the test double replies to the room's tasks."""

from __future__ import annotations

import re
from typing import Any

from simulrag.method.numbers import numbers
from simulrag.models.base import Message
from simulrag.testing.traffic import part_of
from simulrag.testing.wires import numbered, section


def _marks(said: list[Message]) -> Any:
    """Held by the evidence where the claim's numbers stand in it; no place and time are stated."""
    shown = numbers(section(said, "evidence") or "")

    def marks(claim: str) -> Any:
        known = [any(one.repeats(other) for other in shown) for one in numbers(claim)]
        held = "yes" if all(known) else "no"
        return {**dict.fromkeys(("scenario", "magnitude"), held), "place": "n/a", "time": "n/a"}

    claims = numbered(part_of(said, "claims"))
    return {"claims": [{"index": i, **marks(claim)} for i, claim in enumerate(claims)]}


def _readings(said: list[Message]) -> Any:
    """A claim with a number gives it of the first output that is listed."""
    listed = re.findall(r"^ *- (\w+)", section(said, "outputs") or "", re.M)

    def reading(claim: str) -> Any:
        stated = numbers(claim) if listed else ()
        return {
            **dict.fromkeys(("against", "unit", "direction", "class_word")),
            "kind": "number" if stated else "other",
            "output": listed[0] if stated else None,
            "run": 1 if stated else None,
            "value": f"about {stated[0].written}" if stated else None,
        }

    claims = numbered(part_of(said, "claims"))
    return {"claims": [{"index": i, **reading(claim)} for i, claim in enumerate(claims)]}


def _masked(said: list[Message]) -> Any:
    return {"answer": f"[SCENARIO] {part_of(said, 'answer')}"}


def _asked_back(said: list[Message]) -> Any:
    (count,) = re.findall(r"exactly (\d+) questions", said[-1].content)[-1:]
    asked = f"What follows: {part_of(said, 'answer').replace('[SCENARIO]', 'it')}?"
    return {"questions": [f"{asked} ({number})" for number in range(int(count))]}


def _reworded(said: list[Message]) -> Any:
    """Of another situation where one is shown; the words of the question stay."""
    asked = part_of(said, "question")
    if section(said, "situation") is None:
        return {"question": f"Tell us: {asked}"}
    _, _, rest = asked.partition(". ")
    return {"question": f"{part_of(said, 'situation')} {rest}"}


REPLIES = {
    "ReadClaims": _readings,
    "DetailMarks": _marks,
    "MaskedAnswer": _masked,
    "AskedBack": _asked_back,
    "RewordedQuestion": _reworded,
}
"""By the name of the schema that is asked for."""
