"""What a user may turn about the method: the section ``answer`` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulrag.records import Centrality

Merging = Literal["chain", "tree"]


class ClaimsPerCall(BaseModel):
    """How many of a question's claims go into one call at most; 1: each by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    boundary: int = Field(
        default=40,
        ge=1,
        le=200,
        description="claims in one boundary call, which sends the handbook; 1: each",
    )
    verify: int = Field(
        default=20, ge=1, le=200, description="claims in one verification call; 1: each"
    )
    verbalized: int = Field(
        default=1, ge=1, le=200, description="claims in one call for stated confidence; 1: each"
    )


class MethodSettings(BaseModel):
    """The method of one run. ``simulrag.answer`` and ``simulrag ask`` use ``for_one_question``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    method: Literal["paper", "reconciled"] = Field(
        default="paper",
        description="paper: as published; reconciled: claims grouped by what they are about, one "
        "voice each (the paper's answers are then written beside it)",
    )
    samples: int = Field(
        default=5, ge=1, le=100, description="m, closed-book answers drawn for each question"
    )
    max_claims: int = Field(
        default=12, ge=1, le=100, description="atomic claims taken from one answer at most"
    )
    max_attempts: int = Field(default=2, ge=1, le=10, description="attempts at valid tool calls")
    centrality: Centrality = Field(
        default="closeness", description="centrality that scores a claim's confidence"
    )
    merging: Merging | Literal["joint"] = Field(
        default="tree",
        description="chain: claim sets one after another; tree: in pairs, a shorter chain; joint: "
        "all at once, with what they support and are about (of baselines: the tree)",
    )
    claims_per_call: ClaimsPerCall = ClaimsPerCall()
    verify: Literal["all", "selected"] = Field(
        default="all",
        description="verify every claim (experiments: budgets then cost no call) or the selected",
    )
    verify_by: Literal["model", "point", "range"] = Field(
        default="model",
        description="model: verdicts as a model reads the evidence; point, range: it names the "
        "output that a claim is about, and arithmetic compares with its value, or its range",
    )
    verbalized: bool = Field(
        default=True, description="ask for the verbalized-confidence baseline too"
    )
    baselines: bool = Field(
        default=True,
        description="write closed-book, input-layer and output-layer RAG answers to compare with",
    )
    final_budgets_percent: tuple[float, ...] = Field(
        default=(25, 100),
        min_length=1,
        strict=False,  # YAML has lists only
        description="shares of all claims that may be verified; a final answer is written at each",
    )
    pool: Literal["domain", "question"] = Field(
        default="domain", description="what the budget is a share of"
    )
    tau: float | None = Field(
        default=None, ge=0, description="select claims of lower confidence instead of by budget"
    )
    kappa: float | None = Field(
        default=None, ge=0, description="keep claims of at least this confidence; else by quantile"
    )
    without_kappa: bool = Field(
        default=False, description="write each final answer without kappa as well, to compare"
    )
    complete: bool = Field(
        default=False,
        description="reconciled: say too what the question asks for, the evidence says and no "
        "answer claimed; a line of its own",
    )
    subject_uncertainty: Literal["largest", "sum"] = Field(
        default="largest", description="a subject's uncertainty from its facets' entropies"
    )
    select_by: Literal["uncertainty", "expected_change"] = Field(
        default="uncertainty",
        description="reconciled: subjects by their uncertainty, or by what a call is expected to "
        "mend, learnt on the development part (needs verify: all); tau is then the least gain",
    )
    subject_claims: Literal["all", "speaking"] = Field(
        default="all",
        description="what verifies a selected subject: all of its claims, or those that would "
        "speak for it",
    )
    kappa_development: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="share of questions, by hash, that kappa's quantile is taken on",
    )
    kappa_quantile: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="kappa as this quantile of confidence before verification",
    )
    seed: int = Field(default=7, ge=0, description="seed of ties in selection")

    @field_validator("final_budgets_percent")
    @classmethod
    def _ascending(cls, budgets: tuple[float, ...]) -> tuple[float, ...]:
        for budget in budgets:
            if not 0 <= budget <= 100:
                raise ValueError(f"budget {budget:g} is impossible: give percentages from 0 to 100")
        if len(set(budgets)) != len(budgets):
            raise ValueError("a budget is named twice")
        return tuple(sorted(budgets))

    def for_one_question(self) -> MethodSettings:
        """The same for a question asked by itself: all within reach is verified, none compared."""
        return self.model_copy(
            update={
                "verify": "selected",
                "pool": "question",
                "verbalized": False,
                "baselines": False,
                "final_budgets_percent": (100.0,),
                "without_kappa": False,
                "complete": self.method == "reconciled",
                "select_by": "uncertainty",
            }
        )
