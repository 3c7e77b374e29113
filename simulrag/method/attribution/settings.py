"""What a user may turn about attribution: the section ``attribution`` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from simulrag.method.attribution.found import Estimator
from simulrag.method.attribution.game import PERMUTATIONS
from simulrag.method.attribution.sources import THRESHOLD

Kind = Literal["verdicts", "stated"]
"""Where chances come from, see ``chances.py``."""


class AttributionSettings(BaseModel):
    """How evidence is held to account."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    estimator: Estimator = Field(
        default="by_source",
        description="by_source (the two sources) or, beside it, of each item: leave_one_out, "
        "alone, shapley; rerun: of each simulator run, by running it with its tool's defaults; "
        "cil: of dated passages, for questions with a day and an outcome",
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
