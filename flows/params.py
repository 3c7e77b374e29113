"""params.yaml: every number a user may turn, checked, and read by section.

A stage's loader returns the sections that the stage names in dvc.yaml and no others, so that a
parameter that changes a result cannot be read behind DVC's back. ``operations`` (concurrency,
cache folder, mode, Prefect) changes no result and is named by no stage.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from flows.params_file import read_params
from flows.project import Project
from flows.refresh.params import RefreshParams
from simulrag.errors import InputError
from simulrag.metrics.settings import MetricSettings
from simulrag.method.settings import MethodSettings
from simulrag.models.budget import BudgetLimits
from simulrag.models.settings import ModelSettings


class Section(BaseModel):
    """Base of the sections: closed, immutable, no infinities."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class SimulatorChoice(Section):
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


class BenchmarkParams(Section):
    """Benchmark generation."""

    questions: int = Field(ge=1, le=100_000, description="questions to generate for each domain")
    templates: int = Field(ge=1, le=200, description="question templates to ask the model for")
    seed: int = Field(ge=0, description="seed of scenario sampling")


class LabelParams(Section):
    """Claim labelling."""

    tolerance: Literal["rounding"] | float = Field(
        description="'rounding' (the claim's own) or a tolerance in percent of the reference"
    )
    claims_per_call: int = Field(
        default=1, ge=1, le=200, description="claims of a question in one labelling call; 1: each"
    )

    @model_validator(mode="after")
    def _positive(self) -> LabelParams:
        if self.tolerance != "rounding" and not 0 <= float(self.tolerance) <= 100:
            raise ValueError("tolerance is 'rounding' or a percentage from 0 to 100")
        return self


class LlmParams(Section):
    """The models by role. A new judge must not regenerate the benchmark, so they are apart."""

    benchmark: ModelSettings = Field(description="writes templates, questions and references")
    answer: ModelSettings = Field(description="answers, decomposes, verifies, synthesises")
    judge: ModelSettings = Field(description="labels claims by the reference")


class ClusterParams(Section):
    """Where chunks go with ``operations.runner: dask``."""

    workers: int = Field(
        default=2, ge=1, le=1024, description="worker processes on this machine, without an address"
    )
    address: str | None = Field(
        default=None, description="a Dask scheduler that runs, as tcp://host:8786"
    )


class Operations(Section):
    """How the work is run. Nothing here changes a result."""

    cache: str = Field(
        description="where the call cache lies: a folder, diskcache:DIR or redis[s]://HOST:PORT/DB"
    )
    mode: Literal["normal", "replay", "refresh", "deferred"] = Field(
        description="normal; replay (a miss is an error); refresh (call again and overwrite); "
        "deferred (a miss waits for a batch, see docs/batch.md)"
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
        ge=0, le=1, description="a stage below this share of successes fails"
    )
    prefect: Literal["auto", "off"] = Field(
        description="auto: a Prefect server on loopback, started when none runs; off: no tracking"
    )
    call_timeout_s: float = Field(gt=0, description="time limit of one attempt at a model call")
    retries: int = Field(
        default=5, ge=0, le=100, description="attempts after a failed one at a model call"
    )
    budget: BudgetLimits = Field(
        default=BudgetLimits(), description="what calls that cost money may cost, over all stages"
    )
    refresh: RefreshParams = Field(
        default=RefreshParams(), description="scheduled refreshes of the benchmark"
    )
    run_log: str | None = Field(
        default=None, description="file that simulators append a line to for each real run"
    )


class Params(Section):
    """The whole of params.yaml."""

    domains: list[str] = Field(min_length=1, description="domains that the pipeline runs")
    simulators: dict[str, SimulatorChoice] = Field(description="by domain: simulator and settings")
    llm: LlmParams
    benchmark: BenchmarkParams
    answer: MethodSettings
    label: LabelParams
    metrics: MetricSettings
    operations: Operations

    @model_validator(mode="after")
    def _domains_known(self) -> Params:
        for domain in self.domains:
            if domain not in self.simulators:
                close = difflib.get_close_matches(domain, self.simulators, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                raise ValueError(f"domain '{domain}' has no entry under simulators{hint}")
        if len(set(self.domains)) != len(self.domains):
            raise ValueError("domains are named twice")
        return self


STAGE_SECTIONS: dict[str, tuple[str, ...]] = {
    "simulator": ("simulators",),
    "benchmark": ("simulators", "benchmark", "llm.benchmark"),
    "answer": ("simulators", "answer", "llm.answer"),
    "label": ("label", "llm.judge"),
    "metrics": ("domains", "metrics"),
    "report": ("domains", "llm", "answer", "metrics"),
}


class StageParams:
    """The sections of params.yaml that one stage names; reading another is an error."""

    def __init__(self, params: Params, stage: str) -> None:
        self._params = params
        self._stage = stage
        self.operations = params.operations

    def with_operations(self, **changes: object) -> StageParams:
        """The same with some operations replaced."""
        operations = self.operations.model_copy(update=changes)
        return StageParams(self._params.model_copy(update={"operations": operations}), self._stage)

    def _section(self, path: str) -> Any:
        named = STAGE_SECTIONS[self._stage]
        if path not in named and path.split(".", maxsplit=1)[0] not in named:
            raise LookupError(f"stage {self._stage} does not name params section {path}")
        value: Any = self._params
        for part in path.split("."):
            value = getattr(value, part)
        return value

    def digest(self) -> str:
        """Eight digits that name the values of this stage's sections."""
        values = {name: _plain(self._section(name)) for name in STAGE_SECTIONS[self._stage]}
        text = json.dumps(values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def domains(self) -> list[str]:
        return list(self._section("domains"))

    def simulator(self, domain: str) -> SimulatorChoice:
        """The simulator of a domain; an InputError names the domains there are."""
        choices: dict[str, SimulatorChoice] = self._section("simulators")
        if domain not in choices:
            raise InputError(
                unknown("domain", domain, sorted(choices)) + " (params.yaml: simulators)"
            )
        return choices[domain]

    def model(self, role: Literal["benchmark", "answer", "judge"]) -> ModelSettings:
        settings: ModelSettings = self._section(f"llm.{role}")
        return settings

    @property
    def benchmark(self) -> BenchmarkParams:
        section: BenchmarkParams = self._section("benchmark")
        return section

    @property
    def answer(self) -> MethodSettings:
        section: MethodSettings = self._section("answer")
        return section

    @property
    def label(self) -> LabelParams:
        section: LabelParams = self._section("label")
        return section

    @property
    def metrics(self) -> MetricSettings:
        section: MetricSettings = self._section("metrics")
        return section


def load_stage_params(project: Project, stage: str) -> StageParams:
    """The params of one stage."""
    return StageParams(load_params(project.params), stage)


def load_params(path: Path) -> Params:
    """params.yaml, validated. Each problem is one line: where, what, and the likely key."""
    try:
        return Params.model_validate(read_params(path))
    except ValidationError as error:
        lines = [_problem(item) for item in error.errors()]
        raise InputError(f"{path.name}: {'; '.join(lines)}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def unknown(kind: str, name: str, known: list[str]) -> str:
    """'no domain 'ubran'; did you mean 'urban'? Known: ...'."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ";"
    return f"no {kind} '{name}'{hint} known: {', '.join(known) or 'none'}"


def _problem(item: Any) -> str:
    if item["type"] == "value_error" and not item["loc"]:  # a rule over several sections, in words
        return str(item["ctx"]["error"])
    where = ".".join(str(part) for part in item["loc"]) or "file"
    if item["type"] == "extra_forbidden" and item["loc"] == ("llm", "budget"):
        return "llm.budget: a budget is under operations.budget, so that changing it reruns nothing"
    if item["type"] == "extra_forbidden":
        keys = _keys_beside(item["loc"])
        close = difflib.get_close_matches(str(item["loc"][-1]), keys, n=1)
        hint = f", did you mean '{close[0]}'?" if close else f"; known there: {', '.join(keys)}"
        return f"{where}: unknown key{hint}"
    given = item.get("input")
    secret = item["loc"][:1] == ("llm",)  # a key pasted into the wrong field is not repeated
    plain = isinstance(given, str | int | float | bool) and not secret
    shown = f" (given: {given!r})" if plain else ""
    return f"{where}: {item['msg']}{shown}"


def _keys_beside(location: tuple[Any, ...]) -> list[str]:
    model: Any = Params
    for part in location[:-1]:
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        annotation = field.annotation if field else None
        args = getattr(annotation, "__args__", ())
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
        elif args and isinstance(args[-1], type) and issubclass(args[-1], BaseModel):
            model = args[-1]
    return sorted(model.model_fields)


def describe(model: type[BaseModel] = Params, prefix: str = "") -> list[tuple[str, str]]:
    """Every parameter's dotted name and meaning, for ``simulrag params``."""
    rows: list[tuple[str, str]] = []
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            rows += describe(annotation, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", field.description or ""))
    return rows
