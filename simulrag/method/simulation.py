"""Simulator runs through the call cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from simulators.base import Simulator, validate_call
from simulrag.calls import CallCache, CallResult
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
        self._fingerprint = simulator.fingerprint()

    async def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> Evidence:
        """The evidence of one call. Raises ArgumentError or RunError (nothing is stored then)."""
        validated = validate_call(self.simulator, tool, arguments)
        plain: dict[str, JsonValue] = validated.model_dump(mode="json")
        request: dict[str, JsonValue] = {
            "simulator": self.simulator.name,
            "tool": tool,
            "arguments": plain,
            "seed": seed,
            "fingerprint": self._fingerprint,
        }

        async def call() -> CallResult:
            async with self._slots:
                outputs = await asyncio.to_thread(self.simulator.run, tool, validated, seed)
            self.runs += 1
            return CallResult(response=outputs.model_dump(mode="json"))

        answer = await self.cache.get_or_call("simulator", request, call)
        kind = self.simulator.tools[tool]
        outputs = kind.outputs.model_validate(answer.call.response)
        return Evidence(
            simulator=self.simulator.name,
            call=ToolCall(tool=tool, arguments=plain),
            seed=seed,
            outputs=outputs.model_dump(mode="json"),
            text=kind.describe(validated, outputs),
        )
