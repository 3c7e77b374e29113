from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, ConfigDict

from simulrag.judging.claims import Judgement
from simulrag.method.boundary import Boundary, Verbalized
from simulrag.method.decomposition import Decomposition
from simulrag.method.entailment import Entailment
from simulrag.method.merging import ClaimPairs
from simulrag.method.retrieval import ToolCalls
from simulrag.method.verification import Verification
from simulrag.models.parsing import reply_schema
from simulrag.models.providers.strictness import strict_schema
from simulrag.questions.open.templates import Templates
from simulrag.questions.open.writing import BenchmarkQuestion, ReferenceClaims


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
        Decomposition,
        ClaimPairs,
        Entailment,
        Verbalized,
        Boundary,
        Verification,
        Judgement,
        Templates,
        BenchmarkQuestion,
        ReferenceClaims,
    ],
)
def test_closed_replies_are_strict(schema: type[BaseModel]) -> None:
    strict = strict_schema(reply_schema(schema))
    assert strict is not None
    assert "minLength" not in json.dumps(strict)
    assert strict["required"] == reply_schema(schema)["required"]


@pytest.mark.parametrize("schema", [ToolCalls, Open, WithDefault, HoldsOpen])
def test_open_replies_are_not(schema: type[BaseModel]) -> None:
    assert strict_schema(reply_schema(schema)) is None


def test_limits_that_are_known_stay() -> None:
    strict = json.dumps(strict_schema(reply_schema(Verbalized)))
    assert '"maximum": 1' in strict
    assert '"pattern"' in json.dumps(strict_schema(reply_schema(Templates)))
