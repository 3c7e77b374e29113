"""The registry of metrics: a function in a file of this folder, found by being there.

A family is a function of a domain's data that yields rows of the long table::

    @metric("boundary")
    def boundary(data: DomainData) -> Iterator[Measurement]: ...
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator

from simulrag.metrics.domain import DomainData
from simulrag.metrics.table import Measurement

Family = Callable[[DomainData], Iterator[Measurement]]

_FAMILIES: dict[str, tuple[tuple[str, ...], Family]] = {}


def metric(*names: str) -> Callable[[Family], Family]:
    """Register a function; ``names`` are the families of the rows it yields."""

    def register(function: Family) -> Family:
        _FAMILIES[function.__name__] = (names, function)
        return function

    return register


def registered() -> dict[str, tuple[tuple[str, ...], Family]]:
    """Import all; return functions with their families' names, sorted by the function's name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_FAMILIES.items()))


def measure(data: DomainData) -> list[Measurement]:
    """Measure a domain: the long table's rows. Raises InputError for impossible data."""
    rows: list[Measurement] = []
    for name, (names, function) in registered().items():
        for row in function(data):
            if row.family not in names:
                raise ValueError(f"{name} yields the family '{row.family}' and registered {names}")
            rows.append(row)
    return rows
