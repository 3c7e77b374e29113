"""Whether calls cost money: in doubt they do."""

from __future__ import annotations

import pytest

from simulrag.models.providers.payment import costs_money, is_paid, reply_limit
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings


@pytest.mark.parametrize(
    ("base_url", "paid"),
    [
        (None, True),
        ("https://eu.api.openai.com/v1", True),
        ("https://openrouter.ai/api/v1", True),
        ("http://8.8.8.8/v1", True),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://localhost:11434/v1", False),
        ("http://gpu-node-7:8000/v1", False),
        ("http://192.168.1.20:1234/v1", False),
        ("http://workstation.local/v1", False),
    ],
)
def test_a_server_elsewhere_costs_money(base_url: str | None, paid: bool) -> None:
    assert costs_money(None, base_url) is paid
    assert costs_money(not paid, base_url) is not paid  # what params.yaml states stands


def test_providers_say_it_themselves() -> None:
    offline = make_provider(ModelSettings(model="offline-rules-1"))
    theirs = make_provider(ModelSettings(provider="anthropic", model="m"))
    assert not is_paid(offline)
    assert is_paid(theirs)
    assert reply_limit(theirs) == 8192
    assert reply_limit(offline) is None
