from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.providers import registry as providers
from simulrag.models.settings import ModelSettings
from simulrag.testing import ScriptedModel


def settings(provider: str) -> ModelSettings:
    return ModelSettings(provider=provider, model="m")


@pytest.mark.parametrize("name", ["anthropic", "openai"])
async def test_built_in_providers(name: str) -> None:
    provider = providers.make_provider(settings(name))
    assert provider.name == name
    await provider.close()


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="'opnai'; known are anthropic, local, openai"):
        providers.make_provider(settings("opnai"))


class Plugged(ScriptedModel):
    """What an entry point may name: a subclass of Provider."""

    name = "plugged"

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings=settings)


def register(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name=name, value=value, group=providers.ENTRY_POINTS)
    monkeypatch.setattr(providers, "entry_points", lambda group: EntryPoints([point]))


def test_a_provider_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "plugged", f"{__name__}:Plugged")
    provider = providers.make_provider(settings("plugged"))
    assert type(provider).__name__ == "Plugged"
    assert providers.known_providers() == ["anthropic", "local", "openai", "plugged"]


def test_a_broken_entry_point_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "plugged", "no_such_package.models:Provider")
    with pytest.raises(EnvironmentFault, match=r"'plugged' \(no_such_package"):
        providers.make_provider(settings("plugged"))


def test_an_entry_point_names_a_subclass(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "plugged", f"{__name__}:settings")
    with pytest.raises(EnvironmentFault, match="not a subclass of"):
        providers.make_provider(settings("plugged"))


def test_an_entry_point_cannot_take_over_a_built_in_name(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, "openai", f"{__name__}:Plugged")
    assert type(providers.make_provider(settings("openai"))).__name__ == "OpenAIProvider"
