"""An OpenAPI document as tools, and requests to a service on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from simulators.base import ArgumentError, RunError, Simulator, validate_call
from simulators.conformance import check
from simulators.remote.errors import ReplyTooLarge, ServiceDied, ServiceReplyInvalid, ServiceTimeout
from simulators.remote.http import OpenApiSimulator

KEY = "kept-very-secret"
Answer = tuple[int, dict[str, str], bytes]


def document(**changes: Any) -> dict[str, Any]:
    number = {"type": "number", "minimum": 0, "exclusiveMinimum": True}
    reply = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Level"}}}}
    level = {
        "operationId": "level",
        "summary": "The level of a river.",
        "parameters": [
            {"name": "river", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "rain", "in": "query", "schema": number, "description": "rain a day"},
        ],
        "responses": {"200": reply},
    }
    drain = {
        "operationId": "drain",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"gates": {"type": "array", "items": {"type": "integer"}}},
                        "required": ["gates"],
                    }
                }
            },
        },
        "responses": {
            "200": {
                "content": {
                    "application/json": {"schema": {"type": "array", "items": {"type": "number"}}}
                }
            }
        },
    }
    components = {
        "Level": {
            "type": "object",
            "properties": {
                "level": {"type": "number", "nullable": True, "unit": "m"},
                "state": {"$ref": "#/components/schemas/State"},
            },
        },
        "State": {"type": "string", "enum": ["low", "high"]},
        "Unused": {"type": "string"},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Rivers", "version": "2", "description": "Levels of rivers."},
        "paths": {"/rivers/{river}": {"get": {**level, **changes}}, "/drain": {"post": drain}},
        "components": {"schemas": components},
    }


class Service:
    """A server on loopback that answers as it is told and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: list[Answer] = []
        self.good: Answer = (200, {}, json.dumps({"level": 1.5, "state": "low"}).encode())
        service = self

        class Handler(BaseHTTPRequestHandler):
            def _do(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                service.asked.append((self.command, self.path, dict(self.headers), body))
                status, headers, content = (service.answers or [service.good]).pop(0)
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _do  # noqa: N815 the names are http.server's

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.close()


Make = Callable[..., Simulator]


@pytest.fixture
def rivers(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setenv("RIVER_KEY", KEY)

    def make(read: dict[str, Any] | None = None, **settings: Any) -> Simulator:
        path = tmp_path / "rivers.json"
        path.write_text(json.dumps(read or document()))
        return OpenApiSimulator(str(path), **{"base_url": service.url, "retries": 1, **settings})

    return make


def ask(simulator: Simulator, tool: str = "level", **arguments: Any) -> Any:
    given = arguments or {"river": "Elbe/north", "rain": 2.5}
    return simulator.run(tool, validate_call(simulator, tool, given), 0)


def test_operations_are_tools(rivers: Make, service: Service) -> None:
    simulator = rivers(key_env="RIVER_KEY", prose="Ask for one river.")
    assert list(simulator.tools) == ["level", "drain"]
    handbook = simulator.handbook()
    assert handbook.startswith("# Rivers\n\nAsk for one river.\n\nLevels of rivers.\n\n## Tools")
    assert "| level | number or null | m |" in handbook
    assert "| state | one of low, high |" in handbook
    outputs = ask(simulator)
    assert outputs["level"] == 1.5
    assert "- level: 1.5 m" in outputs["evidence_text"]
    method, path, headers, _ = service.asked[0]
    assert (method, path) == ("GET", "/rivers/Elbe%2Fnorth?rain=2.5")
    assert headers["Authorization"] == f"Bearer {KEY}"


def test_a_body_is_sent_and_a_list_is_a_result(rivers: Make, service: Service) -> None:
    service.good = (200, {}, b"[1.5, 2]")
    outputs = ask(rivers(), "drain", gates=[1, 2])
    assert outputs["result"] == [1.5, 2]
    assert json.loads(service.asked[0][3]) == {"gates": [1, 2]}


def test_queries_hold_lists_and_words(rivers: Make, service: Service) -> None:
    read = document()
    (parameters,) = [read["paths"]["/rivers/{river}"]["get"]["parameters"]]
    kinds = {"type": "array", "items": {"type": "boolean"}}
    parameters.append({"name": "wet", "in": "query", "schema": kinds})
    ask(rivers(read), river="Elbe", wet=[True, False])
    assert parse_qs(urlsplit(service.asked[0][1]).query) == {"wet": ["true", "false"]}


def test_the_domains_seed_is_sent_where_an_operation_takes_one(
    rivers: Make, service: Service
) -> None:
    """No model sets it, and other operations hear nothing of it."""
    read = document()
    seed = {"name": "seed", "in": "query", "schema": {"type": "integer"}, "required": True}
    read["paths"]["/rivers/{river}"]["get"]["parameters"].append(seed)
    simulator = rivers(read)
    assert "| seed |" not in simulator.handbook()
    arguments = validate_call(simulator, "level", {"river": "Elbe"})
    simulator.run("level", arguments, 7)
    assert service.asked[0][1] == "/rivers/Elbe?seed=7"
    with pytest.raises(ArgumentError, match="seed: there is no such name"):
        validate_call(simulator, "level", {"river": "Elbe", "seed": 3})
    service.good = (200, {}, b"[1.5]")
    ask(simulator, "drain", gates=[1])
    assert service.asked[1][1:4:2] == ("/drain", b'{"gates":[1]}')
    assert simulator.fingerprint() != rivers().fingerprint()


def test_it_keeps_the_protocol(rivers: Make, service: Service, tmp_path: Path) -> None:
    read = document()
    del read["paths"]["/drain"]
    rivers(read)  # writes the document
    settings = {
        "document": str(tmp_path / "rivers.json"),
        "base_url": service.url,
        "examples": {"level": [{"river": "Elbe"}]},
    }
    findings = check("openapi", settings)
    assert {finding.what: finding.problems for finding in findings if not finding.passed} == {}


@pytest.mark.parametrize(
    "arguments",
    [
        {"river": ".."},
        {"river": "Elbe", "rain": 0},
        {"rain": 1},
        {"river": "Elbe", "storm": 1},
    ],
)
def test_arguments_that_do_not_fit_are_refused(rivers: Make, arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        ask(rivers(), **arguments)


def test_a_busy_service_is_asked_again(rivers: Make, service: Service) -> None:
    service.answers = [(429, {"retry-after": "0"}, b""), service.good]
    assert ask(rivers())["level"] == 1.5
    service.answers = [(503, {"retry-after": "0"}, b"")] * 2
    with pytest.raises(RunError, match="answered 503"):
        ask(rivers())
    assert len(service.asked) == 4


def test_an_error_of_the_service_names_it_without_the_key(rivers: Make, service: Service) -> None:
    service.answers = [(403, {}, f"{KEY} may not".encode())]
    with pytest.raises(RunError, match=r"answered 403: \*\*\* may not") as error:
        ask(rivers(key_env="RIVER_KEY"))
    assert KEY not in str(error.value)
    assert len(service.asked) == 1


def test_no_redirect_leads_to_another_host(rivers: Make, service: Service) -> None:
    other = Service()
    service.answers = [(302, {"location": f"{other.url}/rivers"}, b"")]
    with pytest.raises(RunError, match="redirects to another host"):
        ask(rivers(key_env="RIVER_KEY"))
    assert other.asked == []
    other.close()
    service.answers = [(307, {"location": "/v2/rivers"}, b""), service.good]
    assert ask(rivers())["level"] == 1.5
    assert service.asked[-1][1] == "/v2/rivers"


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b'{"level": NaN}', ServiceReplyInvalid, "level: nan is not a finite number"),
        (b'{"level": "high"}', ServiceReplyInvalid, "does not fit its own schema"),
        (b"[1]", ServiceReplyInvalid, "JSON list, not an object"),
        (b"<html>", ServiceReplyInvalid, "cannot be read"),
        (b'"' + b"x" * 200_000 + b'"', ReplyTooLarge, "more than 0.1 MB"),
    ],
)
def test_a_reply_that_cannot_be_used_is_an_error(
    rivers: Make, service: Service, content: bytes, error: type[RunError], words: str
) -> None:
    service.good = (200, {}, content)
    with pytest.raises(error, match=words):
        ask(rivers(max_mb=0.1))


def test_a_service_that_hangs_or_is_not_there(rivers: Make) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServiceTimeout, match=r"within 0\.1 s"):
            ask(rivers(base_url=url, timeout_s=0.1))
    with pytest.raises(ServiceDied, match="cannot be reached"):
        ask(rivers(base_url=url))


def test_the_fingerprint_follows_the_document_and_the_salt(rivers: Make) -> None:
    one = rivers().fingerprint()
    assert rivers().fingerprint() == one
    assert rivers(prose="More words.").fingerprint() == one
    assert rivers(salt="2").fingerprint() != one
    read = document()
    read["components"]["schemas"]["Unused"] = {"type": "number"}
    assert rivers(read).fingerprint() == one
    read["components"]["schemas"]["State"]["enum"].append("flood")
    assert rivers(read).fingerprint() != one
    assert rivers(operations=["level"]).fingerprint() != one


@pytest.mark.parametrize(
    ("changes", "settings", "words"),
    [
        ({"parameters": [{"name": "rain", "in": "query"}]}, {}, "rain has no schema"),
        ({"responses": {"200": {"description": "ok"}}}, {}, "its reply has no JSON schema"),
        ({"operationId": None}, {}, "has no operationId"),
        ({"operationId": "drain"}, {}, "two operations are named 'drain'"),
        ({}, {"operations": ["lvl"]}, "has no lvl; known: drain, level"),
        ({}, {"base_url": None}, "give base_url"),
        ({}, {"base_url": "ftp://a"}, "not an http"),
        ({}, {"base_url": f"http://me:{KEY}@a"}, "holds a user name or password"),
        ({}, {"key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
        ({}, {"timeout_s": 0}, "timeout_s is 0"),
        ({}, {"retries": -1}, "retries is -1"),
        ({}, {"examples": {"lvl": []}}, "has no tool lvl"),
        ({}, {"handbook": "nowhere.md"}, "nowhere.md cannot be read"),
    ],
)
def test_what_is_wrong_with_documents_and_settings_is_said(
    rivers: Make, changes: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words) as error:
        rivers(document(**changes), **settings)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("swagger: '2.0'", "not OpenAPI 3"), ("[", "neither JSON nor YAML"), ("3", "not an OpenAPI")],
)
def test_what_is_not_a_document_is_said(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=words):
        OpenApiSimulator(str(path))


def test_a_document_comes_from_an_address_too(service: Service) -> None:
    service.answers = [(200, {}, json.dumps({**document(), "servers": [{"url": "/v3"}]}).encode())]
    simulator = OpenApiSimulator(f"{service.url}/openapi.json")
    assert ask(simulator)["level"] == 1.5
    assert service.asked[-1][1].startswith("/v3/rivers/")
