"""The section ``attribution`` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from flows.sections import RoomSection
from rooms.attribution.game import PERMUTATIONS, THRESHOLD

Estimator = Literal["by_source", "leave_one_out", "shapley"]
Kind = Literal["verdicts", "stated"]
"""Where chances come from, see ``chances.py``."""


class AttributionParams(RoomSection):
    """Which evidence supports each claim."""

    domains: list[str] = Field(
        default=[], description="domains whose claims are held against their evidence; []: none"
    )
    questions: int | None = Field(
        default=None, ge=1, description="the first ones of each domain; null: all"
    )
    planted: int = Field(
        default=0,
        ge=0,
        description="questions of a domain whose evidence is hidden among that of four others, to "
        "see whether the share falls to it",
    )
    claims_per_call: int = Field(default=40, ge=1, le=200, description="claims in one call")
    estimator: Estimator = Field(
        default="by_source",
        description="by_source (the two sources) or, beside it, of each item: leave_one_out, "
        "shapley",
    )
    chances: Kind = Field(
        default="verdicts",
        description="a claim's chance by verdicts (1, 0, 0.5) or stated by the model",
    )
    repeats: int = Field(default=2, ge=1, le=20, description="stated chances to average")
    threshold: float = Field(
        default=THRESHOLD, gt=0, le=1, description="share from which a source supports a claim"
    )
    permutations: int = Field(
        default=PERMUTATIONS, ge=2, le=100_000, description="draws of shapley beyond six items"
    )
    seed: int = Field(default=7, ge=0, description="seed of shapley's permutations")
