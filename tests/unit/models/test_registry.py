"""Providers by name and by entry point: who is paid, who gets which key; models in one word."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.providers import registry
from simulrag.models.providers.base import is_own_server
from simulrag.models.providers.faults import NO_KEY, scrub
from simulrag.models.providers.registry import is_local, make_provider, model_settings
from simulrag.models.settings import ModelSettings
from simulrag.testing import ScriptedModel


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
    assert is_own_server(base_url) is not paid
    settings = ModelSettings(provider="openai", model="m", base_url=base_url)
    assert make_provider(settings).paid is paid
    stated = settings.model_copy(update={"paid": not paid})
    assert make_provider(stated).paid is not paid  # what params.yaml states stands
    replayed = settings.model_copy(update={"replay": True})
    assert not make_provider(replayed).paid


@pytest.mark.parametrize(
    ("provider", "base_url", "variable"),
    [
        ("openai", None, "OPENAI_API_KEY"),
        ("openai", "https://eu.api.openai.com/v1", "OPENAI_API_KEY"),
        ("openai", "http://api.openai.com/v1", None),
        ("openai", "https://notopenai.com/v1", None),
        ("openai", "https://api.openai.com.example.org/v1", None),
        ("openai", "http://127.0.0.1:8000/v1", None),
        ("anthropic", None, "ANTHROPIC_API_KEY"),
        ("anthropic", "http://127.0.0.1:8000/v1", None),
    ],
)
def test_which_key_goes_where(
    provider: str, base_url: str | None, variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ModelSettings(provider=provider, model="m", base_url=base_url)
    assert make_provider(settings).key_variable == variable
    named = make_provider(settings.model_copy(update={"api_key_env": "LAB_KEY"}))
    assert named.key_variable == "LAB_KEY"
    assert not named.key_is_set
    monkeypatch.setenv("LAB_KEY", "x")
    assert named.key_is_set


def test_who_works_on_this_machine() -> None:
    assert is_local("local")
    assert not is_local("openai")
    assert not is_local("a plug-in that is gone")


def test_scrubbing() -> None:
    assert scrub("bad key sk-0123456789\n (401)", "sk-0123456789") == "bad key *** (401)"
    assert len(scrub("x" * 5000, "sk-0123456789")) == 300
    # A key across the cut must not leave its beginning behind.
    assert "sk-" not in scrub("x" * 295 + "sk-0123456789", "sk-0123456789")
    # Placeholders of local servers are words.
    assert scrub("the list is EMPTY", "EMPTY") == "the list is EMPTY"
    assert scrub(NO_KEY, NO_KEY) == NO_KEY


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="'opnai'; known are anthropic,"):
        make_provider(ModelSettings(provider="opnai", model="m"))


class Plugged(ScriptedModel):
    """What an entry point may name: a subclass of Provider."""

    name = "plugged"

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings=settings)


def register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name=name, value=value, group=registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([point]))


def test_a_provider_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "plugged", f"{__name__}:Plugged")
    provider = make_provider(ModelSettings(provider="plugged", model="m"))
    assert type(provider).__name__ == "Plugged"
    assert {"anthropic", "local", "openai", "plugged"} <= set(registry.known_providers())


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_package.models:Provider", r"'plugged' \(no_such_package"),
        (f"{__name__}:register", "not a subclass of"),
    ],
)
def test_an_entry_point_that_is_no_provider_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, why: str
) -> None:
    register(monkeypatch, "plugged", value)
    with pytest.raises(EnvironmentFault, match=why):
        make_provider(ModelSettings(provider="plugged", model="m"))


def test_an_entry_point_cannot_take_over_a_built_in_name(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "openai", f"{__name__}:Plugged")
    assert make_provider(ModelSettings(provider="openai", model="m")).name == "openai"


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
        ("opnai:gpt-5", "unknown provider 'opnai'.*known are anthropic, "),
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
