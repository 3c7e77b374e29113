"""The sections of params.yaml: what each parameter means, and what it may be.

``operations`` (concurrency, cache folder, mode, Prefect) changes no result and is named by no
stage of dvc.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from simulrag.errors import InputError
from simulrag.models.settings import BudgetLimits, ModelSettings
from simulrag.questions.records import Kind

if TYPE_CHECKING:
    from simulrag.calls import CachePlace


NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
Name = Annotated[str, Field(pattern=NAME, max_length=100)]
"""Of a domain or a source: it becomes a file's name, and a word of a command in dvc.yaml."""


def check_name(name: str, way_on: str) -> None:
    """Raise InputError for what can be no domain's name; ``way_on`` says what to do then."""
    if not re.fullmatch(NAME, name) or len(name) > 100:
        rule = "100 letters, digits, - and _ at most, the first no sign"
        raise InputError(f"{name!r} can be no domain's name ({rule}); {way_on}")


class ParamsSection(BaseModel):
    """Base of the sections: closed, immutable, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class RoomSection(ParamsSection):
    """Base of the sections that rooms bring: of ``domains``, those that it runs over."""

    listed: ClassVar[str] = "domains"
    """The field that lists what the room's stages run over."""

    @property
    def own_items(self) -> Collection[str]:
        """What they may run over that is no domain."""
        return ()

    def outside(self, domains: Sequence[str]) -> list[str]:
        """List what it names that neither runs nor is its own."""
        known = (*domains, *(self.own_items or ()))
        return [name for name in getattr(self, self.listed, None) or () if name not in known]


class SimulatorChoice(ParamsSection):
    """Which simulator answers a domain, and its settings."""

    name: str = Field(description="name of a simulator, as in the entry point simulrag.simulators")
    settings: dict[str, JsonValue] = Field(default={}, description="settings of that simulator")
    seed: int = Field(
        default=0,
        ge=0,
        description="seed of every run; one seed, so that an answer has the reference's runs",
    )
    benchmark_model: ModelSettings | None = Field(
        default=None,
        description="model that writes this domain's questions; null: llm.benchmark",
    )
    templates_file: str | None = Field(
        default=None,
        description="YAML file of your question templates, in place of a model's",
    )
    benchmark: dict[str, JsonValue] = Field(
        default={}, description="values that replace those of the section benchmark in this domain"
    )
    answer: dict[str, JsonValue] = Field(
        default={}, description="values that replace those of the section answer in this domain"
    )


class BenchmarkParams(ParamsSection):
    """Benchmark generation."""

    questions: int = Field(ge=1, le=100_000, description="questions to generate for each domain")
    templates: int = Field(ge=1, le=200, description="question templates that the model writes")
    seed: int = Field(ge=0, description="seed of the scenarios")
    kind: Kind = Field(
        default="open",
        description="open: questions about the outputs of given runs; search: about the one "
        "setting, among up to 40 runs, that crosses a bound or is best",
    )
    set_up: bool = Field(
        default=True,
        description="questions state their set-up, and may ask for more than the simulator knows",
    )


class LabelParams(ParamsSection):
    """Claim labelling."""

    tolerance: Literal["rounding"] | float = Field(
        description="tolerance of numbers: 'rounding' (that of the claim) or percent of the "
        "reference"
    )
    claims_per_call: int = Field(
        default=20,
        ge=1,
        le=200,
        description="claims of a question in one labelling call",
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
        default=2, ge=1, le=1024, description="worker processes on this machine, if address is null"
    )
    address: str | None = Field(
        default=None, description="address of a running Dask scheduler, such as tcp://host:8786"
    )


class RefreshBudget(ParamsSection):
    """What one refresh may cost, whatever was spent before its day."""

    usd: float | None = Field(
        default=None, ge=0, description="upper limit of money of one refresh, in US dollars"
    )
    tokens: int | None = Field(
        default=None,
        ge=0,
        description="upper limit of tokens of one refresh, prompts and replies together",
    )


class RefreshParams(ParamsSection):
    """Scheduled refreshes; see docs/operate.md."""

    cron: str = Field(default="0 3 * * 1", description="beginning of a period, as five cron fields")
    timezone: str = Field(default="UTC", description="time zone of cron, by its IANA name")
    branch: str = Field(
        default="refresh",
        pattern=r"^[\w./-]+$",
        description="prefix of the git branches with the results",
    )
    alpha: float = Field(
        default=0.05, gt=0, lt=1, description="a fall counts if its Holm-adjusted p is below this"
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
        description="place of the call cache: a folder, diskcache:DIR or redis[s]://HOST:PORT/DB"
    )
    mode: Literal["normal", "replay", "refresh", "deferred"] = Field(
        description="normal; replay (a missing model call is an error); refresh (calls are "
        "repeated and overwritten); deferred (a missing call waits for a batch, "
        "see docs/bring-your-own-model.md)"
    )
    concurrency: int = Field(ge=1, le=4096, description="model calls at a time")
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
        description="a stage fails below this share of successes; a warning follows if "
        "fewer than this share of the answers had evidence",
    )
    report_from: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="from this share on `simulrag run` reports what came through all the same",
    )
    prefect: Literal["auto", "off"] = Field(
        description="auto: show stages in Prefect if a server answers (`simulrag ui`); off: never"
    )
    call_timeout_s: float = Field(gt=0, description="time limit of one attempt at a model call")
    retries: int = Field(
        default=5, ge=0, le=20, description="further attempts if the provider fails"
    )
    reply_mb: float = Field(
        default=64.0, gt=0, le=10_000, description="upper limit of a model's reply, in megabytes"
    )
    budget: BudgetLimits = Field(
        default=BudgetLimits(), description="limits of paid calls, over all stages"
    )
    refresh: RefreshParams = Field(
        default=RefreshParams(), description="scheduled refreshes of the benchmark"
    )

    def place(self, root: Path) -> CachePlace:
        """Tell where the call cache lies; relative paths are below ``root``. Raises InputError."""
        from simulrag.calls import parse_place

        return parse_place(self.cache, root)
