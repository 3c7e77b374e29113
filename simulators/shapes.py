"""The shape of a tool's arguments or outputs: a pydantic class, or a JSON schema from elsewhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count, islice
from typing import Any
from urllib.parse import unquote

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
    """A field with its unit and meaning for the handbook; ``more`` goes to pydantic's Field."""
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
            # Without its check of formats: patterns are read by another engine than Python's.
            Draft202012Validator.check_schema(self.schema, format_checker=None)
        except SchemaError as error:
            raise ValueError(f"it is not a JSON schema: {error.message}") from None
        for keyword, part in keywords(self.schema):
            outside = isinstance(part, str) and not part.startswith("#")
            if keyword in ("$ref", "$dynamicRef") and outside:
                raise ValueError(f"$ref '{part}' leads out of the schema")
        if why := too_large(self.schema) or _endless(self.schema):
            raise ValueError(why)
        if any(keyword == "patternProperties" for keyword, _ in keywords(self.schema)):
            raise ValueError("it has patternProperties, which are not taken: name the properties")

    @cached_property
    def properties(self) -> dict[str, Mapping[str, Any]]:
        """By name the schema, with a reference at its top resolved."""
        found = self.schema.get("properties", {})
        return {name: self._resolved(schema) for name, schema in found.items()}

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values, with defaults. Raises ValueError: one line for each thing that is wrong."""
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        values = dict(given)
        _STEPS.set(count())
        try:
            if self.closed:
                values = {**self._defaults(values), **values}
            problems = [f"{where}: {what}" for where, what in not_finite(values)]
            errors = iter(()) if problems else self._validator.iter_errors(values)
            for error in islice(errors, MOST_PROBLEMS):
                near = best_match([error]) or error
                where = ".".join(map(str, near.absolute_path)) or "all"
                problems.append(f"{where[:300]}: {near.message[:300]}")
            problems += ["and more" for _ in islice(errors, 1)]
        except _TooTangled:
            raise ValueError(
                f"it takes more than {MOST_STEPS:,} steps to check: it is too long for its schema"
            ) from None
        except ArithmeticError as error:
            raise ValueError(f"a number in it is too large to check: {error}") from None
        except (RecursionError, Unresolvable) as error:
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
        from referencing import Registry

        # An empty registry: nothing is ever fetched for a $ref.
        return _validator_class()(self.schema, registry=Registry())

    def _defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults that fit their own schema; a service may name others, and applies them."""
        return {
            name: schema["default"]
            for name, schema in self.properties.items()
            if name not in values
            and "default" in schema
            and self._validator.evolve(schema=schema).is_valid(schema["default"])
        }

    def _resolved(self, schema: Any) -> Mapping[str, Any]:
        found: Any = schema
        for _ in range(8):  # a reference to a reference; one that goes round ends
            reference = found.get("$ref") if isinstance(found, Mapping) else None
            if not isinstance(reference, str):
                break
            beside = {key: value for key, value in found.items() if key != "$ref"}
            target = _target(self.schema, reference)
            found = {**target, **beside} if isinstance(target, Mapping) else beside
        return found if isinstance(found, Mapping) else {}


Shape = type[ToolModel] | JsonShape


def described(shape: Shape) -> list[Described]:
    """The arguments or outputs of a shape, in its own order."""
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
    """The JSON schema of all of them."""
    return shape.schema if isinstance(shape, JsonShape) else shape.model_json_schema()


def names_of(shape: Shape) -> list[str]:
    """The names of the arguments or outputs."""
    return list(shape.properties if isinstance(shape, JsonShape) else shape.model_fields)


def read_values(shape: Shape, given: object) -> Values:
    """Validated values. Raises ValueError (pydantic's, or one of words)."""
    if not isinstance(given, Mapping):
        raise ValueError(f"this is a {type(given).__name__}, not an object")
    if isinstance(shape, JsonShape):
        return shape.check(given)
    return shape.model_validate(dict(given))


def plain_values(values: Values) -> dict[str, Any]:
    """Values as what JSON holds, for keys and records."""
    if isinstance(values, BaseModel):
        return values.model_dump(mode="json")
    return dict(values)


def text_of(values: Values) -> str:
    """Values as JSON text, to compare two runs by."""
    if isinstance(values, BaseModel):
        return values.model_dump_json()
    return json.dumps(values, ensure_ascii=False)


def not_finite(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Where in a JSON value a NaN or an infinity stands, and what it is."""
    if isinstance(value, float) and not math.isfinite(value):
        yield where or "value", f"{value} is not a finite number"
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from not_finite(part, f"{where}.{name}" if where else str(name))
    elif isinstance(value, list | tuple):
        for at, part in enumerate(value):
            yield from not_finite(part, f"{where}[{at}]")


MOST_STEPS = 1_000_000
"""Keywords that are looked at to check one value; a reply of 200,000 numbers takes half of them."""
MOST_PROBLEMS = 5
MOST_VALUES = 200_000
"""Of a document, each alias counted as often as it is named."""
DEEPEST = 100


def too_large(value: object) -> str:
    """Why a document that was read is more than anybody wrote by hand; "" where it is not.

    Aliases of YAML make a text of a few lines as large as they like, and circular ones endless.
    """
    sizes: dict[int, int] = {}

    def size(part: object, depth: int) -> int:
        if not isinstance(part, Mapping | list | tuple):
            return 1
        if depth > DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST} levels")
        if id(part) not in sizes:
            below = part.values() if isinstance(part, Mapping) else part
            sizes[id(part)] = 1 + sum(size(one, depth + 1) for one in below)
        return sizes[id(part)]

    try:
        found = size(value, 0)
    except ValueError as error:
        return str(error)
    return f"it holds more than {MOST_VALUES:,} values" if found > MOST_VALUES else ""


_STEPS: ContextVar[Iterator[int]] = ContextVar("steps")
"""The steps of the check that goes on."""


class _TooTangled(Exception):  # noqa: N818 it never leaves this module
    """A check that takes too many steps."""


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    """A validator that ends: branches that refer to each other double with every level."""
    from jsonschema import Draft202012Validator, validators

    def counted(keyword: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*given: Any) -> Any:
            if next(_STEPS.get()) > MOST_STEPS:
                raise _TooTangled
            return keyword(*given)

        return checked

    ours = {"pattern": _matches, "uniqueItems": _unique}
    keywords = {**Draft202012Validator.VALIDATORS, **ours}
    return validators.extend(
        Draft202012Validator, {name: counted(keyword) for name, keyword in keywords.items()}
    )


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """A pattern, compiled for an engine without backtracking, so that matching takes linear time.

    None for one that this engine does not know, such as one that looks ahead: the service that
    wrote it checks by it, and we do not.
    """
    import re2

    quiet = re2.Options()
    quiet.log_errors = False  # to the terminal, as the service wrote it
    try:
        return re2.compile(_UNICODE.sub(r"\\x{\1}", pattern), quiet)
    except re2.error:
        return None


_UNICODE = re.compile(r"\\u([0-9A-Fa-f]{4})")
"""How JSON Schema's dialect names a letter by its number."""


def _matches(_: Any, pattern: str, value: object, __: object) -> Iterator[Any]:
    """JSON Schema's keyword ``pattern``."""
    from jsonschema import ValidationError

    if not isinstance(value, str) or (compiled := _compiled(pattern)) is None:
        return
    if not compiled.search(value.encode(errors="replace").decode()):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _unique(_: Any, unique: object, value: object, __: object) -> Iterator[Any]:
    """JSON Schema's keyword ``uniqueItems``, in linear time."""
    from jsonschema import ValidationError

    if unique and isinstance(value, list):
        texts = {json.dumps(item, sort_keys=True) for item in value}
        if len(texts) < len(value):
            yield ValidationError("the list holds an item twice")


_DATA = ("const", "default", "enum", "example", "examples")
"""Keywords whose values are data and no schemas."""
_NAMED = ("$defs", "definitions", "dependentSchemas", "properties", "schemas")
"""Keywords that hold schemas by names that are no keywords."""


def keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every keyword of a schema with its value, at any depth."""
    if isinstance(schema, Mapping):
        for keyword, part in schema.items():
            if keyword in _DATA or keyword.startswith("x-"):
                continue
            yield keyword, part
            named = keyword in _NAMED and isinstance(part, Mapping)
            for inner in part.values() if named else [part]:
                yield from keywords(inner)
    elif isinstance(schema, list):
        for part in schema:
            yield from keywords(part)


def _target(schema: Any, reference: str) -> Any:
    """What a reference within a schema points to; None where there is nothing."""
    for word in filter(None, reference.removeprefix("#").split("/")):
        name = unquote(word).replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list):
            schema = dict(enumerate(schema)).get(int(name)) if name.isdecimal() else None
        else:
            schema = schema.get(name) if isinstance(schema, Mapping) else None
    return schema


def _endless(schema: Mapping[str, Any]) -> str:
    """Why the references of a schema cannot be followed in reasonable time; "" where they can.

    References that each name the next twice double with every step.
    """
    steps: dict[str, int] = {}

    def cost(part: Any) -> int:
        if isinstance(part, list):
            return sum(map(cost, part))
        if not isinstance(part, Mapping):
            return 1
        return 1 + sum(
            followed(value) if key == "$ref" and isinstance(value, str) else cost(value)
            for key, value in part.items()
        )

    def followed(reference: str) -> int:
        if reference not in steps:
            steps[reference] = 1  # to itself: how far depends on the value that is checked
            target = _target(schema, reference)
            steps[reference] = 1 if target is schema else cost(target)
        return steps[reference]

    found = cost({key: part for key, part in schema.items() if key not in ("$defs", "components")})
    return f"its references lead to more than {MOST_VALUES:,} steps" if found > MOST_VALUES else ""


def _unit(field: FieldInfo) -> str:
    extra = field.json_schema_extra
    return str(extra.get("unit", "-")) if isinstance(extra, dict) else "-"
