"""Log-probabilities of a reply's first token: as wires send them, and as the call cache keeps them.

A call that asks for them (``Sampling.top_logprobs``) has that number in its key, and its stored
response is an object of text and first tokens; all other calls are keyed and stored without.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from simulrag.errors import InputError
from simulrag.models.base import FirstTokens, Request
from simulrag.models.parsing import InvalidReply
from simulrag.models.settings import ModelSettings

_TOKENS = TypeAdapter(FirstTokens)
_LOWEST = -9999.0
"""What OpenAI sends for a token that is too unlikely to say."""


def first_tokens(content: object) -> FirstTokens:
    """The alternatives at the first token that is not blank, the likeliest first.

    ``content``: a wire's list of tokens, objects or mappings with ``token``, ``logprob`` and
    ``top_logprobs``. What is none of this is left out: compatible servers send many things.
    """
    for token in content if isinstance(content, list) else ():
        if str(_get(token, "token") or "").strip():
            alternatives = dict(_pairs([token, *(_get(token, "top_logprobs") or ())]))
            return tuple(sorted(alternatives.items(), key=lambda pair: (-pair[1], pair[0])))
    return ()


def response_of(request: Request, text: str, tokens: FirstTokens) -> JsonValue:
    """What is stored of a reply."""
    if request.sampling.top_logprobs is None:
        return text
    return {"text": text, "first_tokens": [[token, value] for token, value in tokens]}


def read_response(request: Request, stored: JsonValue) -> tuple[JsonValue, FirstTokens]:
    """The reply in what is stored, and its first tokens. Raises InvalidReply."""
    if request.sampling.top_logprobs is None:
        return stored, ()
    try:
        if not isinstance(stored, dict):
            raise ValueError("no object of text and first tokens")
        return stored["text"], _TOKENS.validate_python(stored["first_tokens"])
    except (KeyError, ValueError) as error:
        problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InvalidReply(f"stored without its log-probabilities: {problem}") from None


def refuse_logprobs(settings: ModelSettings, why: str) -> None:
    """Raise InputError where any task asks for log-probabilities."""
    samplings = {"the model's own sampling": settings.sampling}
    samplings |= {f"the task '{task}'": sampling for task, sampling in settings.tasks.items()}
    for asks, sampling in samplings.items():
        if sampling.top_logprobs is not None:
            raise InputError(
                f"{why} tells no log-probabilities, which {asks} asks for: leave top_logprobs out "
                "of the sampling, or have replies sampled in their place where the task offers it"
            )


def _pairs(tokens: Iterable[Any]) -> Iterable[tuple[str, float]]:
    for token in tokens:
        text, value = _get(token, "token"), _get(token, "logprob")
        number = isinstance(value, int | float) and math.isfinite(value)
        if isinstance(text, str) and number and value > _LOWEST:
            yield text, min(0.0, float(value))


def _get(token: Any, name: str) -> Any:
    return token.get(name) if isinstance(token, Mapping) else getattr(token, name, None)
