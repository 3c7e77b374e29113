"""Simulator runs through the call cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import JsonValue, ValidationError

from simulators.base import (
    ArgumentError,
    MissingEngineError,
    RunError,
    Simulator,
    SimulatorError,
    Tool,
    owner_of,
    validate_call,
)
from simulators.json_schema import plain_values, read_values
from simulators.registry import missing
from simulrag.calls import CallCache, CallResult
from simulrag.errors import CacheError, first_problem
from simulrag.records import Evidence, ToolCall


class Simulations:
    """A simulator whose runs are made once.

    ``workers`` runs go on at a time, each in a thread: simulators start processes of their own or
    release the interpreter. ``runs`` counts the runs that were really made. A run of a joined
    simulator is stored, and named, as that of the source which has the tool.
    """

    def __init__(self, simulator: Simulator, cache: CallCache, workers: int = 2) -> None:
        self.simulator = simulator
        self.cache = cache
        self.runs = 0
        self._slots = asyncio.Semaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="simulator")
        self._sources = {tool: owner_of(simulator, tool) for tool in simulator.tools}
        # One a source: a job keeps to what it began with, and a change fails before any call.
        sources = {id(source): source for source in self._sources.values()}
        self._fingerprints = {key: source.fingerprint() for key, source in sources.items()}

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """Make a call's evidence. Raises ArgumentError or RunError (nothing is stored then)."""
        validated = validate_call(self.simulator, tool, arguments)
        source = self._sources[tool]
        plain: dict[str, JsonValue] = plain_values(validated)
        request: dict[str, JsonValue] = {
            "simulator": source.name,
            "tool": tool,
            "arguments": plain,
            "seed": seed,
            "fingerprint": self._fingerprints[id(source)],
        }

        async def call() -> CallResult:
            async with self._slots:
                outputs = await asyncio.get_running_loop().run_in_executor(
                    self._threads, _run, source, tool, validated, seed
                )
            self.runs += 1
            return CallResult(response=_plain_outputs(source, tool, outputs))

        answer = await self.cache.get_or_call("simulator", request, call)
        kind = source.tools[tool]
        try:
            outputs = read_values(kind.outputs, answer.call.response)
        except ValueError:
            raise CacheError(
                f"the stored outputs of {source.name}.{tool} are none of that tool (key "
                f"{answer.call.key}); the row was altered: run in mode refresh to make it again"
            ) from None
        return Evidence(
            simulator=source.name,
            call=ToolCall(tool=tool, arguments=plain),
            seed=seed,
            outputs=plain_values(outputs),
            text=kind.describe(validated, outputs),
        )


class NoSource:
    """What answers a question that no source fits: no tool, so nothing is run and none verified."""

    name = "none"
    oracle = False
    tools: Mapping[str, Tool] = {}

    def handbook(self) -> str:
        """Nothing can be told."""
        return ""

    def run(self, tool: str, arguments: Any, seed: int) -> Any:  # noqa: ARG002 there is none
        """Raises ArgumentError."""
        raise ArgumentError(f"no source fits the question, so there is no tool '{tool}'")

    def fingerprint(self) -> str:
        """Nothing can change a result that there is not."""
        return "none"


def _plain_outputs(simulator: Simulator, tool: str, outputs: Any) -> dict[str, JsonValue]:
    """Return a run's outputs as stored. Raises RunError where the tool declares others."""
    shape = simulator.tools[tool].outputs
    try:
        plain: dict[str, JsonValue] = plain_values(outputs)
        read_values(shape, plain)
    except (TypeError, ValueError) as error:
        why = first_problem(error) if isinstance(error, ValidationError) else error
        wanted = getattr(shape, "__name__", "its schema")
        raise RunError(
            f"{simulator.name}.{tool} gave a {type(outputs).__name__} that is not {wanted}: {why}"
        ) from None
    return plain


def _run(simulator: Simulator, tool: str, arguments: Any, seed: int) -> Any:
    try:
        return simulator.run(tool, arguments, seed)
    except SimulatorError:
        raise
    except Exception as error:  # somebody's simulator: whatever it raises is a failed run
        if words := missing(error):
            raise MissingEngineError(f"{simulator.name}.{tool}: {words}") from None
        raise RunError(
            f"{simulator.name}.{tool} failed: {type(error).__name__}: {error}"
        ) from error
