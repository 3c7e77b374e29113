"""Simulators by name, through the entry point group ``simulrag.simulators``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from simulators.base import ArgumentError, MissingEngineError, Simulator

GROUP = "simulrag.simulators"


def names() -> list[str]:
    """The registered names, sorted."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def load(name: str, settings: Mapping[str, Any] | None = None) -> Simulator:
    """The simulator registered under ``name``, made with ``settings``."""
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            try:
                factory = entry.load()
            except Exception as error:
                raise MissingEngineError(
                    f"simulator '{name}' ({entry.value}) cannot be imported: "
                    f"{type(error).__name__}: {error}"
                ) from None
            try:
                simulator = factory(**(settings or {}))
            except TypeError as error:
                raise ArgumentError(
                    f"the settings of simulator '{name}' do not fit: {error}"
                ) from None
            if not isinstance(simulator, Simulator):
                raise ArgumentError(f"'{entry.value}' is not a Simulator (see simulators/base.py)")
            return simulator
    raise ArgumentError(f"no simulator '{name}' is registered; known: {', '.join(names())}")
