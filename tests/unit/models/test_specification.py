"""A model named in one word."""

from __future__ import annotations

import pytest

from simulrag.errors import InputError
from simulrag.models.providers.registry import model_settings
from simulrag.models.settings import ModelSettings


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
                "endpoint": "127.0.0.1_11434",
            },
        ),
        (
            "https://Models.Example.org/v1#m",
            {
                "provider": "openai",
                "model": "m",
                "base_url": "https://Models.Example.org/v1",
                "endpoint": "models.example.org",
            },
        ),
        (
            "http://[::1]:8000/v1#m",
            {
                "provider": "openai",
                "model": "m",
                "base_url": "http://[::1]:8000/v1",
                "endpoint": "ip6---1_8000",
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
    ],
)
def test_what_is_not_a_model(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        model_settings(text)


def test_an_endpoint_is_named_by_the_user_or_by_the_address() -> None:
    assert model_settings("http://127.0.0.1:1/v1#m", "own").endpoint == "own"
    assert model_settings("openai:m", "batch-account").endpoint == "batch-account"
    with pytest.raises(InputError, match="an endpoint's name has small letters"):
        model_settings("http://127.0.0.1:1/v1#m", "Our Server")


def test_no_two_servers_have_one_name() -> None:
    urls = [
        *(
            "http://jp:1",
            "http://日本.jp:1",
            "http://日.jp:1",
            "http://a-1",
            "http://a:1",
            "http://a:11",
        ),
        *("http://[::1]:8000", "http://1:8000", "http://a_1", "http://-"),
    ]
    assert len({model_settings(f"{url}/v1#m").endpoint for url in urls}) == len(urls) - 1  # a_1


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:99999999/v1", "http://[::1/v1", "http://", "http://:80", "http:///v1"],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InputError, match="base_url must start"):
        model_settings(f"{url}#m")


def test_a_password_in_a_url_is_not_repeated() -> None:
    with pytest.raises(InputError, match="base_url must start") as caught:
        model_settings("http://me:secret@127.0.0.1/v1#m")
    assert "secret" not in str(caught.value)
