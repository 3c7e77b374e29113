"""Tools whose arguments and outputs are JSON schemas of a service."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simulators.base import ArgumentError, render_handbook
from simulators.json_schema import JsonShape, described, plain_values, text_of
from simulators.remote.tools import SAID, Offered, ServiceReplyInvalid, make_tool, outputs_of

ARGUMENTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rain": {"$ref": "#/$defs/Rain"},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "soil": {"enum": ["clay", "sand"], "default": "peat"},
    },
    "required": ["rain"],
    "$defs": {"Rain": {"type": "number", "maximum": 200, "unit": "mm", "description": "of a|day"}},
}
OUTPUTS = {"type": "object", "properties": {"level": {"type": "number", "unit": "m"}}}
TOOL = make_tool(Offered("fill", "Fills.", ARGUMENTS, OUTPUTS))


def test_a_call_has_its_defaults_so_that_one_call_is_one_call() -> None:
    shape = JsonShape(ARGUMENTS)
    assert shape.check({"rain": 5}) == {"rain": 5, "days": 3}  # 'peat' is not in its own schema
    assert shape.check({"rain": 5, "days": 3}) == shape.check({"rain": 5})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({}, "'rain' is a required property"),
        ({"rain": 500}, "rain: 500 is greater than the maximum of 200"),
        ({"rain": math.nan}, "rain: nan is not a finite number"),
        ({"rain": 5, "days": "3"}, "days: '3' is not of type 'integer'"),
        ({"rain": 5, "colour": 1}, "colour: there is no such name; known: rain, days, soil"),
    ],
)
def test_a_wrong_call_is_refused_in_words(call: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        JsonShape(ARGUMENTS).check(call)


def test_a_pattern_is_the_services_to_check() -> None:
    shape = JsonShape({"properties": {"word": {"type": "string", "pattern": r"^\p{L}+$"}}})
    assert shape.check({"word": "1"}) == {"word": "1"}


def test_a_long_reply_with_every_item_wrong_is_a_short_line() -> None:
    shape = JsonShape({"properties": {"rows": {"type": "array", "items": {"type": "string"}}}})
    with pytest.raises(ValueError, match="; and more") as said:
        shape.check({"rows": [0] * 100_000})
    assert len(str(said.value)) < 1000


@pytest.mark.parametrize(
    "reference", ["#/$defs/self", "#/$defs/gone", "http://127.0.0.1:9/a", "other.json"]
)
def test_a_reference_that_leads_nowhere_is_told_and_nothing_is_fetched(reference: str) -> None:
    shape = JsonShape(
        {
            "properties": {"a": {"$ref": reference}},
            "$defs": {"self": {"allOf": [{"$ref": "#/$defs/self"}]}},
        }
    )
    with pytest.raises(ValueError, match="refers to itself or to nothing"):
        shape.check({"a": "x"})


def test_a_schema_may_allow_more_names() -> None:
    shape = JsonShape({"type": "object", "additionalProperties": True})
    assert shape.check({"colour": 1}) == {"colour": 1}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "describes a array"),
        ({"type": "object", "properties": {"a": {"type": "metre"}}}, "not a JSON schema"),
        ({"properties": {SAID: {}}}, "a name of ours"),
    ],
)
def test_a_schema_that_cannot_be_used_is_an_error_that_names_its_tool(
    schema: dict[str, Any], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words) as error:
        make_tool(Offered("fill", "", {"type": "object"}, schema))
    assert "tool 'fill'" in str(error.value)


def test_the_handbook_has_what_the_schema_says() -> None:
    handbook = render_handbook("# A basin", {"fill": TOOL})
    assert "| rain | number | mm | to 200 | required | of a/day |" in handbook
    assert "| days | integer | - | 1 to | 3 |  |" in handbook
    assert "| soil | one of clay, sand | - | - | peat |  |" in handbook
    assert "| level | number | m |  |" in handbook


def test_the_text_of_a_service_is_the_evidence() -> None:
    outputs = outputs_of(TOOL, {"level": 1.5}, " It stands at 1.5 m.\n")
    assert outputs == {"level": 1.5, SAID: "It stands at 1.5 m."}
    assert TOOL.describe({"rain": 5}, outputs) == "It stands at 1.5 m."
    assert plain_values(outputs) == outputs
    assert text_of(outputs) == '{"level": 1.5, "evidence_text": "It stands at 1.5 m."}'


@pytest.mark.parametrize("said", ["", '{"by": "gauge", "level": 1.5}'])
def test_without_words_of_its_own_outputs_are_put_into_words(said: str) -> None:
    outputs = outputs_of(TOOL, {"level": 1.5, "by": "gauge"}, said)
    assert outputs[SAID] == "Results of fill:\n- level: 1.5 m\n- by: gauge"


@pytest.mark.parametrize(
    ("structured", "words"),
    [
        ({"level": math.nan}, "level: nan is not a finite number"),
        ({"more": [{"a": math.inf}]}, r"more\[0\].a: inf is not a finite"),
        ({"level": "high"}, "does not fit its own schema"),
        ({}, "neither a text nor outputs"),
    ],
)
def test_a_result_that_cannot_be_used_is_an_error(structured: dict[str, Any], words: str) -> None:
    with pytest.raises(ServiceReplyInvalid, match=words):
        outputs_of(TOOL, structured, "")


def test_a_template_with_braces_in_a_text_is_not_rendered() -> None:
    outputs = outputs_of(TOOL, {}, "{{ 7 * 7 }}")
    assert TOOL.describe({}, outputs) == "{{ 7 * 7 }}"


def test_both_kinds_of_shape_are_described_alike() -> None:
    (rain, days, _) = described(TOOL.arguments)
    assert (rain.required, rain.unit, days.default) == (True, "mm", 3)
