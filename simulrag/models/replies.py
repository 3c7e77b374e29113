"""The JSON contracts of the prompts: what each task's reply must look like.

Types are strict: the string "false" is no boolean and "0" no integer. A reply that does not fit
goes back to the model once, with the validation error.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt, StrictStr

Text = Annotated[StrictStr, Field(min_length=1)]


class Reply(BaseModel):
    """Base of all replies: closed and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ProposedCall(Reply):
    """One tool call, not yet validated against its tool."""

    tool: Text
    arguments: dict[str, JsonValue]


class ToolCalls(Reply):
    """Reply to ``tool_calls``; empty where no tool applies."""

    calls: list[ProposedCall]


class DecomposedClaim(Reply):
    """One atomic claim."""

    claim: Text


class Decomposition(Reply):
    """Reply to ``decompose`` and ``evaluation_decompose``."""

    claims: list[DecomposedClaim]


class ClaimPairs(Reply):
    """Reply to ``merge``: [existing index, new index] where the existing claim covers the new."""

    pairs: list[Annotated[list[StrictInt], Field(min_length=2, max_length=2)]]


class Entailment(Reply):
    """Reply to ``entailment``: one boolean a claim, in order."""

    supported: list[StrictBool]


class Verbalized(Reply):
    """Reply to ``verbalized``."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Boundary(Reply):
    """Reply to ``boundary``."""

    tool_confidence: Annotated[StrictInt, Field(ge=0, le=1)]


class Verification(Reply):
    """Reply to ``verify``."""

    is_included: StrictBool
    should_update: StrictBool
    updated_claim: StrictStr


class Numbered(Reply):
    """What a reply to several claims says of one: ``index`` is the claim's number in the prompt."""

    index: StrictInt


class NumberedBoundary(Boundary, Numbered):
    """One claim's part of a BoundaryBatch."""


class BoundaryBatch(Reply):
    """Reply to ``boundary_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedBoundary]


class NumberedVerification(Verification, Numbered):
    """One claim's part of a VerificationBatch."""


class VerificationBatch(Reply):
    """Reply to ``verify_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedVerification]


class Judgement(Reply):
    """Reply to ``label``."""

    label: Literal["true", "false", "undecided"]
    reason: StrictStr


class Placeholder(Reply):
    """An argument that varies in a template. The wording says how the situation shows it."""

    argument: Text
    low: float
    high: float
    decimals: Annotated[StrictInt, Field(ge=0, le=6)]
    wording: Literal["value", "percent_reduction", "percent_increase"]


class FixedArgument(Reply):
    """An argument that every question of the template shares."""

    argument: Text
    value: StrictBool | StrictInt | float | StrictStr


class MagnitudeClass(Reply):
    """A class of absolute magnitude, from ``from_magnitude`` up to the next class's."""

    name: Text
    from_magnitude: Annotated[float, Field(ge=0)]


class Ask(Reply):
    """One output that a template asks about."""

    output: Text
    words: Text
    classes: list[MagnitudeClass]
    better: Literal["lower", "higher", "neither"]


class Template(Reply):
    """One question template; ``{argument}`` in ``situation`` is a placeholder."""

    template_id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    tool: Text
    situation: Text
    placeholders: list[Placeholder]
    fixed: list[FixedArgument]
    asks: Annotated[list[Ask], Field(min_length=1)]


class Templates(Reply):
    """Reply to ``benchmark_templates``."""

    templates: Annotated[list[Template], Field(min_length=1)]


class BenchmarkQuestion(Reply):
    """Reply to ``benchmark_question``."""

    question: Text
    reference_answer: Text


class TaggedClaim(Reply):
    """One claim of a reference answer."""

    claim: Text
    kind: Literal["quantitative", "qualitative"]


class ReferenceClaims(Reply):
    """Reply to ``reference_claims``."""

    claims: Annotated[list[TaggedClaim], Field(min_length=1)]
