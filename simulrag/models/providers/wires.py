"""What the interfaces of providers have in common: limits, counts, schemas, log-probabilities.

OpenAI's strict structured output wants every object closed and every property required, and knows a
part of JSON Schema's keywords (platform.openai.com/docs/guides/structured-outputs, "Supported
schemas").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from simulrag.errors import InputError, ModelError, ReplyTruncated
from simulrag.models.base import FirstTokens, encodable
from simulrag.models.providers.faults import without_key
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage

_LOWEST = -9999.0
"""What OpenAI sends for a token that is too unlikely to say."""
_UNKNOWN_LIMITS = frozenset({"minLength", "maxLength", "uniqueItems", "default"})
_UNKNOWN_SHAPES = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "prefixItems"}
)
_KINDS = frozenset({"type", "anyOf", "$ref", "enum", "const"})

MAX_DIGITS = 12
"""Of a count of tokens that can be one."""


def strict_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """Leave out the limits that strict output does not know; None where it takes no such schema.

    A limit that is left out is not lost: the reply is validated here as well.
    """
    return _without_limits(schema) if _takes_strict(schema) else None


def _takes_strict(node: Any) -> bool:
    if not isinstance(node, dict) or not _KINDS & node.keys() or _UNKNOWN_SHAPES & node.keys():
        return False
    properties = node.get("properties", {})
    if node.get("type") == "object" and (
        node.get("additionalProperties") is not False
        or set(node.get("required", ())) != set(properties)
    ):
        return False
    children = [*properties.values(), *node.get("$defs", {}).values(), *node.get("anyOf", ())]
    if node.get("type") == "array":
        children.append(node.get("items"))
    return all(_takes_strict(child) for child in children)


def _without_limits(node: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in node.items():
        if key in _UNKNOWN_LIMITS:
            continue
        if key in {"properties", "$defs"}:
            kept[key] = {name: _without_limits(child) for name, child in value.items()}
        elif key == "anyOf":
            kept[key] = [_without_limits(child) for child in value]
        elif key == "items":
            kept[key] = _without_limits(value)
        else:
            kept[key] = value
    return kept


def count(usage: Any, field: str) -> int:
    """Read a count of tokens as a server sent it; 0 for what is not a count."""
    value = _get(usage, field)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < MAX_DIGITS:
        value = int(value)
    return value if type(value) is int and 0 < value < 10**MAX_DIGITS else 0


def cut_off(limit: int | None, usage: Usage) -> ModelError:
    """Make the error for a reply that met the limit of output tokens."""
    return ReplyTruncated(
        f"the reply was cut off at {'the server’s limit' if limit is None else limit} tokens; "
        "raise sampling.max_output_tokens or the server's limit",
        usage=usage,
    )


def schema_title(schema: dict[str, Any]) -> str:
    """Write the name of a schema as the wires take it."""
    title = str(schema.get("title", "Reply"))
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in title)[:64]


def first_tokens(content: object, key: str) -> FirstTokens:
    """Return the alternatives at the first token that is not blank, the likeliest first.

    ``content``: a wire's list of tokens, objects or mappings with ``token``, ``logprob`` and
    ``top_logprobs``. What is none of this is left out, and ``key``: servers send many things.
    """
    for token in content if isinstance(content, list) else ():
        if str(_get(token, "token") or "").strip():
            alternatives = dict(_pairs([token, *(_get(token, "top_logprobs") or ())], key))
            return tuple(sorted(alternatives.items(), key=lambda pair: (-pair[1], pair[0])))
    return ()


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


def _pairs(tokens: Iterable[Any], key: str) -> Iterable[tuple[str, float]]:
    for token in tokens:
        text, value = _get(token, "token"), _get(token, "logprob")
        # Compared before it is a float: an integer of 400 digits has none.
        number = isinstance(value, int | float) and _LOWEST < value < math.inf
        if isinstance(text, str) and number:
            yield encodable(without_key(text, key)), float(min(0, value))


def _get(token: Any, name: str) -> Any:
    return token.get(name) if isinstance(token, Mapping) else getattr(token, name, None)
