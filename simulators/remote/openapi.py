"""An OpenAPI 3 document: its operations as tools, their parameters and bodies as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from simulators.base import ArgumentError
from simulators.remote.service import Offered
from simulators.shapes import keywords

METHODS = ("get", "post", "put", "patch", "delete")
BODY = "body"
LONGEST_PATH = 2000
RESULT = "result"
"""The output that holds a reply which is not an object (a number, a list)."""


_OBJECT = {"type": ["object", "null"]}
_PARAMETERS = {"type": ["array", "null"], "items": {"type": "object"}}
_OPERATION = {
    "type": "object",
    "properties": {
        "operationId": {"type": ["string", "integer", "null"]},
        "parameters": _PARAMETERS,
        "requestBody": _OBJECT,
        "responses": _OBJECT,
    },
}
_DOCUMENT = {
    "type": "object",
    "properties": {
        "components": {**_OBJECT, "properties": {"schemas": _OBJECT}},
        "paths": {
            **_OBJECT,
            "patternProperties": {"^x-": {}},
            "additionalProperties": {
                **_OBJECT,
                "properties": {"parameters": _PARAMETERS, **dict.fromkeys(METHODS, _OPERATION)},
            },
        },
    },
}
_PARAMETER = {"properties": {"name": {"type": "string"}, "in": {"type": "string"}}}
_CONTENT = {"properties": {"content": {**_OBJECT, "additionalProperties": {"type": "object"}}}}
_SCHEMA = {
    "properties": {
        "properties": {"type": "object", "additionalProperties": {"type": ["object", "boolean"]}},
        "required": {"type": "array", "items": {"type": "string"}},
    }
}


@dataclass(frozen=True)
class Operation:
    """One operation: how its arguments are sent, and its tool."""

    method: str
    path: str
    offered: Offered
    places: Mapping[str, str] = field(default_factory=dict)
    """By argument: path, query, ``json`` (a field of the body) or ``body`` (all of it)."""
    wrapped: bool = False
    """The reply is not an object: it is the one output ``result``."""


def operations(document: Any, wanted: Sequence[str] | None) -> list[Operation]:
    """The operations that are wanted, all without. Raises ArgumentError."""
    if not isinstance(document, Mapping) or not str(document.get("openapi", "")).startswith("3."):
        raise ArgumentError("the document is not OpenAPI 3 (its first line says 'openapi: 3...')")
    _check(document, _DOCUMENT, "it")
    found = {}
    for method, path, shared, raw in _raw(document):
        name = raw.get("operationId")
        if wanted is None and name is None:
            raise ArgumentError(
                f"{method.upper()} {path} has no operationId; name the operations that you need "
                "under operations:"
            )
        if name is not None and (wanted is None or str(name) in wanted):
            if str(name) in found:
                raise ArgumentError(f"two operations are named '{name}'")
            found[str(name)] = _operation(document, str(name), method, path, shared, raw)
    unknown = [name for name in wanted or () if name not in found]
    if unknown:
        known = sorted(str(raw.get("operationId")) for _, _, _, raw in _raw(document))
        raise ArgumentError(
            f"operations: the document has no {', '.join(unknown)}; known: {', '.join(known)}"
        )
    return list(found.values())


def base_address(document: Mapping[str, Any], given: str | None, source: str) -> str:
    """Where operations are called: the setting, else the document's first server.

    A document may name a server of its own origin only: it is not for somebody else's text to say
    where requests, and the user's key in them, go. Raises ArgumentError.
    """
    from urllib.parse import urljoin

    if given:
        return given.rstrip("/")
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    named = first.get("url") if isinstance(first, Mapping) else None
    if not isinstance(named, str) or "{" in named:
        raise ArgumentError("the document names no server that can be called; give base_url")
    address = urljoin(source, named) if "://" in source else named
    if "://" not in source or origin(address) != origin(source):
        raise ArgumentError(
            f"the document sends calls to {named[:200]}, which is not where it lies; give "
            "base_url: that address, if you trust it"
        )
    return address.rstrip("/")


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port. Raises ArgumentError for an address that is none."""
    from urllib.parse import urlsplit

    usual = {"http": 80, "https": 443}
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or usual.get(parts.scheme)
    except ValueError as error:
        raise ArgumentError(f"'{url[:200]}' is no address: {error}") from None


def _check(part: Any, shape: Mapping[str, Any], what: str) -> None:
    """Raises ArgumentError that names the place in ``part`` where another kind of value stands."""
    from jsonschema import Draft202012Validator

    for problem in Draft202012Validator(shape).iter_errors(part):
        place = ".".join(map(str, problem.absolute_path))[:200] or what
        kinds = (
            [problem.validator_value]
            if isinstance(problem.validator_value, str)
            else [kind for kind in problem.validator_value if kind != "null"]
        )
        raise ArgumentError(
            f"the document is not of OpenAPI's shape: in {what}, '{place}' is a "
            f"{type(problem.instance).__name__} where it should be: {' or '.join(kinds)}"
        )


def _raw(document: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Any], Mapping[str, Any]]]:
    paths = document.get("paths") or {}
    for path, item in paths.items():
        if str(path).startswith("x-"):
            continue
        if not str(path).isprintable() or len(str(path)) > LONGEST_PATH:
            raise ArgumentError(f"the document's path {str(path)[:200]!r} is no path of an address")
        if not str(path).startswith("/"):
            raise ArgumentError(
                f"the document's path '{str(path)[:200]}' does not begin with '/', so it could "
                "lead to another host; ask its owner to mend it"
            )
        for method in METHODS:
            if isinstance(item, Mapping) and isinstance(item.get(method), Mapping):
                yield method, str(path), item.get("parameters") or [], item[method]


def _operation(
    document: Mapping[str, Any],
    name: str,
    method: str,
    path: str,
    shared: list[Any],
    raw: Mapping[str, Any],
) -> Operation:
    properties: dict[str, Any] = {}
    required: list[str] = []
    places: dict[str, str] = {}

    def add(argument: str, schema: Any, place: str, must: bool, meaning: str) -> None:
        if argument in properties:
            raise ArgumentError(f"operation '{name}' has two arguments named '{argument}'")
        if not isinstance(schema, Mapping) or not schema:
            raise ArgumentError(
                f"operation '{name}': {argument} has no schema, so nothing can check it; mend the "
                "document or name other operations under operations:"
            )
        words = {"description": meaning} if meaning else {}
        properties[argument] = {**words, **schema}
        places[argument] = place
        if must:
            required.append(argument)

    told = [_target(document, part) for part in [*shared, *(raw.get("parameters") or [])]]
    for parameter in told:
        _check(parameter, _PARAMETER, f"a parameter of '{name}'")
    for parameter in {(one.get("name"), one.get("in")): one for one in told}.values():
        place, must = parameter.get("in"), bool(parameter.get("required"))
        if place in ("path", "query"):
            meaning = str(parameter.get("description", ""))
            must = must or place == "path"
            add(str(parameter.get("name")), parameter.get("schema"), str(place), must, meaning)
        elif must:
            raise ArgumentError(
                f"operation '{name}' needs a {place} parameter '{parameter.get('name')}', which is "
                "not supported; keys go into key_env and key_header"
            )
    body = _target(document, raw.get("requestBody") or {})
    _check(body, _CONTENT, f"the body of '{name}'")
    if body:
        schema = _json_schema(document, body.get("content"), name, "its body")
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and schema.get("type", "object") == "object":
            needed = set(schema.get("required", ())) if body.get("required") else set()
            for argument, part in fields.items():
                add(str(argument), _target(document, part), "json", argument in needed, "")
        else:
            add(BODY, schema, BODY, bool(body.get("required")), str(body.get("description", "")))
    arguments = {"type": "object", "properties": properties, "required": required}
    outputs, wrapped = _outputs(document, name, raw)
    offered = Offered(
        name=name,
        description=str(raw.get("description") or raw.get("summary") or name),
        arguments=_whole(document, arguments),
        outputs=_whole(document, outputs),
    )
    return Operation(method.upper(), path, offered, places, wrapped)


def _outputs(
    document: Mapping[str, Any], name: str, raw: Mapping[str, Any]
) -> tuple[dict[str, Any], bool]:
    """The schema of a good reply as that of an object, and whether it was made one.

    A text has no schema of its own.
    """
    replies = raw.get("responses") or {}
    good = next((key for key in sorted(map(str, replies)) if key.startswith("2")), "default")
    named = {str(key): value for key, value in replies.items()}  # YAML reads 200 as a number
    reply = _target(document, named.get(good, {}))
    _check(reply, _CONTENT, f"the reply of '{name}'")
    content = reply.get("content") or {}
    if content and all(str(kind).startswith("text/") for kind in content):
        return {"type": "object", "properties": {}}, False
    schema = _json_schema(document, content, name, "its reply")
    if schema.get("type", "object") == "object" and "properties" in schema:
        return dict(schema), False
    return {"type": "object", "properties": {RESULT: schema}, "required": [RESULT]}, True


def _json_schema(
    document: Mapping[str, Any], content: Any, name: str, what: str
) -> Mapping[str, Any]:
    kinds = content if isinstance(content, Mapping) else {}
    for kind, body in kinds.items():
        if "json" in str(kind) and isinstance(body, Mapping) and body.get("schema"):
            schema = _target(document, body["schema"])
            _check(schema, _SCHEMA, f"the schema of {what} of '{name}'")
            return schema
    raise ArgumentError(
        f"operation '{name}': {what} has no JSON schema, so nothing can check it; mend the "
        "document or name other operations under operations:"
    )


def _target(document: Mapping[str, Any], part: Any) -> Mapping[str, Any]:
    """What a part is, with a reference at its top followed within the document."""
    for _ in range(8):
        reference = part.get("$ref") if isinstance(part, Mapping) else None
        if not isinstance(reference, str):
            break
        if not reference.startswith("#/"):
            raise ArgumentError(f"the document refers to '{reference}'; bundle it into one file")
        target: Any = document
        for key in _words(reference):
            target = target.get(key) if isinstance(target, Mapping) else None
        if target is None:
            raise ArgumentError(f"the document refers to '{reference}', which is not in it")
        part = target
    return part if isinstance(part, Mapping) else {}


def _whole(document: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema in JSON Schema's words, with what it refers to at its place, and no more."""
    kept: dict[str, Any] = {}
    waiting, seen = [schema], set[tuple[str, ...]]()
    while waiting:
        for keyword, reference in keywords(waiting.pop()):
            if keyword != "$ref" or not isinstance(reference, str):
                continue
            words = _words(reference)
            # Of a named schema all, as other references may point to other parts of it.
            place = words[:3] if words[:2] == ("components", "schemas") else words
            target = _target(document, {"$ref": "#/" + "/".join(map(_escaped, place))})
            if place and place not in seen:
                seen.add(place)
                waiting.append(target)
                inside = kept
                for word in place[:-1]:
                    inside = inside.setdefault(word, {})
                inside[place[-1]] = target
    plain = _plain({**schema, **kept})
    assert isinstance(plain, dict)
    return plain


def _words(reference: str) -> tuple[str, ...]:
    """The names that a reference within a document leads by."""
    words = map(unquote, reference.removeprefix("#/").split("/"))
    return tuple(word.replace("~1", "/").replace("~0", "~") for word in words)


def _escaped(word: str) -> str:
    return quote(word.replace("~", "~0").replace("/", "~1"))


def _plain(part: Any) -> Any:
    """OpenAPI 3.0's own words (nullable, boolean exclusive limits) as JSON Schema has them."""
    if isinstance(part, list):
        return [_plain(value) for value in part]
    if not isinstance(part, Mapping):
        return part
    found = {str(key): _plain(value) for key, value in part.items()}
    if found.pop("nullable", None) is True:
        if isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
            if isinstance(found.get("enum"), list):
                found["enum"] = [*found["enum"], None]
        else:
            found = {"anyOf": [found, {"type": "null"}]}
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        strict = found.get(exclusive)
        if isinstance(strict, bool):
            del found[exclusive]
        if strict is True and limit in found:
            found[exclusive] = found.pop(limit)
    return found
