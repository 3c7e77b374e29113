"""A model named in one word, as on the command line: ``openai:gpt-5-mini``."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import urlsplit

from pydantic import ValidationError

from simulrag.errors import InputError
from simulrag.models.providers.registry import known_providers
from simulrag.models.settings import ModelSettings

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
FORMS = (
    "openai:gpt-5-mini, anthropic:claude-sonnet-4-5, http://127.0.0.1:11434/v1#qwen3 "
    "(a server of your own and its model) or local:weights.gguf"
)


def model_settings(
    text: str, endpoint: str | None = None, *, key_env: str | None = None, free: bool = False
) -> ModelSettings:
    """The settings of a model: ``provider:model``, or a compatible server's URL ``#model``.

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
    """A name for the server at an address: its host, and its port where one is given."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
        host = f"ip6-{host.replace(':', '-')}" if ":" in host else host.encode("idna").decode()
    except ValueError:  # no address, which is refused in a moment, or a name that DNS cannot have
        host, port = "", None
    name = host if port is None else f"{host}_{port}"
    return name if _NAME.fullmatch(name) else f"at-{sha256(base_url.encode()).hexdigest()[:12]}"
