"""Simulator runs through the call cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import JsonValue

from simulators.base import RunError, Simulator, SimulatorError, validate_call
from simulators.shapes import plain_values, read_values
from simulrag.calls import CallCache, CallResult
from simulrag.errors import CacheError
from simulrag.records import Evidence, ToolCall


class Simulations:
    """A simulator whose runs are made once.

    ``workers`` runs go on at a time, each in a thread: simulators start processes of their own or
    release the interpreter. ``runs`` counts the runs that were really made.
    """

    def __init__(self, simulator: Simulator, cache: CallCache, workers: int = 2) -> None:
        self.simulator = simulator
        self.cache = cache
        self.runs = 0
        self._slots = asyncio.Semaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="simulator")
        self._fingerprint = simulator.fingerprint()

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """The evidence of one call. Raises ArgumentError or RunError (nothing is stored then)."""
        validated = validate_call(self.simulator, tool, arguments)
        plain: dict[str, JsonValue] = plain_values(validated)
        request: dict[str, JsonValue] = {
            "simulator": self.simulator.name,
            "tool": tool,
            "arguments": plain,
            "seed": seed,
            "fingerprint": self._fingerprint,
        }

        async def call() -> CallResult:
            async with self._slots:
                outputs = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._run, tool, validated, seed
                )
            self.runs += 1
            return CallResult(response=plain_values(outputs))

        answer = await self.cache.get_or_call("simulator", request, call)
        kind = self.simulator.tools[tool]
        try:
            outputs = read_values(kind.outputs, answer.call.response)
        except ValueError:
            raise CacheError(
                f"the stored outputs of {self.simulator.name}.{tool} are none of that tool (key "
                f"{answer.call.key}); the row was altered: run in mode refresh to make it again"
            ) from None
        return Evidence(
            simulator=self.simulator.name,
            call=ToolCall(tool=tool, arguments=plain),
            seed=seed,
            outputs=plain_values(outputs),
            text=kind.describe(validated, outputs),
        )

    def _run(self, tool: str, arguments: Any, seed: int) -> Any:
        try:
            return self.simulator.run(tool, arguments, seed)
        except SimulatorError:
            raise
        except Exception as error:  # somebody's simulator: whatever it raises is a failed run
            raise RunError(
                f"{self.simulator.name}.{tool} failed: {type(error).__name__}: {error}"
            ) from error
