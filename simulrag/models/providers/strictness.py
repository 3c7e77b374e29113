"""Which reply schemas OpenAI's strict structured output takes, and in which form.

Strict output wants every object closed and every property required, and knows a part of JSON
Schema's keywords (platform.openai.com/docs/guides/structured-outputs, "Supported schemas").
"""

from __future__ import annotations

from typing import Any

from pydantic import JsonValue

_UNKNOWN_LIMITS = frozenset({"minLength", "maxLength", "uniqueItems", "default"})
_UNKNOWN_SHAPES = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "patternProperties", "prefixItems"}
)
_KINDS = frozenset({"type", "anyOf", "$ref", "enum", "const"})


def strict_schema(schema: dict[str, JsonValue]) -> dict[str, JsonValue] | None:
    """The schema without the limits that strict output does not know; None where it cannot be.

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
