"""What the exports of calls say: usage by model with its price, and estimates of tokens.

``pricing`` is the one place where metrics look at prices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simulrag.errors import InputError
from simulrag.records import CHARACTERS_PER_TOKEN, Usage

if TYPE_CHECKING:
    import polars as pl

UNCOUNTED = "the tokens of these replies were not counted (they came by files)"

ModelName = tuple[str, str, str]
"""Provider, named endpoint, model: what a call's key names."""

_NAMES = ("provider", "endpoint", "model")
_TASK = "task"


@dataclass(frozen=True)
class Estimated:
    """Calls and their tokens by characters."""

    calls: int
    input_tokens: float
    output_tokens: float

    def __add__(self, other: Estimated) -> Estimated:
        return Estimated(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True)
class ModelCalls:
    """All calls of one model that a stage's results rest on, whoever paid for them and when."""

    name: ModelName
    usage: Usage
    estimated: Estimated

    @property
    def shown(self) -> str:
        """The model as a table names it."""
        provider, endpoint, model = self.name
        return f"{provider}:{model}" + ("" if endpoint == "default" else f" ({endpoint})")


@dataclass(frozen=True)
class Exported:
    """A stage's export of calls. ``tasks``: estimates by task, of rows that name theirs."""

    models: tuple[ModelCalls, ...]
    tasks: Mapping[str, Estimated]


def read_export(path: Path) -> Exported:
    """Read usage and estimates of an export in parts. Raises InputError for another file."""
    import polars as pl

    request, usage, response = pl.col("request"), pl.col("usage"), pl.col("response")
    messages = pl.Struct({"messages": pl.List(pl.Struct({"content": pl.String}))})
    length = pl.element().struct.field("content").str.len_chars()
    columns = [
        *(request.str.json_path_match(f"$.{name}").fill_null("").alias(name) for name in _NAMES),
        *(
            usage.str.json_path_match(f"$.{name}").cast(pl.Int64).fill_null(0).alias(name)
            for name in Usage.model_fields
        ),
        request.str.json_decode(messages).struct[0].list.eval(length).list.sum().alias("asked"),
        response.str.json_path_match("$").str.strip_chars().str.len_chars().alias("said"),
    ]
    try:
        scan = pl.scan_parquet(path)
        task = pl.col(_TASK) if _TASK in scan.collect_schema() else pl.lit("").alias(_TASK)
        frame = (
            scan.filter(pl.col("kind") == "model")
            .select(*columns, task)
            .group_by(*_NAMES, _TASK)
            .agg(pl.col("asked", "said", *Usage.model_fields).sum(), pl.len().alias("rows"))
            .sort(*_NAMES, _TASK)
            .collect(engine="streaming")
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(
            f"{path} is not an export of calls: {first}; run the stage again"
        ) from None
    return _exported(frame)


def _exported(frame: pl.DataFrame) -> Exported:
    models: dict[ModelName, ModelCalls] = {}
    tasks: dict[str, Estimated] = {}
    for row in frame.iter_rows(named=True):
        name = (row["provider"], row["endpoint"], row["model"])
        usage = Usage(**{count: row[count] for count in Usage.model_fields})
        estimated = Estimated(
            row["rows"],
            (row["asked"] or 0) / CHARACTERS_PER_TOKEN,
            (row["said"] or 0) / CHARACTERS_PER_TOKEN,
        )
        before = models.get(name, ModelCalls(name, Usage(), Estimated(0, 0.0, 0.0)))
        models[name] = ModelCalls(name, before.usage + usage, before.estimated + estimated)
        if task := row[_TASK]:
            tasks[task] = tasks.get(task, Estimated(0, 0.0, 0.0)) + estimated
    return Exported(tuple(models.values()), tasks)


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
    """Return None: no price is known."""
    return None


def pricing(path: Path) -> Pricing:
    """Read the prices of a file. Raises InputError for one that cannot be read."""
    from simulrag.models.prices import read_prices

    table = read_prices(path)

    def priced(name: ModelName, usage: Usage) -> Money | None:
        if name[0] in FREE:
            return Money(0.0)
        price = table.find(name)
        return None if price is None else Money(price.cost(usage), price.as_of)

    return priced
