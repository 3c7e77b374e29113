"""A provider by its name in params.yaml."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from simulrag.errors import EnvironmentFault, InputError
from simulrag.models.providers.base import Provider
from simulrag.models.settings import ModelSettings

ENTRY_POINTS = "simulrag.models"

_BUILT_IN = {
    "anthropic": "AnthropicProvider",
    "local": "LocalProvider",
    "openai": "OpenAIProvider",
    "stand-in": "StandInProvider",
}
"""Modules of this package, each imported when it is named, and their classes."""


def make_provider(settings: ModelSettings) -> Provider:
    """The provider that ``settings.provider`` names; nothing is connected yet.

    Raises what ``provider_class`` raises, and InputError for settings that it does not take.
    """
    return provider_class(settings.provider)(settings)


def provider_class(name: str) -> type[Provider]:
    """A provider's class.

    Other packages add providers by an entry point of the group ``simulrag.models``: a subclass of
    ``Provider``. The names that this package uses cannot be taken over.

    Raises InputError for an unknown name and EnvironmentFault where a plug-in cannot be loaded.
    """
    if name in _BUILT_IN:
        module = import_module(f"simulrag.models.providers.{name.replace('-', '_')}")
        built_in: type[Provider] = vars(module)[_BUILT_IN[name]]
        return built_in
    plug_in = _plug_ins().get(name)
    if plug_in is None:
        raise InputError(
            f"unknown provider '{name}'; known are {', '.join(known_providers())} (others come "
            f"with packages that register in '{ENTRY_POINTS}')"
        )
    try:
        loaded = plug_in.load()
    except (ImportError, AttributeError) as error:
        raise EnvironmentFault(
            f"provider '{name}' ({plug_in.value}) cannot be loaded: {error}"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, Provider)):
        raise EnvironmentFault(
            f"provider '{name}' ({plug_in.value}) is not a subclass of "
            "simulrag.models.providers.base.Provider"
        )
    return loaded


def known_providers() -> list[str]:
    """The names that ``make_provider`` takes here, sorted."""
    return sorted({*_BUILT_IN, *_plug_ins()})


def is_local(name: str) -> bool:
    """Whether a provider works on this machine; one that is not installed (any more) does not."""
    try:
        return provider_class(name).local
    except (InputError, EnvironmentFault):
        return False


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
