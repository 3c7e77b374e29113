"""Tools of a service as tools of ours: schemas, results, limits, and what can go wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.base import (
    ArgumentError,
    RunError,
    Tool,
)
from simulators.json_schema import JsonShape, described, not_finite

SAID = "evidence_text"
"""The output that holds what the service says in words; it is the evidence that models read."""

SEED = "seed"
"""An argument of this name that takes a whole number is the run's seed; no model sets it."""

_SHOWN = 1000
_SHORTEST_SECRET = 8


class ServiceDied(RunError):  # noqa: N818 it says what happened, as the others do
    """The service ended, or could not be reached."""


class ServiceTimeout(RunError):  # noqa: N818
    """The service did not answer in time."""


class ReplyTooLarge(RunError):  # noqa: N818
    """The service answered with more than the limit."""


class ServiceReplyInvalid(RunError):  # noqa: N818
    """The service answered with something that its own schema, or JSON, does not allow."""


class ToolsChanged(RunError):  # noqa: N818
    """The service's tools are not those that the fingerprint was made of."""


@dataclass(frozen=True)
class Limits:
    """How long a call may take (s) and how much a reply may hold (MB, 10^6 bytes)."""

    timeout_s: float = 60.0
    max_mb: float = 10.0

    def __post_init__(self) -> None:
        """Raises ArgumentError for a limit that is not positive."""
        for name, value in (("timeout_s", self.timeout_s), ("max_mb", self.max_mb)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
                raise ArgumentError(f"{name} is {value!r}; give a number above 0")

    @property
    def max_bytes(self) -> int:
        """The size limit in bytes."""
        return int(self.max_mb * 1e6)


@dataclass(frozen=True)
class Offered:
    """A tool as its service describes it."""

    name: str
    description: str
    arguments: Mapping[str, Any]
    outputs: Mapping[str, Any] | None = None

    @property
    def seeded(self) -> bool:
        """Whether it takes a seed."""
        schema = self.arguments.get("properties", {}).get(SEED)
        if not isinstance(schema, Mapping):
            return False
        parts = (part for part in (schema, *schema.get("anyOf", ())) if isinstance(part, Mapping))
        return any(part.get("type") == "integer" for part in parts)

    @property
    def unseeded(self) -> Mapping[str, Any]:
        """The schema of the arguments that a caller gives."""
        if not self.seeded:
            return self.arguments
        given = {
            name: schema for name, schema in self.arguments["properties"].items() if name != SEED
        }
        required = [name for name in self.arguments.get("required", ()) if name != SEED]
        return {**self.arguments, "properties": given, "required": required}


def make_tool(offered: Offered) -> Tool:
    """Make a service's tool one of ours. Raises ArgumentError for schemas that cannot be used."""
    outputs = {name: value for name, value in (offered.outputs or {}).items() if value is not None}
    words = {"type": "string", "description": "the result in the service's own words"}
    try:
        for shape in (offered.arguments, outputs):
            JsonShape(shape)  # before anything in it is looked at
        if SAID in outputs.get("properties", {}):
            raise ValueError(f"an output is named '{SAID}', which is a name of ours")
        outputs["properties"] = {**outputs.get("properties", {}), SAID: words}
        return Tool(
            name=offered.name,
            description=offered.description or offered.name,
            arguments=JsonShape(offered.unseeded),
            outputs=JsonShape(outputs, closed=False),
            template="{{ outputs." + SAID + " }}",
        )
    except (ValueError, RecursionError) as error:
        raise ArgumentError(
            f"the schema of tool '{offered.name}' cannot be used: {error}; ask its owner to mend "
            "it, or leave the tool out"
        ) from None


def outputs_of(tool: Tool, structured: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Check a run's outputs. Raises ServiceReplyInvalid where they do not fit, or say nothing."""
    bad = list(not_finite(structured))
    if bad:
        where, what = bad[0]
        raise ServiceReplyInvalid(f"{tool.name} gave no usable result: {where}: {what}")
    if not text.strip() and not structured:
        raise ServiceReplyInvalid(f"{tool.name} gave neither a text nor outputs")
    if not text.strip() or _is_json_of(text, structured):
        text = in_words(tool, structured)
    outputs = {**structured, SAID: text.strip()}
    try:
        assert isinstance(tool.outputs, JsonShape)
        return tool.outputs.check(outputs)
    except ValueError as error:
        raise ServiceReplyInvalid(
            f"{tool.name}'s result does not fit its own schema: {error}"
        ) from None


def in_words(tool: Tool, structured: Mapping[str, Any]) -> str:
    """Write lines of name, meaning, value and unit, for a service that says none itself."""
    known = {field.name: field for field in described(tool.outputs)}
    lines = []
    for name, value in structured.items():
        field = known.get(name)
        meaning = f" ({field.meaning})" if field is not None and field.meaning else ""
        unit = f" {field.unit}" if field is not None and field.unit != "-" else ""
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"- {name}{meaning}: {shown}{unit}")
    return f"Results of {tool.name}:\n" + "\n".join(lines)


def schemas_of(offered: Iterable[Offered]) -> list[dict[str, Any]]:
    """Return what a fingerprint holds of tools: all that can change a result, no descriptions."""
    schemas = [
        {"name": tool.name, "arguments": tool.arguments, "outputs": tool.outputs}
        for tool in offered
    ]
    return sorted(schemas, key=lambda tool: str(tool["name"]))


def without_secrets(text: str, secrets: Iterable[str | None]) -> str:
    """Make a text fit to be shown: keys replaced, and no longer than people read."""
    for value in secrets:
        if value:
            text = text.replace(value, "***")
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def hidden(value: Any, secrets: Iterable[str]) -> Any:
    """Replace keys in every string of a JSON value, the names in its objects too.

    Values of fewer than 8 letters stay: they may well be words or numbers of a result.
    """
    match value:
        case str():
            for secret in secrets:
                value = value.replace(secret, "***") if len(secret) >= _SHORTEST_SECRET else value
        case Mapping():
            return {hidden(name, secrets): hidden(item, secrets) for name, item in value.items()}
        case list() | tuple():
            return [hidden(item, secrets) for item in value]
    return value


def canonical(value: Any) -> str:
    """Write JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(value: Any) -> str:
    """Hash a JSON value by sha256."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _is_json_of(text: str, structured: Mapping[str, Any]) -> bool:
    if not structured or not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return bool(json.loads(text) == structured)
    except ValueError:
        return False
