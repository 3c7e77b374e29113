"""The section ``operations.refresh``: when new questions are drawn, and what such a run may do."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

Missed = Literal["latest", "all", "skip"]


class RefreshBudget(BaseModel):
    """What one refresh may cost, whatever was spent before its day."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    usd: float | None = Field(default=None, ge=0, description="most money in US dollars")
    tokens: int | None = Field(default=None, ge=0, description="most tokens, both ways together")


class RefreshParams(BaseModel):
    """Scheduled refreshes; see docs/schedule.md."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    cron: str = Field(default="0 3 * * 1", description="when a period begins, as five cron fields")
    timezone: str = Field(default="UTC", description="the time zone of cron, by its IANA name")
    missed: Missed = Field(
        default="latest",
        description="periods that nobody was there for: make up the latest, all, or skip them",
    )
    branch: str = Field(
        default="refresh", pattern=r"^[\w./-]+$", description="git branch of the results"
    )
    alpha: float = Field(
        default=0.05, gt=0, lt=1, description="a drop counts below this p, Holm-adjusted"
    )
    budget: RefreshBudget = Field(
        default=RefreshBudget(),
        description="limits of one refresh in place of operations.budget, counted from its day",
    )

    @field_validator("cron")
    @classmethod
    def _five_fields(cls, value: str) -> str:
        if len(value.split()) != 5:
            raise ValueError("cron has five fields: minute, hour, day, month, weekday")
        return value
