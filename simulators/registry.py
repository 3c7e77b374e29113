"""Simulators by name, through the entry point group ``simulrag.simulators``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from simulators.base import ArgumentError, MissingEngineError, Simulator
from simulators.extras import missing

GROUP = "simulrag.simulators"


def names() -> list[str]:
    """The registered names, sorted."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def load(name: str, settings: Mapping[str, Any] | None = None) -> Simulator:
    """The simulator registered under ``name``, made with ``settings``."""
    factory = _factory(name)
    try:
        simulator = factory(**(settings or {}))
    except TypeError as error:
        raise ArgumentError(f"the settings of simulator '{name}' do not fit: {error}") from None
    if not isinstance(simulator, Simulator):
        raise ArgumentError(f"simulator '{name}' is not a Simulator (see simulators/base.py)")
    return simulator


def sources_of(name: str, settings: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and settings of each source of a joined simulator; of another, its own."""
    sources = settings.get("sources")
    if name != "joined" or not isinstance(sources, list | tuple):
        return [(name, settings)]
    told: list[Mapping[str, Any]] = [
        source if isinstance(source, Mapping) else {"name": source} for source in sources
    ]
    return [(str(source.get("name")), source.get("settings") or {}) for source in told]


def reaches_out(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether making this simulator starts or contacts a service of somebody else's.

    The class says so: by ``contacts(settings)``, or else by a true ``remote``.
    """
    factory = _factory(name)
    contacts = getattr(factory, "contacts", None)
    if contacts is not None:
        return bool(contacts(settings))
    return bool(getattr(factory, "remote", False))


def _factory(name: str) -> Callable[..., Any]:
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            try:
                factory: Callable[..., Any] = entry.load()
            except Exception as error:
                why = missing(error) or f"{type(error).__name__}: {error}"
                raise MissingEngineError(
                    f"simulator '{name}' ({entry.value}) cannot be imported: {why}"
                ) from None
            return factory
    raise ArgumentError(f"no simulator '{name}' is registered; known: {', '.join(names())}")
