"""A model named in one word."""

from __future__ import annotations

import pytest

from simulrag.errors import InputError
from simulrag.models.settings import ModelSettings
from simulrag.models.specification import model_settings


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("openai:gpt-5-mini", {"provider": "openai", "model": "gpt-5-mini"}),
        (" anthropic:claude-sonnet-4-5 ", {"provider": "anthropic", "model": "claude-sonnet-4-5"}),
        ("local:~/weights.gguf", {"provider": "local", "model": "~/weights.gguf"}),
        (
            "http://127.0.0.1:11434/v1#qwen3:8b",
            {
                "provider": "openai",
                "model": "qwen3:8b",
                "base_url": "http://127.0.0.1:11434/v1",
                "endpoint": "own",
            },
        ),
    ],
)
def test_a_model_in_one_word(text: str, settings: dict[str, str]) -> None:
    assert model_settings(text) == ModelSettings.model_validate(settings)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("gpt-5-mini", "'gpt-5-mini' is not a model; name one as openai:gpt-5-mini"),
        ("openai:", "is not a model"),
        ("opnai:gpt-5", "unknown provider 'opnai'.*known are anthropic, local, openai"),
        ("http://127.0.0.1:11434/v1", "names no model; write http://127.0.0.1:11434/v1#MODEL"),
        ("offline:offline-1", "`simulrag use openai:gpt-5-mini` sets a model of your own"),
    ],
)
def test_what_is_not_a_model(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        model_settings(text)


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(InputError, match="base_url must start") as caught:
        model_settings("http://me:secret@127.0.0.1/v1#m")
    assert "secret" not in str(caught.value)
