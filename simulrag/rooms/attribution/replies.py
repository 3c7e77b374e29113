"""What the test double replies to the room's tasks."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from simulrag.models.base import Message
from simulrag.testing.traffic import part_of


def _reasoned(said: list[Message]) -> Any:
    reasons = [f"A reason ({strength} of 10)." for strength in (2, 5, 8)]
    return {"reasons_no": reasons, "reasons_yes": reasons, **_stated(said)}


def _joint(said: list[Message]) -> Any:
    return {"thoughts": "They may follow from one another.", **_stated(said)}


def _relevance(said: list[Message]) -> Any:
    return {
        "thoughts": "As its text falls.",
        "rating": crc32(part_of(said, "article").encode()) % 6 + 1,
    }


def _stated(said: list[Message]) -> Any:
    return {"probability": crc32(said[-1].content.encode()) % 101 / 100}


REPLIES = {"ReasonedChance": _reasoned, "JointChance": _joint, "Relevance": _relevance}
"""By the name of the schema that is asked for."""
