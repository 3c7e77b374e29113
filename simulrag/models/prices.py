"""What tokens cost: the package genai-prices, and what a user states beside it (prices.yaml)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from simulrag.errors import InputError, first_problem
from simulrag.records import Usage

PER = 1_000_000
PACKAGED = frozenset({"anthropic", "openai"})
"""Providers whose prices are the package's: others may mean anything by a model's name."""

AS_OF = "2026-11"
"""The month whose prices of the package are used: fixed, so that equal calls cost the same in every
run. To be moved together with the package's version."""

MAX_REPLY_TOKENS = {
    "gpt-5": 128_000,
    "gpt-4.1": 32_768,
    "gpt-4o": 16_384,
    "claude-": 128_000,
    "claude-opus-4": 64_000,
    "claude-sonnet-4": 64_000,
    "claude-haiku-4": 64_000,
}
"""Tokens, by the beginning of a model's name, from the providers' pages: the package has none."""

_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")

ModelName = tuple[str, str, str]
"""Provider, named endpoint, model: what a call's key names."""


class Price(BaseModel):
    """The price of one model, in US dollars per million tokens, as of a month or day."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    provider: str
    model: str
    endpoint: str = "default"
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    max_output: int | None = Field(default=None, ge=1)
    # YAML reads a whole date as a date and a month as text; both stay text here.
    as_of: Annotated[str, BeforeValidator(str), Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]

    def cost(self, usage: Usage) -> float:
        """US dollars for some usage; cached and written tokens are among its input tokens."""
        read, written = usage.cached_input_tokens, usage.cache_write_tokens
        plain = max(0, usage.input_tokens - read - written)
        cached = self.input if self.cached_input is None else self.cached_input
        write = self.input if self.cache_write is None else self.cache_write
        total = plain * self.input + read * cached + written * write
        return (total + usage.output_tokens * self.output) / PER

    def bound(self, input_tokens: int, output_tokens: int) -> float:
        """Return the most that so many tokens may cost, wherever the input was read from."""
        dearest = max(self.input, self.cached_input or 0.0, self.cache_write or 0.0)
        return (input_tokens * dearest + output_tokens * self.output) / PER


class PriceTable(BaseModel):
    """What the user states of prices; what is not stated is the package genai-prices'.

    ``batch_share``: what a token in a batch costs of a plain one. ``max_output``: the longest reply
    in tokens, by the beginning of a model's name, the longest beginning first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: Literal["USD"] = "USD"
    batch_share: float = Field(default=0.5, gt=0, le=1)
    max_output: dict[str, int] = MAX_REPLY_TOKENS
    models: tuple[Price, ...] = ()

    def share(self, service: str) -> float:
        """Return a service's share of the plain price: ``batch_share`` of a batch, else all."""
        return self.batch_share if service == "batch" else 1.0

    def find(self, name: ModelName) -> Price | None:
        """Find the price of a model, the user's own before the package's.

        A dated name finds the line without its date.
        """
        provider, endpoint, model = name
        for wanted in (model, _DATED.sub("", model)):
            for price in self.models:
                if (price.provider, price.endpoint, price.model) == (provider, endpoint, wanted):
                    return self._bounded(price)
        known = _packaged(provider, model) if endpoint == "default" else None
        return None if known is None else self._bounded(known)

    def _bounded(self, price: Price) -> Price:
        if price.max_output is not None:
            return price
        known = [name for name in self.max_output if price.model.startswith(name)]
        longest = self.max_output[max(known, key=len)] if known else None
        return price.model_copy(update={"max_output": longest})


@lru_cache(maxsize=256)
def _packaged(provider: str, model: str) -> Price | None:
    """Read the standard rates that the package's own files hold for ``AS_OF``, offline.

    Surcharges for very long prompts are left out.
    """
    if provider not in PACKAGED:
        return None
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    try:
        _, listed = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    rates = listed.get_prices(datetime.strptime(AS_OF, "%Y-%m").replace(tzinfo=UTC))
    parts = {
        "input": rates.input_mtok,
        "output": rates.output_mtok,
        "cached_input": rates.cache_read_mtok,
        "cache_write": rates.cache_write_mtok,
    }
    stated: dict[str, float] = {}
    for name, rate in parts.items():
        if rate is not None:
            stated[name] = float(rate.base if isinstance(rate, TieredPrices) else rate)
    if not {"input", "output"} <= set(stated):
        return None
    return Price.model_validate({"provider": provider, "model": model, "as_of": AS_OF, **stated})


def read_prices(path: Path | None) -> PriceTable:
    """Read the table of a file, one without lines where there is no file. Raises InputError."""
    if path is None:
        return PriceTable()
    try:
        raw = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return PriceTable()
    except (OSError, UnicodeDecodeError, YAMLError, RecursionError) as error:
        raise InputError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from None
    try:
        table = PriceTable.model_validate(raw)
    except ValidationError as error:
        raise InputError(f"{path.name}: {first_problem(error, 'file')}") from None
    names = [(price.provider, price.endpoint, price.model) for price in table.models]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path.name}: {'/'.join(name)} has two prices; keep one line")
    return table


def no_longest_reply(model: str) -> InputError:
    """Make the error for a model whose replies have no bound that a budget could reserve."""
    return InputError(
        f"a budget needs to know the longest reply of {model}: set sampling.max_output_tokens in "
        "params.yaml, or max_output in prices.yaml"
    )


def no_price(name: ModelName) -> InputError:
    """Make the error for a paid model that the table does not know."""
    provider, endpoint, model = name
    at = "" if endpoint == "default" else f", endpoint: {endpoint}"
    return InputError(
        f"no price is known of {provider}:{model} (endpoint {endpoint}): add the line "
        f"'- {{provider: {provider}{at}, model: {model}, input: ..., output: ..., as_of: ...}}' "
        "under models in prices.yaml, from your provider's page; a budget of tokens needs none"
    )
