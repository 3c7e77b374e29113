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

    domains: list[str] = Field(default=[], description="domains to measure; []: none")
    questions: int | None = Field(
        default=None, ge=1, description="questions of each domain, the first ones; null: all"
    )
    planted: int = Field(
        default=0,
        ge=0,
        description="questions of a domain whose evidence is mixed with that of four "
        "others, to see whether it gets the share",
    )
    claims_per_call: int = Field(default=40, ge=1, le=200, description="claims in one call")
    estimator: Estimator = Field(
        default="by_source",
        description="by_source: the two sources; leave_one_out, shapley: each item of "
        "evidence as well",
    )
    chances: Kind = Field(
        default="verdicts",
        description="a claim's probability: by verdicts (1, 0, 0.5), or stated by the model",
    )
    repeats: int = Field(default=2, ge=1, le=20, description="stated probabilities to average")
    threshold: float = Field(
        default=THRESHOLD, gt=0, le=1, description="a source supports a claim from this share on"
    )
    permutations: int = Field(
        default=PERMUTATIONS,
        ge=2,
        le=100_000,
        description="permutations that shapley draws for more than six items",
    )
    seed: int = Field(default=7, ge=0, description="seed of shapley's permutations")
