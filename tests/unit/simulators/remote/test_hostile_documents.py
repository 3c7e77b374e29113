"""What a service, its document and its schemas may not do."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from simulators.base import ArgumentError
from simulators.remote.http import OpenApiSimulator
from simulators.shapes import JsonShape

TEXT = {"200": {"description": "so", "content": {"text/plain": {"schema": {"type": "string"}}}}}


def document(path: str = "/run", **more: Any) -> dict[str, Any]:
    operation = {"operationId": "run", "responses": TEXT}
    return {"openapi": "3.0.0", "info": {"title": "x"}, "paths": {path: {"get": operation}}, **more}


def opened(tmp_path: Path, read: object, **settings: Any) -> OpenApiSimulator:
    file = tmp_path / "openapi.json"
    file.write_text(read if isinstance(read, str) else json.dumps(read))
    return OpenApiSimulator(str(file), **settings)


@pytest.mark.parametrize("path", ["@127.0.0.2:9/steal", ":9/steal", ".evil.example/x", "run", ""])
def test_a_path_cannot_lead_to_another_host(tmp_path: Path, path: str) -> None:
    with pytest.raises(ArgumentError, match="does not begin with '/'"):
        opened(tmp_path, document(path), base_url="http://127.0.0.1:1")


@pytest.mark.parametrize(
    "servers",
    [
        [{"url": "http://169.254.169.254/latest"}],
        [{"url": "//127.0.0.2:9/x"}],
        [{"url": "https://else.example"}],
    ],
)
def test_a_document_does_not_choose_the_host(tmp_path: Path, servers: list[Any]) -> None:
    with pytest.raises(ArgumentError, match="give base_url"):
        opened(tmp_path, document(servers=servers))


@pytest.mark.parametrize("servers", [{"url": "http://a"}, ["http://a"], [], [{"url": 3}], "x"])
def test_servers_of_another_shape_are_one_line(tmp_path: Path, servers: object) -> None:
    with pytest.raises(ArgumentError, match="names no server"):
        opened(tmp_path, document(servers=servers))


def changed(place: str, value: object) -> dict[str, Any]:
    """A document with a body and a parameter, with another value at a dotted place."""
    read = document()
    operation = read["paths"]["/run"].pop("get")
    schema = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    operation["parameters"] = [{"name": "q", "in": "query", "schema": {"type": "string"}}]
    read["paths"]["/run"] = {"parameters": [], "post": operation}
    read["components"] = {"schemas": {}}
    *path, last = place.split("/")
    inside: Any = read
    for word in path:
        inside = inside[int(word) if isinstance(inside, list) else {"RUN": "/run"}.get(word, word)]
    inside[{"RUN": "/run"}.get(last, last)] = value
    return read


POST = "paths/RUN/post"


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("paths", ["/run"], "'paths' is a list"),
        ("paths", "x", "'paths' is a str"),
        ("paths/RUN", [1], "'paths./run' is a list"),
        ("paths/RUN/parameters", {"q": 1}, "'paths./run.parameters' is a dict"),
        ("paths/RUN/parameters", ["q"], "'paths./run.parameters.0' is a str"),
        (POST, [], "'paths./run.post' is a list"),
        (f"{POST}/operationId", ["run"], "'paths./run.post.operationId' is a list"),
        (f"{POST}/parameters", "q", "'paths./run.post.parameters' is a str"),
        (f"{POST}/parameters", [{"name": ["q"], "in": "query"}], "'name' is a list"),
        (f"{POST}/parameters", [{"name": "q", "in": {}}], "'in' is a dict"),
        (f"{POST}/requestBody", "x", "'paths./run.post.requestBody' is a str"),
        (f"{POST}/requestBody/content", [1], "'content' is a list"),
        (f"{POST}/responses", [], "'paths./run.post.responses' is a list"),
        (f"{POST}/responses", {"200": {"content": "x"}}, "'content' is a str"),
        ("components", [], "'components' is a list"),
        ("components/schemas", "x", "'components.schemas' is a str"),
    ],
)
def test_a_part_of_another_shape_is_one_line_that_names_the_place(
    tmp_path: Path, place: str, value: object, named: str
) -> None:
    with pytest.raises(ArgumentError, match="not of OpenAPI's shape") as said:
        opened(tmp_path, changed(place, value), base_url="http://127.0.0.1:1")
    assert named in str(said.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [("properties", ["x"]), ("properties", "x"), ("required", "x"), ("required", [["x"]])],
)
def test_a_schema_of_another_shape_is_one_line(tmp_path: Path, field: str, value: object) -> None:
    read = changed("info", {"title": "x"})
    content = read["paths"]["/run"]["post"]["requestBody"]["content"]
    content["application/json"]["schema"][field] = value
    with pytest.raises(ArgumentError, match=f"the schema of its body of 'run', '{field}"):
        opened(tmp_path, read, base_url="http://127.0.0.1:1")


def aliases(levels: int) -> str:
    """YAML whose every line names the one before ten times."""
    lines = ["openapi: 3.0.0", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_are_counted_as_often_as_they_are_named(tmp_path: Path) -> None:
    began = time.process_time()
    with pytest.raises(ArgumentError, match="holds more than 200,000 values"):
        opened(tmp_path, aliases(30), base_url="http://127.0.0.1:1")
    assert time.process_time() - began < 5


def test_json_is_read_as_json(tmp_path: Path) -> None:
    """Six megabytes took a reader of YAML more than a minute."""
    padded = json.dumps(document(servers=[], pad="x" * 6_000_000))
    began = time.process_time()
    opened(tmp_path, padded, base_url="http://127.0.0.1:1")
    assert time.process_time() - began < 5


def test_deep_nesting_is_one_line(tmp_path: Path) -> None:
    for text in ("{" + '"a":{' * 100_000, '{"a":' * 3000 + "1" + "}" * 3000):
        with pytest.raises(ArgumentError, match=r"nested|neither JSON nor YAML"):
            opened(tmp_path, text, base_url="http://127.0.0.1:1")


def shape(**properties: Any) -> JsonShape:
    return JsonShape({"type": "object", "properties": properties})


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(.*a){12}$", r"(x+x+)+y"])
def test_a_pattern_takes_no_longer_than_its_text(pattern: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="does not match"):
        shape(word={"type": "string", "pattern": pattern}).check({"word": "a" * 40 + "!x"})
    assert time.process_time() - began < 1


@pytest.mark.parametrize("pattern", [r"(?=\x1b]0;x\x07)b", r"(a)\1", "(", r"^.{1,2000}$"])
def test_a_pattern_that_the_engine_does_not_know_is_the_service_s_to_check(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    made = shape(word={"type": "string", "pattern": pattern, "minLength": 2})
    assert made.check({"word": "b" * 30}) == {"word": "b" * 30}
    with pytest.raises(ValueError, match="too short"):
        made.check({"word": "b"})
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        (r"^[\u0020-\u007e]+$", "plain", "\x07"),
        (r"^(?<year>\d{4})$", "2024", "24"),
        (r"^\p{L}+$", "Ströme", "1"),
    ],
)
def test_patterns_of_javascript_s_dialect(pattern: str, fits: str, fails: str) -> None:
    made = shape(word={"type": "string", "pattern": pattern})
    made.check({"word": fits})
    with pytest.raises(ValueError, match="does not match"):
        made.check({"word": fails})


def test_branches_that_double_with_every_level_end() -> None:
    """Twelve levels took seconds, forty no end."""
    again = {"properties": {"x": {"$ref": "#/$defs/A"}}}
    tangled = {"anyOf": [{**again, "required": ["zz"]}, again]}
    made = JsonShape(
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": tangled}}
    )
    value: Any = {}
    for _ in range(40):
        value = {"x": value}
    began = time.process_time()
    with pytest.raises(ValueError, match="steps to check"):
        made.check({"a": value})
    by_default = {"type": "object", "properties": {"a": {**tangled, "default": value}}}
    with pytest.raises(ValueError, match="steps to check"):
        JsonShape({**by_default, "$defs": {"A": tangled}}).check({})
    assert time.process_time() - began < 60


def test_unique_items_take_linear_time() -> None:
    made = shape(rows={"type": "array", "uniqueItems": True})
    rows = [{"a": number} for number in range(50_000)]
    began = time.process_time()
    made.check({"rows": rows})
    with pytest.raises(ValueError, match="holds an item twice"):
        made.check({"rows": [*rows, {"a": 7}]})
    assert time.process_time() - began < 10


def test_a_long_reply_with_every_item_wrong_is_a_short_line() -> None:
    made = shape(rows={"type": "array", "items": {"type": "string"}})
    with pytest.raises(ValueError, match="; and more") as said:
        made.check({"rows": [0] * 100_000})
    assert len(str(said.value)) < 1000


def test_a_number_that_is_too_large_to_divide_is_one_line() -> None:
    with pytest.raises(ValueError, match="too large to check"):
        shape(a={"type": "number", "multipleOf": 0.1}).check({"a": 10**400})


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "example": {"$ref": "other.json", "pattern": "("}},
        {"type": "string", "default": "x", "enum": ["x", "y"], "x-hint": {"$ref": "a.json"}},
    ],
)
def test_data_in_a_schema_is_no_schema(part: Any) -> None:
    assert shape(word=part, patternProperties={"type": "string"}).check({"word": "x"})


def api(tmp_path: Path, text: str) -> OpenApiSimulator:
    """A document in YAML with one operation, whose reply has the schema ``text``."""
    head = """
openapi: 3.0.3
info: {title: Rivers, version: "1"}
x-date: 2024-01-01
paths:
  x-note: {a: 1}
  /level:
    x-anything: [1]
    get:
      operationId: level
      description: 2024-01-01
      responses:
        "200": {content: {application/json: {schema: {$ref: "#/components/schemas/Level"}}}}
components:
  parameters: {P: {name: p, in: query, schema: {type: number, example: 2024-01-01}}}
  schemas:
    Other Thing: {type: object, properties: {b: {type: string, nullable: true, enum: [x]}}}
    Level:
"""
    body = "".join(f"      {line}\n" for line in text.splitlines())
    file = tmp_path / "api.yaml"
    file.write_text(head + body)
    return OpenApiSimulator(str(file), base_url="http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        ("type: object\nproperties: {day: {type: string, example: 2024-01-01}}", {"day": "x"}),
        (
            "type: object\n"
            "properties: {a: {nullable: true, allOf: [{$ref: "
            "'#/components/schemas/Other Thing'}]}}",
            {"a": None},
        ),
        (
            "type: object\n"
            "properties: {a: {$ref: '#/components/schemas/Other%20Thing/properties/b'}}",
            {"a": None},
        ),
        ("type: object\nproperties: {a: {$ref: '#/components/parameters/P/schema'}}", {"a": 1}),
        ("type: object\nnullable: true\nproperties: {a: {type: integer}}", {"a": 1}),
    ],
)
def test_documents_as_people_write_them_are_taken(
    tmp_path: Path, schema: str, reply: dict[str, Any]
) -> None:
    made = api(tmp_path, schema)
    assert made.fingerprint()
    outputs = made.tools["level"].outputs
    assert isinstance(outputs, JsonShape)
    assert outputs.check(reply) == reply


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: !!binary aGVsbG8=", "holds what JSON cannot"),
        ("a: !!set {x, y}", "holds what JSON cannot"),
        ('a: "\\ud800"', "holds what JSON cannot|neither JSON nor YAML"),
        ("a: &a {" + ", ".join(f"k{n}: 1" for n in range(2000)) + "}\nb:\n"
         + "- {<<: *a}\n" * 2000, "merged maps"),
        ("a: [\nb: ]]\n- c", "neither JSON nor YAML"),
    ],
)  # fmt: skip
def test_yaml_that_is_no_json_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    began = time.process_time()
    with pytest.raises(ArgumentError, match=words) as said:
        opened(tmp_path, f"openapi: 3.0.0\n{text}\n", base_url="http://127.0.0.1:1")
    assert "\n" not in str(said.value)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("path", ["/a\r\nX: y", "/" + "a" * 70_000, "/\x00"])
def test_a_path_that_no_address_can_have_is_one_line(tmp_path: Path, path: str) -> None:
    with pytest.raises(ArgumentError, match="is no path of an address"):
        opened(tmp_path, document(path), base_url="http://127.0.0.1:1")


def test_references_that_double_are_refused_before_a_value_is_checked() -> None:
    bomb = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    with pytest.raises(ValueError, match="its references lead to more than"):
        JsonShape(
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/d0"}},
                "$defs": {**bomb, "d30": {"type": "string"}},
            }
        )


@pytest.mark.parametrize(
    "part",
    [
        {"$ref": "#/$defs/self"},
        {"$ref": "#/$defs/gone"},
        {"$id": "http://a/b", "$ref": "#foo"},
    ],
)
def test_a_schema_that_leads_nowhere_is_a_wrong_call_and_no_traceback(part: Any) -> None:
    made = JsonShape(
        {
            "type": "object",
            "properties": {"a": part},
            "$defs": {"self": {"allOf": [{"$ref": "#/$defs/self"}]}},
        }
    )
    with pytest.raises(ValueError, match="refers to itself or to nothing"):
        made.check({"a": "x"})
