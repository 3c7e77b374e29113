"""A model named in one word, as on the command line: ``openai:gpt-5-mini``."""

from __future__ import annotations

from pydantic import ValidationError

from simulrag.errors import InputError
from simulrag.models.providers.registry import known_providers
from simulrag.models.settings import ModelSettings

OWN_ENDPOINT = "own"
"""The endpoint of a server that is named by its address.

The address is in no key, so that it may move. A server with another model under the same name is
told apart by an ``endpoint`` of its own in params.yaml.
"""

FORMS = (
    "openai:gpt-5-mini, anthropic:claude-sonnet-4-5, http://127.0.0.1:11434/v1#qwen3 "
    "(a server of your own and its model) or local:weights.gguf"
)


def model_settings(text: str) -> ModelSettings:
    """The settings of a model: ``provider:model``, or a compatible server's URL ``#model``.

    The sampling is the provider's own. Raises InputError.
    """
    text = text.strip()
    if text.startswith(("http://", "https://")):
        base_url, _, model = text.partition("#")
        if not model:
            raise InputError(f"'{base_url}' names no model; write {base_url}#MODEL")
        given = {"provider": "openai", "base_url": base_url, "endpoint": OWN_ENDPOINT}
    else:
        provider, colon, model = text.partition(":")
        if not colon or not model:
            raise InputError(f"'{text}' is not a model; name one as {FORMS}")
        if provider not in known_providers() and provider != "offline":
            known = ", ".join(known_providers())
            raise InputError(f"unknown provider '{provider}' in '{text}'; known are {known}")
        given = {"provider": provider}
    try:
        return ModelSettings.model_validate({**given, "model": model})
    except ValidationError as error:
        # The input is left out: a URL may hold a password.
        problem = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"this names no model ({problem}); name one as {FORMS}") from None
