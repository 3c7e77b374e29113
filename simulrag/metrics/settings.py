"""The parameters of the metrics."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulrag.records import CENTRALITIES

Undecided = Literal["excluded", "false"]
TREATMENTS: tuple[Undecided, ...] = ("excluded", "false")
"""What may be done with claims that the judge left undecided; every table holds both."""


class MetricSettings(BaseModel):
    """What is computed. Every table holds both treatments of undecided claims."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    budgets_percent: tuple[int, ...] = Field(
        default=(15, 25, 45),
        min_length=1,
        description="verification budgets, in percent of all claims of a domain",
    )
    centrality: str = Field(
        default="closeness", description="centrality that selects and ranks claims"
    )
    further_centralities: tuple[str, ...] = Field(
        default=(), description="further centralities to compare"
    )
    bootstrap: int = Field(
        default=1000, ge=100, le=100_000, description="resamples of scenarios for the intervals"
    )
    selection_seeds: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="draws over which a selection within a budget is averaged: of claims "
        "for Random, of ties for the others",
    )
    seed: int = Field(
        default=20262, ge=0, description="seed of the resamples and of ties in selection"
    )
    undecided: Undecided = Field(
        default="excluded",
        description="undecided claims in summary and figures: excluded, or counted as false",
    )
    all_selected_one: bool = Field(
        default=False,
        description="confidence 1 for every selected claim (Algorithm 1, line 18, as printed)",
    )

    @field_validator("budgets_percent")
    @classmethod
    def _possible(cls, budgets: tuple[int, ...]) -> tuple[int, ...]:
        for budget in budgets:
            if not 1 <= budget <= 99:
                raise ValueError(
                    f"{budget} is not a budget: give whole percentages from 1 to 99 "
                    "(0 and 100 are always shown, as no-RAG and all-RAG)"
                )
        if len(set(budgets)) != len(budgets):
            raise ValueError(f"budgets {list(budgets)} name one twice")
        return tuple(sorted(budgets))

    @field_validator("centrality", "further_centralities")
    @classmethod
    def _known(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for name in (value,) if isinstance(value, str) else value:
            if name not in CENTRALITIES:
                raise ValueError(f"'{name}' is not a centrality; known: {', '.join(CENTRALITIES)}")
        return value

    @property
    def centralities(self) -> tuple[str, ...]:
        """All centralities to compute, the leading one first."""
        return tuple(dict.fromkeys((self.centrality, *self.further_centralities)))

    @property
    def headline_budget(self) -> int:
        """The budget that a single sentence speaks of: the middle one."""
        return self.budgets_percent[len(self.budgets_percent) // 2]
