"""params.yaml: every number a user may turn, checked, and read by section."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import (
    BaseModel,
    Field,
    JsonValue,
    ValidationError,
    create_model,
    model_validator,
)
from ruamel.yaml import YAML

from flows.hooks import rooms
from flows.params_file import read_params
from flows.project import Project, find_project
from flows.sections import (
    BenchmarkParams,
    LabelParams,
    LlmParams,
    Name,
    Operations,
    ParamsSection,
    RoomSection,
    SimulatorChoice,
)
from simulrag.errors import InputError
from simulrag.method.settings import MethodSettings
from simulrag.metrics.settings import MetricSettings
from simulrag.models.settings import ModelSettings
from simulrag.stage import Role

if TYPE_CHECKING:
    from simulators.base import Simulator


ROLES: tuple[Role, ...] = get_args(Role)


Brought = TypeVar("Brought", bound=RoomSection)


class Params(ParamsSection):
    """The whole of params.yaml; each room adds its section, see ``params_class``.

    A stage reads the sections that it declares and no others; a test compares.
    """

    domains: list[Name] = Field(min_length=1, description="domains of the pipeline")
    simulators: dict[Name, SimulatorChoice] = Field(
        description="by domain: its simulator (name, settings, seed), the writer of its "
        "questions (benchmark_model, templates_file), and its own values of the "
        "sections benchmark and answer"
    )
    prompts: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9_-]+$",
        description="a folder in prompts/ whose templates replace those of the same name",
    )
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
                hint = f"; did you mean '{close[0]}'?" if close else " (`simulrag domains` adds it)"
                raise ValueError(f"domain '{domain}' has no entry under simulators{hint}")
        if len(set(self.domains)) != len(self.domains):
            raise ValueError("domains are named twice")
        rooms = ((name, part) for name, part in self if isinstance(part, RoomSection))
        wrong = {f"{name}.{room.listed}": room.outside(self.domains) for name, room in rooms}
        if others := dict.fromkeys(chain(*wrong.values())):
            raise ValueError(
                f"{', '.join(filter(wrong.get, wrong))}: {', '.join(map(repr, others))} not among "
                f"the domains that run; `simulrag domains {' '.join(self.domains)}` sets all lists"
            )
        return self

    @model_validator(mode="after")
    def _own_settings(self) -> Params:
        for domain, choice in self.simulators.items():
            try:
                own = self.of(domain)
            except ValidationError as error:
                first = error.errors()[0]
                section = "benchmark" if error.title == "BenchmarkParams" else "answer"
                where = ".".join(map(str, ("simulators", domain, section, *first["loc"])))
                raise ValueError(f"{where}: {first['msg']}") from None
            if choice.templates_file and own.benchmark.kind == "search":
                raise ValueError(
                    f"simulators.{domain}.templates_file: templates of search questions are a "
                    "model's; leave it out, or the kind"
                )
        return self

    @model_validator(mode="after")
    def _recorded_model(self) -> Params:
        for place, model in self.models().items():
            if model.replay and self.operations.mode == "refresh":
                raise ValueError(
                    f"{place}.replay and operations.mode: refresh contradict each other: "
                    "refresh calls again, replay makes no call"
                )
            recorded = (model.provider, model.model) == RECORDED
            free = model.replay or model.base_url is not None
            if recorded and not free and self.operations.mode == "normal":
                raise ValueError(
                    f"{place} names the recorded model '{model.provider}: {model.model}', which "
                    "nobody serves; leave 'replay: true' there, or name a model of your own: "
                    "simulrag use openai:gpt-5-mini"
                )
        return self

    def room(self, section: type[Brought]) -> Brought:
        """Return the section that a room brings."""
        return next(part for _, part in self if isinstance(part, section))

    def __reduce__(self) -> tuple[Any, ...]:
        """For a worker: its class is made where it is used."""
        return _restored, (self.model_dump(),)

    def answering(self, chosen: ModelSettings | None) -> Params:
        """Return the same with another model that answers, if one was chosen."""
        if chosen is None:
            return self
        return self.model_copy(update={"llm": self.llm.model_copy(update={"answer": chosen})})

    def simulator(self, domain: str) -> SimulatorChoice:
        """Return the simulator of a domain; an InputError names the domains there are."""
        if domain not in self.simulators:
            raise InputError(
                unknown("domain", domain, sorted(self.simulators)) + " (params.yaml: simulators)"
            )
        return self.simulators[domain]

    def chosen(self, domain: str, root: Path) -> tuple[str, dict[str, JsonValue]]:
        """Return name and settings of a domain's simulator; its files lie below ``root``."""
        choice = self.simulator(domain)
        settings = _located(choice.settings, root)
        sources = settings.get("sources")
        if choice.name == "joined" and isinstance(sources, list):
            settings["sources"] = [self._source(source, root) for source in sources]
        return choice.name, settings

    def _source(self, source: JsonValue, root: Path) -> JsonValue:
        """Find a source of a joined simulator: an entry under ``simulators``, else as given."""
        if isinstance(source, str) and source in self.simulators:
            choice = self.simulators[source]
            return {"name": choice.name, "settings": _located(choice.settings, root)}
        if isinstance(source, dict) and isinstance(given := source.get("settings"), dict):
            return source | {"settings": _located(given, root)}
        return source

    def load_simulator(self, domain: str, root: Path) -> Simulator:
        """Return the simulator of a domain."""
        from simulators.registry import load

        return load(*self.chosen(domain, root))

    def model(self, role: Role) -> ModelSettings:
        """Return the model of a role."""
        settings: ModelSettings = getattr(self.llm, role)
        return settings

    def models(self) -> dict[str, ModelSettings]:
        """Return every model that is named, by the place where it is."""
        named = {f"llm.{role}": model for role, model in self.llm}
        return named | {
            f"simulators.{domain}.benchmark_model": choice.benchmark_model
            for domain, choice in self.simulators.items()
            if choice.benchmark_model is not None
        }

    def of(self, domain: str) -> Params:
        """Return the same with what a domain has of its own: a model for its questions, settings.

        Raises pydantic's ValidationError for settings that are none.
        """
        choice = self.simulators.get(domain)
        if choice is None:
            return self
        changed: dict[str, Any] = {}
        if choice.benchmark_model is not None:
            changed["llm"] = self.llm.model_copy(update={"benchmark": choice.benchmark_model})
        for name in ("benchmark", "answer"):
            if own := getattr(choice, name):
                section = getattr(self, name)
                changed[name] = type(section).model_validate(section.model_dump() | own)
        return self.model_copy(update=changed) if changed else self

    def unwritten(self, project: Project) -> list[str]:
        """Return the domains whose questions are only replayed, and that no recording holds."""
        return [
            domain
            for domain in self.domains
            if self.of(domain).model("benchmark").replay
            and self.simulator(domain).name != "replay"
            and not (project.recorded / f"benchmark-{domain}.parquet").is_file()
        ]

    def with_operations(self, **changes: object) -> Params:
        """Return the same with some operations replaced."""
        operations = self.operations.model_copy(update=changes)
        return self.model_copy(update={"operations": operations})

    def digest(self, *sections: str) -> str:
        """Name the values of some sections (all that can change a result) by eight digits."""
        names = sections or tuple(n for n in type(self).model_fields if n != "operations")
        text = json.dumps(
            self.model_dump(mode="json", include=set(names)), sort_keys=True, ensure_ascii=False
        )
        return hashlib.sha256(text.encode()).hexdigest()[:8]


@cache
def params_class() -> type[Params]:
    """Return the parameters with the sections of the rooms that are here."""
    sections = rooms().hook.params_section()
    brought: dict[str, Any] = {name: (section, section()) for name, section in sections}
    return create_model("Params", __base__=Params, **brought)


def _restored(values: dict[str, Any]) -> Params:
    return params_class().model_validate(values)


def _located(settings: Mapping[str, JsonValue], root: Path) -> dict[str, JsonValue]:
    """Return settings of a simulator with the paths of its files, which lie below the project."""
    paths = {
        name: str(root / str(settings[name]))
        for name in FILE_SETTINGS & settings.keys()
        if isinstance(settings[name], str) and "://" not in str(settings[name])
    }
    return {**settings, **paths}


FILE_SETTINGS = {"benchmark", "corpus", "document", "folder", "handbook"}
"""Settings of simulators that name a file or a folder; an address is left as it is."""

RECORDED = ("anthropic", "claude")
"""Provider and model of the recorded run; no service has a model of that name."""


def load_params(path: Path) -> Params:
    """params.yaml, validated. Each problem is one line: where, what, and the likely key."""
    return _checked(read_params(path), path.name)


def open_project() -> tuple[Project, Params]:
    """Return the project that the working directory is in, and its parameters.

    Raises InputError.
    """
    project = find_project()
    return project, load_params(project.params)


def domain_lists(path: Path, domains: list[str]) -> dict[str, list[str]]:
    """Return by dotted key the lists of params.yaml that change where these domains run alone.

    Raises InputError for a file that is none.
    """
    raw, lists = read_params(path), {"domains": domains}
    for name, kind in rooms().hook.params_section():
        given = raw.get(name)
        section = kind.model_construct(**given) if isinstance(given, dict) else kind()
        if others := section.outside(domains):
            listed = getattr(section, kind.listed)
            lists[f"{name}.{kind.listed}"] = [item for item in listed if item not in others]
    return lists


def check_params(text: str, name: str) -> Params:
    """Return the same for a text that is to be params.yaml."""
    return _checked(YAML(typ="safe").load(text), name)


def _checked(raw: dict[str, Any], name: str) -> Params:
    try:
        return params_class().model_validate(raw)
    except ValidationError as error:
        lines = dict.fromkeys(_problem(item) for item in error.errors())  # of a union several
        raise InputError(f"{name}: {'; '.join(lines)}") from None


def unknown(kind: str, name: str, known: list[str]) -> str:
    """``'ubran' is not a domain; did you mean 'urban'? Known: climate, urban``."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{close[0]}'? Known" if close else "; known"
    return f"'{name}' is not a {kind}{hint}: {', '.join(known) or 'nothing'}"


def _problem(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "value_error":  # a rule of ours, in words
        return ": ".join(filter(None, [where, str(item["ctx"]["error"])]))
    where = where or "file"
    if item["type"] == "extra_forbidden":
        known = _keys_beside(item["loc"])
        close = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known there: {', '.join(known)}"
        return f"unknown setting {where}: {RENAMED.get(where, hint)}"
    given = item.get("input")
    secret = {"llm", "benchmark_model"} & {
        *item["loc"]
    }  # a key pasted into the wrong field is not repeated
    plain = isinstance(given, str | int | float | bool) and not secret
    shown = f" (given: {given!r})" if plain else ""
    return f"{where}: {item['msg']}{shown}"


RENAMED = {
    "answer.baselines": "name what to compare with, answer.beside: [paper, rag], or []",
    "llm.budget": "a budget is under operations.budget, so that changing it reruns nothing",
}
"""What stands in the place of a setting whose name is not alike."""


def _keys_beside(location: tuple[Any, ...]) -> list[str]:
    model: Any = params_class()
    for part in location[:-1]:
        field = model.model_fields.get(part) if hasattr(model, "model_fields") else None
        annotation = field.annotation if field else None
        args = getattr(annotation, "__args__", ())
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
        else:
            models = (arg for arg in args if isinstance(arg, type) and issubclass(arg, BaseModel))
            model = next(models, model)
    return sorted(model.model_fields)


def describe(model: type[BaseModel] | None = None, prefix: str = "") -> list[tuple[str, str]]:
    """Return every parameter's dotted name and meaning, for ``simulrag params``."""
    rows: list[tuple[str, str]] = []
    for name, field in (model or params_class()).model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            rows += describe(annotation, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", field.description or ""))
    return rows
