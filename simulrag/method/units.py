"""Values in the unit that a claim uses, by pint."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_NAMES = {
    "%": "percent",
    "per cent": "percent",
    "percentage point": "percent",
    "percentage points": "percent",
    "metric tons": "metric_ton",
    "-": "dimensionless",
    "ratio": "dimensionless",
    "°c": "degC",
    "celsius": "degC",
    "degree celsius": "degC",
    "degrees celsius": "degC",
    "°f": "degF",
    "fahrenheit": "degF",
    "degrees fahrenheit": "degF",
}
"""Units as texts write them, by the library's name; the library knows the usual ones itself."""


def converter(claimed: str | None, given: str | None, *, difference: bool) -> Any | None:
    """From a number in ``given`` to one in ``claimed``; None where they cannot be compared.

    A number without a unit has that of the output. Things that are counted (people, cars) are no
    units: two such words are the same. ``difference``: of temperatures, which have no zero then.
    """
    wanted, have = _name(claimed), _name(given)
    plain = have == "degC" and wanted in ("degree", "degrees")
    if wanted is None or wanted == have or plain:
        return lambda value: value
    one, other = _unit(wanted, difference), _unit(have, difference)
    if one is None or other is None:
        return (lambda value: value) if one is other else None
    if one.dimensionality != other.dimensionality:
        return None
    registry = _registry()
    return lambda value: float(registry.Quantity(value, other).to(one).magnitude)


def is_percent(unit: str | None) -> bool:
    """Whether a unit is the percent sign, in any writing."""
    return _name(unit) == "percent"


def _name(unit: str | None) -> str | None:
    if unit is None or not unit.strip():
        return None
    return _NAMES.get(unit.strip().casefold(), unit.strip())


@lru_cache(maxsize=256)
def _unit(name: str | None, difference: bool) -> Any | None:
    """The library's unit; None for what it does not know, such as people."""
    if name is None:
        return None
    if difference and name in ("degC", "degF"):
        name = f"delta_{name}"
    try:
        return _registry().parse_units(name)
    except Exception:
        return None


@lru_cache(maxsize=1)
def _registry() -> Any:
    from pint import UnitRegistry  # late: half a second

    return UnitRegistry()
