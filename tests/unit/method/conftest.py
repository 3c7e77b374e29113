"""A simulator with one number in it, and the method as published."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import Field

from simulators.base import RunError, Tool, ToolModel
from simulrag.calls import CallCache
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations

PAPER = MethodSettings(method="paper", pool="domain")
"""The method as published."""


class Where(ToolModel):
    place: str = Field(description="a place")


class Depth(ToolModel):
    depth_m: float = Field(description="depth", json_schema_extra={"unit": "m"})


class Lake:
    """A simulator with one number in it."""

    name = "lake"
    oracle = False

    def __init__(self) -> None:
        text = "It is {{ outputs.depth_m }} m."
        self.tools = {"sound": Tool("sound", "Sound it.", Where, Depth, text)}

    def handbook(self) -> str:
        return "# Lake"

    def run(self, tool: str, arguments: ToolModel, seed: int) -> Depth:
        if arguments.model_dump()["place"] == "dry":
            raise RunError("no water there")
        return Depth(depth_m=12.0)

    def fingerprint(self) -> str:
        return "lake-1"


@pytest.fixture
async def simulations(tmp_path: Path) -> AsyncIterator[Simulations]:
    with CallCache(tmp_path / "calls", stage="test") as cache:
        yield Simulations(Lake(), cache)
