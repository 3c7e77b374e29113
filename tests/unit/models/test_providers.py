"""Providers by name and by entry point: who is paid, who gets which key."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.providers import registry
from simulrag.models.providers.base import is_own_server
from simulrag.models.providers.faults import NO_KEY, scrub
from simulrag.models.providers.registry import is_local, make_provider
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
    with pytest.raises(InputError, match="'opnai'; known are anthropic, local, openai"):
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
    assert registry.known_providers() == ["anthropic", "local", "openai", "plugged", "stand-in"]


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
