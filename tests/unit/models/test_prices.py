"""The price table: what it knows, and how a wrong line is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.errors import InputError
from simulrag.models.prices import Price, PriceTable, read_prices
from simulrag.records import Usage

ROOT = Path(__file__).parents[3]


def test_each_kind_of_token_has_its_price() -> None:
    price = Price(
        provider="p",
        model="m",
        input=2,
        cached_input=0.5,
        cache_write=3,
        output=10,
        as_of="2026-10",
    )
    usage = Usage(
        calls=1,
        input_tokens=1_000_000,
        cached_input_tokens=400_000,
        cache_write_tokens=100_000,
        output_tokens=50_000,
    )
    assert price.cost(usage) == pytest.approx(0.5 * 2 + 0.4 * 0.5 + 0.1 * 3 + 0.05 * 10)
    assert price.bound(1_000_000, 50_000) == pytest.approx(3 + 0.5)


def test_a_price_left_out_is_the_input_s() -> None:
    price = Price(provider="p", model="m", input=2, output=10, as_of="2026-10-31")
    usage = Usage(input_tokens=1_000_000, cached_input_tokens=1_000_000)
    assert price.cost(usage) == pytest.approx(2)


def test_the_package_knows_prices_and_dated_names_and_our_table_wins() -> None:
    table = read_prices(ROOT / "prices.yaml")
    plain = table.find(("openai", "default", "gpt-5-mini"))
    assert plain is not None
    dated = table.find(("openai", "default", "gpt-5-mini-2025-08-07"))
    assert dated is not None
    assert (dated.input, dated.output) == (plain.input, plain.output)
    assert table.find(("anthropic", "default", "claude-haiku-4-5-20251001")) is not None
    assert (plain.input, plain.output, plain.cached_input) == (0.25, 2.0, 0.025)
    assert plain.max_output == 128_000
    haiku = table.find(("anthropic", "default", "claude-haiku-5-5"))
    assert haiku is not None
    assert (haiku.input, haiku.cache_write) == (0.1, 0.125)  # of prices by length the standard one
    own = Price(provider="openai", model="gpt-5-mini", input=1, output=2, as_of="2026-10")
    found = PriceTable(models=(own,)).find(("openai", "default", "gpt-5-mini"))
    assert found == own.model_copy(update={"max_output": 128_000})
    assert table.find(("openai", "lab-gpu", "gpt-5-mini")) is None
    assert table.find(("file", "default", "gpt-5-mini")) is None
    assert table.find(("openai", "default", "gpt-5-mini-of-mine")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("models: [{provider: p, model: m, input: 1, output: -1, as_of: 2026-10}]", "output"),
        ("models: [{provider: p, model: m, input: 1, output: 1}]", "as_of"),
        ("currency: EUR", "currency"),
        ("models: [", "cannot be read"),
        (
            "models:\n"
            "  - {provider: p, model: m, input: 1, output: 1, as_of: 2026-10}\n"
            "  - {provider: p, model: m, input: 2, output: 1, as_of: 2026-11}\n",
            "two prices",
        ),
    ],
)
def test_a_wrong_table_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"prices\.yaml.*{said}"):
        read_prices(file)
