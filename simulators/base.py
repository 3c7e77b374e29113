"""What every simulator is to the rest of the house: a handbook, tools and a fingerprint.

A simulator package imports nothing else of this project.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from simulators.json_schema import (
    Described,
    JsonShape,
    ToolModel,
    Values,
    described,
    measured,
    read_values,
)

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["JsonShape", "ToolModel", "measured"]  # of shapes, for who writes a simulator

_TOOLS = "## Tools"
NOT_RUN = ("training", "validate.py")
"""What a simulator's package may hold beside what runs: how it was made, how it is measured."""


class SimulatorError(Exception):
    """A simulator could not answer: what happened, and what to do about it."""


class ArgumentError(SimulatorError):
    """The arguments of a call are wrong; the text goes back to the user or model that asked."""


class RunError(SimulatorError):
    """The arguments were fine and the run failed (time-out, gridlock, a crash of the engine)."""


class MissingEngineError(SimulatorError):
    """A program or file that the simulator needs is not on this machine."""


@dataclass(frozen=True)
class Tool:
    """One thing a simulator can be asked.

    ``arguments`` and ``outputs`` are pydantic classes, or JSON schemas (``JsonShape``) of what a
    service takes and gives; their values are then plain dicts. ``template`` is Jinja text over both
    that turns a run into the text context a language model reads.
    """

    name: str
    description: str
    arguments: Any  # a Shape; Any, so that a simulator may use its own classes as classes
    outputs: Any
    template: str

    def describe(self, arguments: Values, outputs: Values) -> str:
        """Put the run into words and numbers with units."""
        text = compiled(self.template).render(arguments=arguments, outputs=outputs)
        return re.sub(r"[ \t]*\n[ \t]*", "\n", text).strip()


@lru_cache(maxsize=64)
def compiled(template: str) -> Template:
    """Compile a text template, once: that takes longer than many a run."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 plain text
    return environment.from_string(template)


@runtime_checkable
class Simulator(Protocol):
    """The protocol behind the entry point ``simulrag.simulators``.

    A registered object is a callable that takes the settings of ``params.yaml`` as keyword
    arguments and returns a Simulator.
    """

    @property
    def name(self) -> str:
        """The registered name."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name."""
        ...

    @property
    def oracle(self) -> bool:
        """True where evidence is looked up by the question itself, not by tool calls."""
        ...

    def handbook(self) -> str:
        """Return the prose and the generated parameter tables, as Markdown."""
        ...

    def run(self, tool: str, arguments: Any, seed: int) -> Any:
        """Run one tool. Deterministic in (tool, arguments, seed). Raises SimulatorError.

        ``arguments`` and the outputs are of the tool's shapes: ToolModels, or plain dicts.
        """
        ...

    def fingerprint(self) -> str:
        """Hash everything but the arguments that can change a result (code, engine, assets)."""
        ...


@runtime_checkable
class Guided(Protocol):
    """A simulator that says which questions are worth asking; only who writes a benchmark is told.

    Optional: a simulator without ``guide`` is one whose handbook says all there is.
    """

    def guide(self) -> str:
        """Name situations, values and classes worth asking about, as Markdown."""
        ...


@runtime_checkable
class Exampled(Protocol):
    """A simulator that names calls to try it with (``simulrag simulators check``). Optional."""

    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return, by tool, arguments that the tool accepts."""
        ...


@runtime_checkable
class Consulted(Protocol):
    """A simulator that is asked by a text too: by the question itself, or by queries. Optional."""

    @property
    def by_queries(self) -> bool:
        """Whether the texts are queries that a model writes for the question, not the question."""
        ...

    def consult(self, text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return tool and arguments of a text's calls; none where a model makes all."""
        ...


@runtime_checkable
class Joined(Protocol):
    """A simulator whose tools are other simulators'. Optional.

    A run is stored under the name and the fingerprint of the simulator that has the tool.
    """

    def source_of(self, tool: str) -> Simulator:
        """Return the simulator that has a tool."""
        ...


@runtime_checkable
class Remote(Protocol):
    """A simulator behind a service of another party. Optional.

    A run may cost money or change something there, so none is ever made implicitly.
    """

    @property
    def remote(self) -> bool:
        """Whether it is."""
        ...


def owner_of(simulator: Simulator, tool: str) -> Simulator:
    """Return the simulator that runs a tool: of joined ones a source. Raises ArgumentError."""
    return simulator.source_of(tool) if isinstance(simulator, Joined) else simulator


def is_remote(simulator: Simulator, tool: str) -> bool:
    """Tell whether another party's service runs a tool. Raises ArgumentError."""
    owner = owner_of(simulator, tool)
    return isinstance(owner, Remote) and owner.remote


def validate_call(simulator: Simulator, tool: str, arguments: Mapping[str, Any]) -> Any:
    """Validate the arguments of a call. Raises an ArgumentError that says what to do.

    A ToolModel, or a dict where the tool's shape is a JSON schema.
    """
    if tool not in simulator.tools:
        known = ", ".join(sorted(simulator.tools))
        raise ArgumentError(f"{simulator.name} has no tool '{tool}'; its tools are: {known}")
    try:
        return read_values(simulator.tools[tool].arguments, arguments)
    except ValueError as error:
        errors = getattr(error, "errors", None)
        problems = errors() if callable(errors) else [{"loc": (), "msg": str(error)}]
        lines = [f"{'.'.join(map(str, p['loc'])) or 'arguments'}: {p['msg']}" for p in problems]
        raise ArgumentError(
            f"{simulator.name}.{tool} refuses its arguments: {'; '.join(lines)}"
        ) from None


def render_handbook(prose: str, tools: Mapping[str, Tool]) -> str:
    """Write the handbook: the prose, then per tool a table of arguments and one of outputs."""
    parts = [prose.strip(), "", _TOOLS]
    for tool in tools.values():
        parts += ["", f"### {tool.name}", "", tool.description.strip(), "", "Arguments:", ""]
        parts.append("| name | type | unit | range | default | meaning |")
        parts.append("| --- | --- | --- | --- | --- | --- |")
        for taken in described(tool.arguments):
            default = "required" if taken.required else _show(taken.default)
            kind, limits = _type(taken.schema), _range(taken.schema)
            cells = [taken.name, kind, taken.unit, limits, default, _meaning(taken)]
            parts.append("| " + " | ".join(cells) + " |")
        parts += [
            "",
            "Outputs:",
            "",
            "| name | type | unit | meaning |",
            "| --- | --- | --- | --- |",
        ]
        parts += [
            f"| {given.name} | {_type(given.schema)} | {given.unit} | {_meaning(given)} |"
            for given in described(tool.outputs)
        ]
    return "\n".join(parts) + "\n"


def handbook_with_guide(simulator: Simulator) -> str:
    """Put the guide before the tools of the handbook, for whoever writes a benchmark."""
    handbook = simulator.handbook()
    if not isinstance(simulator, Guided):
        return handbook
    prose, heading, tools = handbook.partition(f"{_TOOLS}\n")
    return f"{prose.rstrip()}\n\n{simulator.guide().strip()}\n\n{heading}{tools}"


def set_up_facts(simulator: Simulator) -> str:
    """Return what an expert must know of the simulator's world beyond its handbook; or "".

    A file ``set_up.md`` beside the simulator's module and its ``handbook.md``, for who writes
    questions that state their set-up. A simulator with another handbook (of a user's own network)
    has another world. The file decides no result, so the fingerprint leaves it out.
    """
    module = sys.modules[type(simulator).__module__]
    prose, facts = (
        Path(module.__file__ or "").with_name(name) for name in ("handbook.md", "set_up.md")
    )
    if not (facts.is_file() and prose.is_file()):
        return ""
    belongs = simulator.handbook().startswith(prose.read_text(encoding="utf-8").strip())
    return facts.read_text(encoding="utf-8").strip() if belongs else ""


def code_files(folder: Path, *, without: Sequence[str] = NOT_RUN) -> list[Path]:
    """List every Python file in a package's folder and below, sorted, but for names in ``without``.

    For fingerprints: a new file is included without being listed anywhere.
    """
    files = [(path.relative_to(folder), path) for path in folder.rglob("*.py")]
    return [path for name, path in sorted(files) if not set(name.parts) & set(without)]


def files_fingerprint(paths: Sequence[Path], *extra: str) -> str:
    """Hash the bytes of the files (in the order given) and the extra words by sha256.

    Raises MissingEngineError for a file that cannot be read.
    """
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise MissingEngineError(
                f"{path}, which the simulator's results depend on, cannot be read ({error}): "
                "put it back from where its package came from"
            ) from None
        digest.update(b"\0")
    for word in extra:
        digest.update(word.encode() + b"\0")
    return digest.hexdigest()


def engine_version(package: str) -> str:
    """Return name and version of a package without importing it. Raises MissingEngineError."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        raise MissingEngineError(
            f"{package} is not installed: install it with 'pip install {package}'"
        ) from None


def engine(module: str, install: str = "") -> Any:
    """Import an engine's module where it is first needed: what needs none goes without it.

    ``install``: what pip takes for it, such as ``our-package[engine]``; by default the module's own
    name. Raises MissingEngineError.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingEngineError(
            f"{module} cannot be imported ({error}): run 'pip install {install or module}'"
        ) from None


def _show(value: object) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _meaning(field: Described) -> str:
    return field.meaning.replace("|", "/").replace("\n", " ")


def _type(schema: Any) -> str:
    if not isinstance(schema, Mapping):  # JSON schema has true for what may be anything
        schema = {"type": "any"}
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return f"one of {schema['const']}"
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if isinstance(schema.get("type"), list):
        return " or ".join(schema["type"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "object"))


def _range(schema: Mapping[str, Any]) -> str:
    for part in (schema, *(part for part in schema.get("anyOf", ()) if isinstance(part, Mapping))):
        low = part.get("minimum", part.get("exclusiveMinimum"))
        high = part.get("maximum", part.get("exclusiveMaximum"))
        if low is not None or high is not None:
            return f"{'' if low is None else low} to {'' if high is None else high}".strip()
    return "-"
