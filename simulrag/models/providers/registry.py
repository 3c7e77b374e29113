"""A provider by its name in params.yaml, and a model named in one word: ``openai:gpt-5-mini``."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from urllib.parse import urlsplit

from pydantic import ValidationError

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

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
FORMS = (
    "openai:gpt-5-mini, anthropic:claude-sonnet-4-5, http://127.0.0.1:11434/v1#qwen3 "
    "(a server of your own and its model) or local:weights.gguf"
)


def make_provider(settings: ModelSettings) -> Provider:
    """Make the provider that ``settings.provider`` names; nothing is connected yet.

    Raises what ``provider_class`` raises, and InputError for settings that it does not take.
    """
    return provider_class(settings.provider)(settings)


def provider_class(name: str) -> type[Provider]:
    """Load a provider's class.

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
    """List the names that ``make_provider`` takes here, sorted."""
    return sorted({*_BUILT_IN, *_plug_ins()})


def is_local(name: str) -> bool:
    """Tell whether a provider works on this machine; one that is not installed does not."""
    try:
        return provider_class(name).local
    except (InputError, EnvironmentFault):
        return False


def _plug_ins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def model_settings(
    text: str, endpoint: str | None = None, *, key_env: str | None = None, free: bool = False
) -> ModelSettings:
    """Read a model's settings from ``provider:model``, or a compatible server's URL ``#model``.

    ``endpoint`` names the server in the keys of its calls; by default a URL's host and port, so
    that two servers with a model of one name share no reply. ``key_env``: the name of the variable
    that holds its key. ``free``: the calls of a server at an address cost nothing. The sampling is
    the provider's own. Raises InputError.
    """
    text = text.strip()
    if text.startswith(("http://", "https://")):
        base_url, _, model = text.partition("#")
        if not model:
            raise InputError(f"'{base_url}' names no model; write {base_url}#MODEL")
        given = {"provider": "openai", "base_url": base_url, "endpoint": _named_by(base_url)}
    else:
        provider, colon, model = text.partition(":")
        if not colon or not model:
            raise InputError(f"'{text}' is not a model; name one as {FORMS}")
        if provider not in known_providers():
            known = ", ".join(known_providers())
            raise InputError(f"unknown provider '{provider}' in '{text}'; known are {known}")
        given = {"provider": provider}
    if free and "base_url" not in given:
        raise InputError(
            "--free is for a server of your own, named by its address: http://HOST:PORT/v1#MODEL"
        )
    if endpoint is not None:
        given["endpoint"] = endpoint
    if key_env is not None:
        given["api_key_env"] = key_env
    try:
        return ModelSettings.model_validate(
            {**given, "model": model, **({"paid": False} if free else {})}
        )
    except ValidationError as error:
        # The input is left out: a URL may hold a password.
        first = error.errors(include_input=False)[0]
        problem = first["msg"].removeprefix("Value error, ")
        if first["loc"] == ("endpoint",) and endpoint is not None:
            raise InputError(
                "an endpoint's name has small letters, digits, '.', '-' and '_'"
            ) from None
        if problem.startswith("api_key_env"):
            raise InputError(f"--key-env: {problem}") from None
        raise InputError(f"this names no model ({problem}); name one as {FORMS}") from None


def _named_by(base_url: str) -> str:
    """Name the server at an address: its host, and its port where one is given."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
        host = f"ip6-{host.replace(':', '-')}" if ":" in host else host.encode("idna").decode()
    except ValueError:  # no address, which is refused in a moment, or a name that DNS cannot have
        host, port = "", None
    name = host if port is None else f"{host}_{port}"
    return name if _NAME.fullmatch(name) else f"at-{sha256(base_url.encode()).hexdigest()[:12]}"
