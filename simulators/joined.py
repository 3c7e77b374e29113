"""The joined simulator: the tools and the handbooks of several sources, each run by its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulators.base import (
    ArgumentError,
    Consulted,
    Exampled,
    Guided,
    Simulator,
    Tool,
    files_fingerprint,
)
from simulators.registry import load


class JoinedSimulator:
    """Several sources as one.

    ``sources``: at least two, each a registered name, or its name with its settings:
    ``{name: library, settings: {corpus: corpus/climate}}``. In params.yaml an entry may also be the
    name of another domain under ``simulators``. Two sources with a tool of the same name are
    refused. A run is its source's run: its evidence, its fingerprint and its stored result are
    those that the source has by itself. Raises ArgumentError.
    """

    name = "joined"
    oracle = False

    def __init__(self, sources: Sequence[str | Mapping[str, Any]]) -> None:
        if isinstance(sources, str | Mapping) or len(sources) < 2:
            raise ArgumentError("joined needs a list of at least two sources")
        self.sources = tuple(_loaded(source) for source in sources)
        self._by_tool: dict[str, Simulator] = {}
        for source in self.sources:
            for tool in source.tools:
                if tool in self._by_tool:
                    raise ArgumentError(
                        f"'{self._by_tool[tool].name}' and '{source.name}' both have a tool "
                        f"'{tool}' and cannot be joined"
                    )
                self._by_tool[tool] = source

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of all sources."""
        return {name: source.tools[name] for name, source in self._by_tool.items()}

    def source_of(self, tool: str) -> Simulator:
        """Return the source that has a tool. Raises ArgumentError."""
        if tool not in self._by_tool:
            raise ArgumentError(f"joined has no tool '{tool}': {', '.join(self._by_tool)}")
        return self._by_tool[tool]

    def handbook(self) -> str:
        """Join the handbooks, one after the other."""
        return "\n".join(source.handbook() for source in self.sources)

    def guide(self) -> str:
        """Join what the sources say is worth asking."""
        return "\n\n".join(s.guide().strip() for s in self.sources if isinstance(s, Guided))

    def run(self, tool: str, arguments: Any, seed: int) -> Any:
        """Run a tool by the source that has it. Raises SimulatorError."""
        return self.source_of(tool).run(tool, arguments, seed)

    def fingerprint(self) -> str:
        """Hash all sources' fingerprints; a run goes by its own source's."""
        parts = [f"{source.name} {source.fingerprint()}" for source in self.sources]
        return files_fingerprint([Path(__file__)], *parts)

    @property
    def by_queries(self) -> bool:
        """Whether a source is asked by queries."""
        return any(isinstance(source, Consulted) and source.by_queries for source in self.sources)

    def consult(self, text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the calls of those sources that are asked by a text."""
        return [
            call
            for source in self.sources
            if isinstance(source, Consulted)
            for call in source.consult(text)
        ]

    def examples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Collect the sources' own."""
        return {
            tool: calls
            for source in self.sources
            if isinstance(source, Exampled)
            for tool, calls in source.examples().items()
        }


def _loaded(source: str | Mapping[str, Any]) -> Simulator:
    entry: dict[str, Any] = {"name": source} if isinstance(source, str) else dict(source)
    name, settings = entry.pop("name", None), entry.pop("settings", {})
    if not isinstance(name, str) or not isinstance(settings, Mapping) or entry:
        raise ArgumentError(
            f"a source of joined is a name, or {{name: ..., settings: {{...}}}}, not {source!r}"
        )
    if name == JoinedSimulator.name:
        raise ArgumentError("a joined source cannot be joined again: name all sources in one list")
    simulator = load(name, settings)
    if simulator.oracle:
        raise ArgumentError(
            f"'{name}' holds evidence by question and cannot be joined with other sources"
        )
    return simulator
