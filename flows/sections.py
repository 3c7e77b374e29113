"""The sections of params.yaml: what each parameter means, and what it may be.

``operations`` (concurrency, cache folder, mode, Prefect) changes no result and is named by no
stage of dvc.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.questions.records import Kind

if TYPE_CHECKING:
    from simulrag.calls import CachePlace


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)]
"""Of a domain or a source: it becomes a file's name, and a word of a command in dvc.yaml."""


class ParamsSection(BaseModel):
    """Base of the sections: closed, immutable, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class RoomSection(ParamsSection):
    """Base of the sections that rooms bring: of ``domains``, those that it runs over."""

    @property
    def own_items(self) -> Collection[str]:
        """What the room's stages may run over that is no domain."""
        return ()

    def misfit(self, domains: Sequence[str]) -> str | None:
        """Say what does not fit the domains that run."""
        others = [name for name in getattr(self, "domains", ()) if name not in domains]
        if not others:
            return None
        are, them = ("is", "it") if len(others) == 1 else ("are", "them")
        return (
            f"domains: {', '.join(map(repr, others))} {are} not among the domains that run: "
            f"{', '.join(domains)}; take {them} out there too, or run {them}"
        )


class SimulatorChoice(ParamsSection):
    """Which simulator answers a domain, and its settings."""

    name: str = Field(
        description="a simulator registered under the entry point simulrag.simulators"
    )
    settings: dict[str, JsonValue] = Field(
        default={}, description="keyword settings of that simulator"
    )
    seed: int = Field(
        default=0,
        ge=0,
        description="seed of every run, so that a question's evidence is its reference's",
    )
    benchmark_model: ModelSettings | None = Field(
        default=None,
        description="model that writes this domain's questions, in place of llm.benchmark",
    )
    templates_file: str | None = Field(
        default=None,
        description="YAML of question templates by hand, in place of a model's",
    )
    benchmark: dict[str, JsonValue] = Field(
        default={}, description="what this domain has otherwise than the section benchmark says"
    )
    answer: dict[str, JsonValue] = Field(
        default={}, description="what this domain has otherwise than the section answer says"
    )


class BenchmarkParams(ParamsSection):
    """Benchmark generation."""

    questions: int = Field(ge=1, le=100_000, description="questions to generate for each domain")
    templates: int = Field(ge=1, le=200, description="question templates to ask the model for")
    seed: int = Field(ge=0, description="seed of scenario sampling")
    kind: Kind = Field(
        default="open",
        description="open: about the outputs of given runs; search: about the one setting that up "
        "to 40 runs find",
    )
    set_up: bool = Field(
        default=True,
        description="questions state their set-up and may ask beyond the simulator's reach",
    )


class LabelParams(ParamsSection):
    """Claim labelling."""

    tolerance: Literal["rounding"] | float = Field(
        description="'rounding' (the claim's own), or a tolerance in percent of the reference"
    )
    claims_per_call: int = Field(
        default=20,
        ge=1,
        le=200,
        description="claims of one question in one labelling call; 1: each",
    )

    @model_validator(mode="after")
    def _positive(self) -> LabelParams:
        if not isinstance(self.tolerance, str) and not 0 <= self.tolerance <= 100:
            raise ValueError("tolerance is 'rounding' or a percentage from 0 to 100")
        return self


class LlmParams(ParamsSection):
    """The models by role. A new judge must not regenerate the benchmark, so they are apart."""

    benchmark: ModelSettings = Field(description="writes templates, questions and references")
    answer: ModelSettings = Field(description="answers, decomposes, verifies, synthesises")
    judge: ModelSettings = Field(description="labels claims by the reference")


class ClusterParams(ParamsSection):
    """Where chunks go with ``operations.runner: dask``."""

    workers: int = Field(
        default=2, ge=1, le=1024, description="worker processes on this machine, without an address"
    )
    address: str | None = Field(
        default=None, description="a Dask scheduler that runs, as tcp://host:8786"
    )


class RefreshBudget(ParamsSection):
    """What one refresh may cost, whatever was spent before its day."""

    usd: float | None = Field(default=None, ge=0, description="most money in US dollars")
    tokens: int | None = Field(default=None, ge=0, description="most tokens, both ways together")


class RefreshParams(ParamsSection):
    """Scheduled refreshes; see docs/schedule.md."""

    cron: str = Field(default="0 3 * * 1", description="when a period begins, as five cron fields")
    timezone: str = Field(default="UTC", description="the time zone of cron, by its IANA name")
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


class Operations(ParamsSection):
    """How the work is run. Nothing here changes a result."""

    cache: str = Field(
        description="where the call cache lies: a folder, diskcache:DIR or redis[s]://HOST:PORT/DB"
    )
    mode: Literal["normal", "replay", "refresh", "deferred"] = Field(
        description="normal; replay (a miss is an error); refresh (call again and overwrite); "
        "deferred (a miss waits for a batch, see docs/what-it-costs.md)"
    )
    concurrency: int = Field(ge=1, le=4096, description="model calls in flight")
    simulator_workers: int = Field(ge=1, le=1024, description="simulator runs at a time")
    chunk: int = Field(ge=1, le=10_000, description="questions in one Prefect task")
    runner: Literal["threads", "dask"] = Field(
        default="threads",
        description="threads: chunks in this process, one after another; dask: on Dask workers",
    )
    cluster: ClusterParams = ClusterParams()
    min_coverage: float = Field(
        ge=0,
        le=1,
        description="a stage below this share of successes fails; answers of which fewer "
        "than this share had evidence to be checked with come with a warning",
    )
    report_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="from this share on `simulrag run` reports what came through all the same",
    )
    prefect: Literal["auto", "off"] = Field(
        description="auto: stages are shown where a Prefect server answers (`simulrag ui`); off"
    )
    call_timeout_s: float = Field(gt=0, description="time limit of one attempt at a model call")
    retries: int = Field(
        default=5, ge=0, le=20, description="how often a call is sent again when the provider fails"
    )
    reply_mb: float = Field(
        default=64.0, gt=0, le=10_000, description="a model's reply above this is given up"
    )
    budget: BudgetLimits = Field(
        default=BudgetLimits(), description="what calls that cost money may cost, over all stages"
    )
    refresh: RefreshParams = Field(
        default=RefreshParams(), description="scheduled refreshes of the benchmark"
    )

    def place(self, root: Path) -> CachePlace:
        """Tell where the call cache lies; relative paths are below ``root``. Raises InputError."""
        from simulrag.calls import parse_place

        return parse_place(self.cache, root)
