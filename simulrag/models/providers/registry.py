"""A provider by its name in params.yaml."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.base import Provider
from simulrag.models.settings import ModelSettings

ENTRY_POINTS = "simulrag.models"


def make_provider(settings: ModelSettings) -> Provider:
    """The provider that ``settings.provider`` names; nothing is connected yet.

    Other packages add providers by an entry point of the group ``simulrag.models``: a callable
    that takes the settings. The names that this package uses cannot be taken over.

    Raises InputError for an unknown name and EnvironmentFault where a plug-in cannot be loaded.
    """
    name = settings.provider
    if name in _BUILT_IN:
        return _BUILT_IN[name](settings)
    plug_in = _plug_ins().get(name)
    if plug_in is None:
        raise InputError(
            f"unknown provider '{name}'; known are {', '.join(known_providers())} (others come "
            f"with packages that register in '{ENTRY_POINTS}')"
        )
    try:
        provider: Provider = plug_in.load()(settings)
    except (ImportError, AttributeError) as error:
        raise EnvironmentFault(
            f"provider '{name}' ({plug_in.value}) cannot be loaded: {error}"
        ) from error
    return provider


def known_providers() -> list[str]:
    """The names that ``make_provider`` takes here, sorted."""
    return sorted({*_BUILT_IN, *_plug_ins()})


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _anthropic(settings: ModelSettings) -> Provider:
    from simulrag.models.providers.anthropic import AnthropicProvider

    return AnthropicProvider(settings)


def _local(settings: ModelSettings) -> Provider:
    from simulrag.models.providers.local import LocalProvider

    return LocalProvider(settings)


def _openai(settings: ModelSettings) -> Provider:
    from simulrag.models.providers.openai import OpenAIProvider

    return OpenAIProvider(settings)


_BUILT_IN: dict[str, Callable[[ModelSettings], Provider]] = {
    "anthropic": _anthropic,
    "local": _local,
    "openai": _openai,
}
