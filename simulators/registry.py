"""Simulators by name, through the entry point group ``simulrag.simulators``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from simulators.base import ArgumentError, MissingEngineError, Simulator

_EXTRAS = {
    "bm25s": "documents",
    "dvc": "pipeline",
    "fastapi": "pipeline",
    "mcp": "remote",
    "numba": "epidemiology",
    "polars": "pipeline",
    "prefect": "pipeline",
    "rapidfuzz": "climate",
    "sacrebleu": "pipeline",
    "scipy": "pipeline",
    "sklearn": "pipeline",
    "sqlalchemy": "pipeline",
    "torch": "emulators",
}
"""By the package that is imported; pyproject.toml says what each extra holds."""
GROUP = "simulrag.simulators"


def missing(error: BaseException) -> str:
    """Say how to install what an import did not find; "" where no extra brings it."""
    package = _not_found(error)
    if package not in _EXTRAS:
        return ""
    alone = f" (or {package} alone)" if package == "polars" else ""
    return f"this needs {package}: pip install 'simulrag[{_EXTRAS[package]}]'{alone}"


def _not_found(error: BaseException) -> str:
    return (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""


def names() -> list[str]:
    """List the registered names, sorted."""
    return sorted(entry.name for entry in entry_points(group=GROUP))


def load(name: str, settings: Mapping[str, Any] | None = None) -> Simulator:
    """Make the simulator of a registered name, or ``module:Class``, with ``settings``."""
    factory = _factory(name)
    try:
        simulator = factory(**(settings or {}))
    except TypeError as error:
        raise ArgumentError(f"the settings of simulator '{name}' do not fit: {error}") from None
    if not isinstance(simulator, Simulator):
        raise ArgumentError(f"simulator '{name}' is not a Simulator (see simulators/base.py)")
    return simulator


def sources_of(name: str, settings: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return name and settings of each source of a joined simulator; of another, its own."""
    sources = settings.get("sources")
    if name != "joined" or not isinstance(sources, list | tuple):
        return [(name, settings)]
    named: list[Mapping[str, Any]] = [
        source if isinstance(source, Mapping) else {"name": source} for source in sources
    ]
    return [(str(source.get("name")), source.get("settings") or {}) for source in named]


def reaches_out(name: str) -> bool:
    """Tell whether making this simulator starts or contacts a third-party service.

    The class says so, by a true ``remote``.
    """
    return bool(getattr(_factory(name), "remote", False))


def no_package(module: str) -> str:
    """Say why a module's folder is no package; "" where it is one, or not there.

    Python takes any folder for a package (a namespace), and its files could lie anywhere.
    """
    top = sys.modules.get(module.partition(".")[0])
    if top is None or not hasattr(top, "__path__") or top.__file__ is not None:
        return ""
    folder = Path(next(iter(top.__path__), top.__name__))
    instead = "add one that imports the class, or begin in the folder that holds the package"
    if (folder / "pyproject.toml").is_file():
        instead = "begin in it, or have its package in src/ and install it"
    return f"{folder} has no __init__.py, so it is no package: {instead}"


def _factory(name: str) -> Callable[..., Any]:
    registered = [EntryPoint(name, name, GROUP)] if ":" in name else entry_points(group=GROUP)
    for entry in registered:
        if entry.name == name:
            try:
                factory: Callable[..., Any] = entry.load()
            except Exception as error:
                why = no_package(entry.module) or missing(error)
                if not why and _not_found(error) == entry.module.partition(".")[0]:
                    why = f"{entry.module} is not installed and not in this folder"
                why = why or f"{type(error).__name__}: {error}"
                where = "" if entry.value == name else f" ({entry.value})"
                raise MissingEngineError(
                    f"simulator '{name}'{where} cannot be imported: {why}"
                ) from None
            return factory
    raise ArgumentError(f"no simulator '{name}' is registered; known: {', '.join(names())}")
