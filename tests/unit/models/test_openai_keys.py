from __future__ import annotations

import pytest

from simulrag.models.providers.credentials import NO_KEY, scrub
from simulrag.models.providers.openai import key_variable
from simulrag.models.settings import ModelSettings


@pytest.mark.parametrize(
    ("base_url", "variable"),
    [
        (None, "OPENAI_API_KEY"),
        ("https://eu.api.openai.com/v1", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", None),
        ("https://notopenai.com/v1", None),
        ("https://api.openai.com.example.org/v1", None),
        ("http://127.0.0.1:8000/v1", None),
    ],
)
def test_which_key_goes_where(base_url: str | None, variable: str | None) -> None:
    settings = ModelSettings(provider="openai", model="m", base_url=base_url)
    assert key_variable(settings) == variable
    named = settings.model_copy(update={"api_key_env": "LAB_KEY"})
    assert key_variable(named) == "LAB_KEY"


def test_scrubbing() -> None:
    assert scrub("bad key sk-0123456789\n (401)", "sk-0123456789") == "bad key *** (401)"
    assert len(scrub("x" * 5000, "sk-0123456789")) == 300
    # A key across the cut must not leave its beginning behind.
    assert "sk-" not in scrub("x" * 295 + "sk-0123456789", "sk-0123456789")
    # Placeholders of local servers are words.
    assert scrub("the list is EMPTY", "EMPTY") == "the list is EMPTY"
    assert scrub(NO_KEY, NO_KEY) == NO_KEY
