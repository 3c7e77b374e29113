"""What calls cost: the one place where metrics look at prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simulrag.metrics.exports import ModelName
from simulrag.records import Usage

FREE = frozenset({"local"})
"""Providers without a bill; a server of one's own is free too, but its calls do not say so."""


@dataclass(frozen=True)
class Money:
    """US dollars, and the day or month that the price is of ("" where nothing has a price)."""

    usd: float
    as_of: str = ""


Pricing = Callable[[ModelName, Usage], Money | None]
"""What some usage of a model costs; None where the price is not known."""


def no_prices(_name: ModelName, _usage: Usage) -> Money | None:
    """The pricing that knows no price."""
    return None


def pricing(path: Path) -> Pricing:
    """The prices of a file. Raises InputError for one that cannot be read."""
    from simulrag.models.prices import read_prices

    table = read_prices(path)

    def priced(name: ModelName, usage: Usage) -> Money | None:
        if name[0] in FREE:
            return Money(0.0)
        price = table.find(name)
        return None if price is None else Money(price.cost(usage), price.as_of)

    return priced
