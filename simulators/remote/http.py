"""Operations of a web service as a simulator, by its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simulators.base import ArgumentError
from simulators.remote.errors import ServiceReplyInvalid
from simulators.remote.fetch import Fetched, Fetcher
from simulators.remote.openapi import BODY, RESULT, Operation, base_address, operations
from simulators.remote.service import (
    Limits,
    RemoteSimulator,
    checked_url,
    chosen,
    outputs_of,
    prose_of,
    secret,
)
from simulators.shapes import MOST_VALUES, too_large


class OpenApiSimulator(RemoteSimulator):
    """The operations of an OpenAPI 3 document (a file or an address) as tools.

    ``operations``: their operationIds, all without. ``base_url``: where they are called, if not at
    the document's first server. ``key_env`` names the variable that holds a key, ``key_header`` the
    header that it is sent in (``Authorization`` gets ``Bearer`` before it). ``handbook`` (a file)
    and ``prose`` say what the document does not; ``salt``: any text, another one makes every run
    anew; ``examples``: by tool, calls for ``simulrag simulators check``.

    Raises ArgumentError for settings and documents, RunError where an address does not answer.
    """

    def __init__(
        self,
        document: str,
        *,
        name: str = "openapi",
        operations: Sequence[str] | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
        key_header: str = "Authorization",
        handbook: str | None = None,
        prose: str = "",
        salt: str = "",
        timeout_s: float = 60.0,
        max_mb: float = 10.0,
        retries: int = 3,
        examples: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> None:
        limits = Limits(timeout_s, max_mb)
        if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 20:
            raise ArgumentError(f"retries is {retries!r}; give a whole number from 0 to 20")
        key = secret(key_env)
        sent = f"Bearer {key}" if key_header.lower() == "authorization" else key
        self._fetcher = Fetcher(limits, retries, (key_header, sent) if key and sent else None)
        read = _read(document, Fetcher(limits, retries, None))
        found = _found(read, operations)
        self._base = checked_url(base_address(read, base_url, document), "base_url")
        self._operations = {one.offered.name: one for one in found}
        about = read.get("info") if isinstance(read.get("info"), Mapping) else {}
        assert isinstance(about, Mapping)
        title = str(about.get("title", name))
        super().__init__(
            name=name,
            title=title,
            version=str(about.get("version", "")),
            offered=chosen([one.offered for one in found], None, title),
            about=prose_of(handbook, prose, str(about.get("description", ""))),
            salt=salt,
            examples=examples,
        )

    @staticmethod
    def contacts(settings: Mapping[str, Any]) -> bool:
        """Where its document lies at an address; a file is only read."""
        return "://" in str(settings.get("document"))

    def run(self, tool: str, arguments: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """One call of an operation. Raises RunError."""
        operation = self._operations[tool]
        path, query, body = operation.path, {}, None
        for name, value in self.sent(tool, arguments, seed).items():
            place = operation.places[name]
            if place == "path":
                path = path.replace(f"{{{name}}}", _path_word(name, value))
            elif place == "query":
                query[name] = [_word(v) for v in value] if isinstance(value, list) else _word(value)
            elif place == BODY:
                body = value
            else:
                body = {**(body or {}), name: value}
        reply = self._fetcher.send(operation.method, f"{self._base}{path}", query, body)
        values, text = _values(operation, reply)
        return outputs_of(self.tools[tool], values, text)


def _read(document: str, fetcher: Fetcher) -> Mapping[str, Any]:
    import yaml

    if "://" in document:
        text = fetcher.send("GET", checked_url(document, "document")).content
    else:
        try:
            text = Path(document).read_bytes()
        except OSError as error:
            raise ArgumentError(f"document: {document} cannot be read: {error}") from None
    try:
        # JSON is YAML too, and a reader of YAML takes a hundred times as long for it.
        is_json = text.lstrip()[:1] == b"{"
        read = json.loads(text) if is_json else yaml.load(text, _yaml_loader())  # noqa: S506 safe
    except (yaml.YAMLError, ValueError) as error:
        words = " ".join(str(error).split())
        raise ArgumentError(f"document: {document} is neither JSON nor YAML: {words}") from None
    except RecursionError:
        raise ArgumentError(f"document: {document} is nested too deep") from None
    if not isinstance(read, Mapping):
        raise ArgumentError(f"document: {document} is not an OpenAPI document")
    if why := too_large(read):
        raise ArgumentError(f"document: {document} cannot be used: {why}")
    try:
        json.dumps(read, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"document: {document} holds what JSON cannot: {error}") from None
    return read


@cache
def _yaml_loader() -> Any:
    """YAML as JSON has it: a date is its text, and merged maps are bounded."""
    import yaml

    class Loader(yaml.SafeLoader):
        merged = 0

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.merged += len(node.value)
            if self.merged > MOST_VALUES:
                raise yaml.YAMLError(f"its merged maps hold more than {MOST_VALUES:,} values")

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _found(document: Mapping[str, Any], wanted: Sequence[str] | None) -> list[Operation]:
    return operations(document, wanted)


def _word(value: Any) -> str:
    """A value in an address: JSON's words, without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _path_word(name: str, value: Any) -> str:
    word = _word(value)
    if word in ("", ".", ".."):
        raise ArgumentError(f"{name} is '{word}', which leads to another path")
    return quote(word, safe="")


def _values(operation: Operation, reply: Fetched) -> tuple[Mapping[str, Any], str]:
    """A reply's outputs and its words."""
    name = operation.offered.name
    try:
        text = reply.content.decode("utf-8-sig")
        if "json" not in reply.kind:
            return {}, text
        read = json.loads(text)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ServiceReplyInvalid(
            f"{name} answered with {reply.kind} that cannot be read: {error}"
        ) from None
    if operation.wrapped:
        return {RESULT: read}, ""
    if not isinstance(read, dict):
        raise ServiceReplyInvalid(
            f"{name} answered with a JSON {type(read).__name__}, not an object"
        )
    return read, ""
