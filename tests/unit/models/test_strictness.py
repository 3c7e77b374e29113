from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, ConfigDict

from simulrag.models import replies
from simulrag.models.parsing import reply_schema
from simulrag.models.providers.strictness import strict_schema


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


@pytest.mark.parametrize(
    "schema",
    [
        replies.Decomposition,
        replies.ClaimPairs,
        replies.Entailment,
        replies.Verbalized,
        replies.Boundary,
        replies.Verification,
        replies.Judgement,
        replies.Templates,
        replies.BenchmarkQuestion,
        replies.ReferenceClaims,
    ],
)
def test_closed_replies_are_strict(schema: type[BaseModel]) -> None:
    strict = strict_schema(reply_schema(schema))
    assert strict is not None
    assert "minLength" not in json.dumps(strict)
    assert strict["required"] == reply_schema(schema)["required"]


@pytest.mark.parametrize("schema", [replies.ToolCalls, Open, WithDefault, HoldsOpen])
def test_open_replies_are_not(schema: type[BaseModel]) -> None:
    assert strict_schema(reply_schema(schema)) is None


def test_limits_that_are_known_stay() -> None:
    strict = json.dumps(strict_schema(reply_schema(replies.Verbalized)))
    assert '"maximum": 1' in strict
    assert '"pattern"' in json.dumps(strict_schema(reply_schema(replies.Templates)))
