"""The price table: what it knows, and how a wrong line is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.errors import InputError
from simulrag.models.prices import Price, read_prices
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


def test_our_table_is_valid_and_finds_dated_names() -> None:
    table = read_prices(ROOT / "prices.yaml")
    plain = table.find(("openai", "default", "gpt-5-mini"))
    assert plain is not None
    assert table.find(("openai", "default", "gpt-5-mini-2025-08-07")) == plain
    assert table.find(("anthropic", "default", "claude-haiku-4-5-20251001")) is not None
    assert table.find(("openai", "lab-gpu", "gpt-5-mini")) is None
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
