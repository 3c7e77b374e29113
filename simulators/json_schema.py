"""The shape of a tool's arguments or outputs: a pydantic class, or a JSON schema from elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Values = Any
"""A ToolModel where the tool's shape is a pydantic class, a dict where it is a JSON schema."""


class ToolModel(BaseModel):
    """Base of tools' arguments and outputs: strict, closed, immutable.

    Units are named in the field name (``_s``, ``_mg``, ``_degc``, ``_percent``) and, for the
    handbook, in ``json_schema_extra={"unit": ...}``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def measured(unit: str, meaning: str, **more: Any) -> Any:
    """Declare a field with unit and meaning; ``more`` goes to pydantic's Field."""
    return Field(description=meaning, json_schema_extra={"unit": unit}, **more)


@dataclass(frozen=True)
class Described:
    """One argument or output: its JSON schema, and what a handbook says of it."""

    name: str
    schema: Mapping[str, Any]
    required: bool
    default: Any
    unit: str
    meaning: str


MAX_PROBLEMS = 5
"""Of one value, told."""


@dataclass(frozen=True)
class JsonShape:
    """An object of a JSON schema, as a service describes what it takes or gives.

    Arguments are ``closed``: a name that the schema does not know is refused, unless it says
    ``additionalProperties``; defaults are filled in, so that a call that leaves one out and a call
    that gives it are one call. Addresses in ``$ref`` are followed within the schema only.
    """

    schema: Mapping[str, Any]
    closed: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for what is not a JSON schema of an object."""
        from jsonschema import Draft202012Validator, SchemaError

        kind = self.schema.get("type", "object")
        if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
            raise ValueError(f"it describes a {kind}, not an object")
        try:
            # Without its check of formats: a pattern's dialect need not be Python's.
            Draft202012Validator.check_schema(self.schema, format_checker=None)
        except SchemaError as error:
            raise ValueError(f"it is not a JSON schema: {error.message}") from None

    @cached_property
    def properties(self) -> dict[str, Mapping[str, Any]]:
        """By name the schema, with a reference at its top resolved."""
        properties = self.schema.get("properties", {})
        return {name: self._resolved(schema) for name, schema in properties.items()}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check values and fill in defaults. Raises ValueError: a line for each fault."""
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        values = dict(given)
        try:
            if self.closed:
                values = {**self._defaults(values), **values}
            problems = [f"{where}: {what}" for where, what in not_finite(values)]
            errors = iter(()) if problems else self._validator.iter_errors(values)
            for error in islice(errors, MAX_PROBLEMS):
                near = best_match([error]) or error
                where = ".".join(map(str, near.absolute_path)) or "all"
                problems.append(f"{where[:300]}: {near.message[:300]}")
            problems += ["and more" for _ in islice(errors, 1)]
        except ArithmeticError as error:
            raise ValueError(f"a number in it is too large to check: {error}") from None
        except (AttributeError, RecursionError, Unresolvable) as error:
            raise ValueError(
                f"the schema refers to itself or to nothing ({type(error).__name__})"
            ) from None
        if self.closed and "additionalProperties" not in self.schema:
            unknown = sorted(set(values) - set(self.properties))
            known = ", ".join(self.properties) or "none"
            problems += [f"{name}: there is no such name; known: {known}" for name in unknown]
        if problems:
            raise ValueError("; ".join(problems))
        return values

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator, validators
        from referencing import Registry

        # A pattern's dialect need not be Python's: the service checks it.
        kind = validators.extend(Draft202012Validator, {"pattern": lambda *_: None})
        # An empty registry: nothing is ever fetched for a $ref.
        return kind(self.schema, registry=Registry())

    def _defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Take defaults that fit their own schema; a service may name others, and applies them."""
        return {
            name: schema["default"]
            for name, schema in self.properties.items()
            if name not in values
            and "default" in schema
            and self._validator.evolve(schema=schema).is_valid(schema["default"])
        }

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        from referencing import Registry
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import DRAFT202012

        whole = DRAFT202012.create_resource(self.schema)
        resolver = Registry().with_resource("", whole).resolver()
        resolved: Any = schema
        for _ in range(8):  # a reference to a reference; one that goes round ends
            reference = resolved.get("$ref") if isinstance(resolved, Mapping) else None
            if not isinstance(reference, str):
                break
            beside = {key: value for key, value in resolved.items() if key != "$ref"}
            try:
                target = resolver.lookup(reference).contents
            except Unresolvable:
                target = None
            resolved = {**target, **beside} if isinstance(target, Mapping) else beside
        return resolved if isinstance(resolved, Mapping) else {}


Shape = type[ToolModel] | JsonShape


def described(shape: Shape) -> list[Described]:
    """List the arguments or outputs of a shape, in its own order."""
    if isinstance(shape, JsonShape):
        required = shape.schema.get("required", ())
        return [
            Described(
                name=name,
                schema=schema,
                required=name in required,
                default=schema.get("default"),
                unit=str(schema.get("unit", "-")),
                meaning=str(schema.get("description", schema.get("title", ""))),
            )
            for name, schema in shape.properties.items()
        ]
    return list(_described(shape))


@lru_cache(maxsize=64)  # writing a schema takes milliseconds, and every prompt with a handbook asks
def _described(shape: type[ToolModel]) -> tuple[Described, ...]:
    schemas = shape.model_json_schema().get("properties", {})
    return tuple(
        Described(
            name=name,
            schema=schemas[name],
            required=field.is_required(),
            default=field.default,
            unit=_unit(field),
            meaning=field.description or "",
        )
        for name, field in shape.model_fields.items()
    )


def schema_of(shape: Shape) -> Mapping[str, Any]:
    """Return the JSON schema of all of them."""
    return shape.schema if isinstance(shape, JsonShape) else shape.model_json_schema()


def names_of(shape: Shape) -> list[str]:
    """List the names of the arguments or outputs."""
    return list(shape.properties if isinstance(shape, JsonShape) else shape.model_fields)


def read_values(shape: Shape, given: object) -> Values:
    """Validate values. Raises ValueError (pydantic's, or one of words)."""
    if not isinstance(given, Mapping):
        raise ValueError(f"this is a {type(given).__name__}, not an object")
    if isinstance(shape, JsonShape):
        return shape.check(given)
    return shape.model_validate(dict(given))


def plain_values(values: Values) -> dict[str, Any]:
    """Turn values into what JSON holds, for keys and records."""
    if isinstance(values, BaseModel):
        return values.model_dump(mode="json")
    return dict(values)


def text_of(values: Values) -> str:
    """Turn values into JSON text, to compare two runs by."""
    if isinstance(values, BaseModel):
        return values.model_dump_json()
    return json.dumps(values, ensure_ascii=False)


def not_finite(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Find where in a JSON value a NaN or an infinity stands, and what it is."""
    if isinstance(value, float) and not math.isfinite(value):
        yield where or "value", f"{value} is not a finite number"
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from not_finite(part, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from not_finite(part, f"{where}[{at}]")


def _unit(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra.get("unit", "-")) if isinstance(extra, dict) else "-"
