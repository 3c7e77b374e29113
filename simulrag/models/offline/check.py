"""One part of a claim that a text decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulrag.statements import Quantity
from simulrag.statements.facts import Fact

Part = Literal["number", "direction", "class", "surface", "trend", "order"]


@dataclass(frozen=True)
class Check:
    """One part of a claim that the text decides. ``fact`` is what it was compared with."""

    part: Part
    holds: bool
    reason: str
    fact: Fact | None = None
    said: str = ""
    right: str = ""
    quantity: Quantity | None = None
