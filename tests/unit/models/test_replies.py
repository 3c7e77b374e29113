"""Replies as models really spoil them, and the schemas that they are asked by."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from simulrag.method.claims import ClaimPairs, Entailment
from simulrag.method.retrieval import ToolCalls
from simulrag.method.verification import Verbalized, Verification
from simulrag.models.base import Request
from simulrag.models.providers.wires import strict_schema
from simulrag.models.replies import InvalidReply, parse_reply, plain_text, reply_schema, valid_reply
from simulrag.questions.templates import Templates
from simulrag.questions.writing import TaggedClaim

VALID: dict[type[BaseModel], dict[str, object]] = {
    ToolCalls: {"calls": [{"tool": "run", "arguments": {"speed_factor": 0.8, "n": None}}]},
    ClaimPairs: {"pairs": [[0, 1], [2, 0]]},
    Entailment: {"supported": [True, False]},
    Verbalized: {"probability": 0.75},
    Verification: {"is_included": True, "should_update": False, "updated_claim": "As is."},
}

WRONG_TYPE: dict[type[BaseModel], list[dict[str, object]]] = {
    ToolCalls: [{"calls": "run"}, {"calls": [{"tool": "run", "arguments": [0.8]}]}],
    ClaimPairs: [{"pairs": [["0", 1]]}, {"pairs": [[0]]}, {"pairs": [[0.0, 1]]}],
    Entailment: [{"supported": ["true", "false"]}, {"supported": [1, 0]}],
    Verbalized: [{"probability": "0.75"}, {"probability": 75}, {"probability": True}],
    Verification: [
        {"is_included": "false", "should_update": False, "updated_claim": ""},
        {"is_included": True, "should_update": False, "updated_claim": None},
    ],
}

SCHEMAS = sorted(VALID, key=lambda schema: schema.__name__)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_valid_replies_parse(schema: type[BaseModel]) -> None:
    text = json.dumps(VALID[schema])
    expected = schema.model_validate(VALID[schema])
    assert parse_reply(text, schema) == expected
    assert parse_reply(f"```json\n{text}\n```", schema) == expected
    assert parse_reply(f"```\n{text}\n```\n", schema) == expected
    assert parse_reply(f"Here is the result:\n\n{text}\n\nI hope it helps.", schema) == expected


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_reply_cut_off_anywhere_is_refused(schema: type[BaseModel]) -> None:
    text = json.dumps(VALID[schema])
    for length in range(len(text)):
        with pytest.raises(InvalidReply):
            parse_reply(text[:length], schema)


@pytest.mark.parametrize(
    ("schema", "reply"),
    [(schema, reply) for schema in SCHEMAS for reply in WRONG_TYPE[schema]],
)
def test_wrong_types_are_not_coerced(schema: type[BaseModel], reply: dict[str, object]) -> None:
    with pytest.raises(InvalidReply):
        parse_reply(json.dumps(reply), schema)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_extra_and_missing_keys_are_refused(schema: type[BaseModel]) -> None:
    with pytest.raises(InvalidReply, match="confidence"):
        parse_reply(json.dumps({**VALID[schema], "confidence": 1}), schema)
    for key in VALID[schema]:
        rest = {name: value for name, value in VALID[schema].items() if name != key}
        with pytest.raises(InvalidReply, match=key):
            parse_reply(json.dumps(rest), schema)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("I cannot tell.", "no JSON object"),
        ('["probability", 0.5]', "no JSON object"),
        ("{probability: 0.5}", "no valid JSON"),
        ("{'probability': 0.5}", "no valid JSON"),
        ('{"probability": 0.5', "cut off"),
        ('{"probability": 0.5, "probability": 0.6}', "twice"),
        ('{"probability": NaN}', "NaN is no JSON number"),
        ('{"probability": -Infinity}', "-Infinity is no JSON number"),
        ('{"probability": 1e999}', "too large"),
        ('{"probability": 0.5} or {"probability": 0.6}', "more than one"),
        ('[{"probability": 0.5}]', "more than one"),
        ('For {claim}: {"probability": 0.5}', "no valid JSON"),
        ('{"probability": "\\ud800"}', "surrogate"),
        ('{"a":' * 100_000, "nested too deeply|cut off"),
    ],
)
def test_what_has_to_be_guessed_at_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidReply, match=why):
        parse_reply(text, Verbalized)


def test_many_problems_are_shortened() -> None:
    text = json.dumps({"supported": ["yes"] * 30})
    with pytest.raises(InvalidReply, match=r"supported\.0: .*; and 25 more$"):
        parse_reply(text, Entailment)


def test_plain_text() -> None:
    assert plain_text("  It rises.\n") == "It rises."
    with pytest.raises(InvalidReply, match="empty"):
        plain_text(" \n\t")
    with pytest.raises(InvalidReply, match="surrogate"):
        plain_text("It rises \ud83d")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>So {1}.</think>It rises.", "It rises."),
        ("\n<think>\n</think>\n\nIt rises.", "It rises."),
        ("I think so.\n</think>\n\nIt rises.", "It rises."),
        ("It rises.", "It rises."),
        ("The tag </think> ends a thought.", "The tag </think> ends a thought."),
        ("It rises, as <think>so</think> says.", "It rises, as <think>so</think> says."),
    ],
)
def test_a_thought_before_a_text_is_cut(text: str, left: str) -> None:
    assert valid_reply(Request(task="t", messages=()), text) == (left, None)


def test_a_thought_before_json_is_cut_and_one_within_is_not() -> None:
    def read(text: str) -> Any:
        return valid_reply(Request(task="t", messages=(), schema=ReplyReasons), text)[1].reason

    assert read('<think>{"reason": "a"}</think>{"reason": "b"}') == "b"
    assert read('{"reason": "one </think> two"}') == "one </think> two"
    assert read('```json\n{"reason": "</think>"}\n```') == "</think>"
    assert read('Answer: {"reason": "the tag </think> ends"}') == "the tag </think> ends"


def test_a_thought_without_an_end_is_no_reply() -> None:
    with pytest.raises(InvalidReply, match="never ends that thought"):
        valid_reply(Request(task="t", messages=()), "<think>It rises, so")


class ReplyReasons(BaseModel):
    """One text."""

    reason: str


class Described(BaseModel):
    """A docstring for readers of the code."""

    description: str
    title: list[TaggedClaim]


def test_the_schema_holds_structure_alone() -> None:
    schema = reply_schema(Described)
    assert schema["title"] == "Described"
    assert "docstring" not in json.dumps(schema)
    assert "atomic claim" not in json.dumps(schema).lower()
    assert schema["properties"] == {
        "description": {"type": "string"},
        "title": {"type": "array", "items": {"$ref": "#/$defs/TaggedClaim"}},
    }


def test_a_changed_schema_leaves_the_next_one_alone() -> None:
    reply_schema(Described).clear()
    assert reply_schema(Described)["title"] == "Described"


class Open(BaseModel):
    """Takes further keys."""

    claim: str


class WithDefault(BaseModel):
    """A key that may be left out."""

    model_config = ConfigDict(extra="forbid")

    claim: str
    reason: str = ""


class HoldsOpen(BaseModel):
    """Closed, with an open object inside."""

    model_config = ConfigDict(extra="forbid")

    claims: list[Open]


@pytest.mark.parametrize("schema", [*VALID, Templates, Open, WithDefault, HoldsOpen])
def test_closed_replies_are_strict_and_open_ones_are_not(schema: type[BaseModel]) -> None:
    strict = strict_schema(reply_schema(schema))
    if schema in (ToolCalls, Open, WithDefault, HoldsOpen):
        assert strict is None
        return
    assert strict is not None
    assert "minLength" not in json.dumps(strict)
    assert strict["required"] == reply_schema(schema)["required"]


def test_limits_that_are_known_stay() -> None:
    strict = json.dumps(strict_schema(reply_schema(Verbalized)))
    assert '"maximum": 1' in strict
    assert '"pattern"' in json.dumps(strict_schema(reply_schema(Templates)))
