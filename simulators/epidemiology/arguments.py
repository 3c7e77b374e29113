"""What can be asked of a season, within which memory."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from simulators.base import ArgumentError, ToolModel, measured
from simulators.epidemiology.places import find_states

MEMORY_LIMIT_MIB = 512
PLACES = 51
BYTES = 8


Metric = Literal["hospital prevalence", "hospital incidence", "infections", "latent", "infectious"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Seasonality = Literal["none", "moderate", "high"]
FIRST_YEAR, LAST_YEAR = 1900, 2200
Weeks = Annotated[int, Field(ge=0, le=60)]


class ForecastArguments(ToolModel):
    """One scenario of one season."""

    states: list[str] = Field(
        description="names or postal abbreviations of 1 to 51 states of the USA (with the "
        "District of Columbia) that the forecast sums over"
    )
    start_date: str = measured(
        "YYYY-MM-DD", "first day of the season; where the question names no year, a season of 2022"
    )
    r0: float = Field(
        ge=1.2, le=4, description="basic reproduction number, in midwinter with nobody immune"
    )
    seasonality: Seasonality | Annotated[float, Field(ge=0, le=0.9)] = Field(
        description="strength of the seasonal change of transmission; 'no seasonality' is none; a "
        "number is the share by which midsummer's transmission lies below midwinter's"
    )
    prior_immunity_percent: float = measured(
        "percent", "share of the population that is immune at the start", ge=0, le=80
    )
    metric: Metric = Field(
        description="patients in hospital on a day (prevalence), new admissions a day (incidence), "
        "new infections a day, or people latent or infectious on a day"
    )
    school_closure_weeks: Weeks = measured("weeks", "length of a school closure", default=0)
    school_closure_start_week: Weeks = measured(
        "weeks", "weeks from the start date to the school closure", default=4
    )
    community_reduction_percent: float = measured(
        "percent",
        "cut of all contacts (distancing, masks) while a community reduction lasts",
        default=0,
        ge=0,
        le=90,
    )
    community_reduction_weeks: Weeks = measured(
        "weeks", "length of the community reduction", default=8
    )
    community_reduction_start_week: Weeks = measured(
        "weeks", "weeks from the start date to the community reduction", default=4
    )
    vaccination_coverage_percent: float = measured(
        "percent",
        "people reached by an additional vaccination campaign of ten weeks, over and "
        "above the usual autumn campaign",
        default=0,
        ge=0,
        le=90,
    )
    vaccination_start_week: Weeks = measured(
        "weeks", "weeks from the start date to the additional campaign", default=0
    )
    horizon_weeks: int = measured("weeks", "length of the forecast", default=45, ge=5, le=60)
    members: int | None = measured(
        "runs",
        "runs of the ensemble; none takes the simulator's setting (100 unless changed)",
        default=None,
        ge=2,
    )
    per_state: bool = Field(
        default=False, description="true adds the summary of every named state on its own"
    )
    daily: bool = Field(default=False, description="true adds the daily quantiles of the metric")
    seed: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="seed of the ensemble's randomness; none takes the seed of the run",
    )

    @field_validator("states")
    @classmethod
    def _known_states(cls, states: list[str]) -> list[str]:
        try:
            return list(find_states(states))
        except ArgumentError as error:
            raise ValueError(str(error)) from None

    @field_validator("start_date")
    @classmethod
    def _is_date(cls, text: str) -> str:
        try:
            day = date.fromisoformat(text.strip())
        except ValueError:
            raise ValueError(
                f"'{text}' is not a date; write it as YYYY-MM-DD, for example 2022-10-05"
            ) from None
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise ValueError(f"'{text}' is not between {FIRST_YEAR} and {LAST_YEAR}")
        return day.isoformat()

    @model_validator(mode="after")
    def _fits_memory(self) -> Self:
        try:
            check_memory(self.members or 1, 7 * self.horizon_weeks)
        except ArgumentError as error:
            raise ValueError(str(error)) from None
        return self


def check_memory(members: int, days: int) -> None:
    """Raise ArgumentError where daily trajectories by place would exceed the stated limit.

    Meant to be called before anything is allocated.
    """
    per_member = days * PLACES * BYTES
    limit = MEMORY_LIMIT_MIB * 2**20
    if members * per_member > limit:
        raise ArgumentError(
            f"{members} members of {days} days need {members * per_member / 2**20:.0f} MiB, more "
            f"than the limit of {MEMORY_LIMIT_MIB} MiB; at most {limit // per_member} members fit"
        )
