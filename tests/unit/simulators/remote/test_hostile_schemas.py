"""What a service's schemas may not do."""

from __future__ import annotations

import time
from typing import Any

import pytest

from simulators.shapes import JsonShape


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
