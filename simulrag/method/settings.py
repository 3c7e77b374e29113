"""What a user may turn about the method: the section ``answer`` of params.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulrag.method.recipes import RECIPES
from simulrag.records import Centrality

Beside = Literal["paper", "rag"]


class ClaimsPerCall(BaseModel):
    """How many of a question's claims go into one call at most; 1: each by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    boundary: int = Field(
        default=40,
        ge=1,
        le=200,
        description="claims in one boundary call, which sends the handbook",
    )
    verify: int = Field(default=20, ge=1, le=200, description="claims in one verification call")
    verbalized: int = Field(
        default=20, ge=1, le=200, description="claims in one call for stated confidence"
    )


class MethodSettings(BaseModel):
    """The method of one run. ``simulrag.answer`` and ``simulrag ask`` use ``for_one_question``."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)

    method: str = Field(
        default="grounded",
        description="grounded: an answer from the evidence, checked claim by claim; paper: "
        "the published method",
    )
    beside: tuple[Beside, ...] = Field(
        default=(),
        strict=False,  # YAML has lists only
        description="methods to compare with. paper: the published method; rag: closed "
        "book, input-layer and output-layer RAG, and RAG by several looks",
    )
    runs: int = Field(default=6, ge=1, le=100, description="simulator runs in one look, at most")
    looks: int = Field(
        default=4,
        ge=1,
        le=20,
        description="looks at the simulator, at most: the model plans further runs if they "
        "depend on the last ones (grounded; other methods have one look)",
    )
    samples: int = Field(
        default=5, ge=1, le=100, description="m: closed-book answers to each question"
    )
    max_claims: int = Field(
        default=12, ge=1, le=100, description="atomic claims of one answer, at most"
    )
    max_attempts: int = Field(default=2, ge=1, le=10, description="attempts at valid tool calls")
    centrality: Centrality = Field(
        default="closeness", description="centrality that is a claim's confidence"
    )
    claims_per_call: ClaimsPerCall = ClaimsPerCall()
    verify: Literal["all", "selected"] = Field(
        default="all",
        description="all: verify every claim, so that budgets can be compared without "
        "calls; selected: only those that the budget selects",
    )
    verbalized: bool = Field(
        default=True, description="ask the model for its confidence in each claim, a baseline"
    )
    final_budgets_percent: tuple[float, ...] = Field(
        default=(25, 100),
        min_length=1,
        strict=False,  # YAML has lists only
        description="budgets, in percent of all claims; a final answer is written for each",
    )
    pool: Literal["domain", "question"] = Field(
        default="question",
        description="the budget is a share of a question's claims, or of a domain's",
    )
    tau: float | None = Field(
        default=None,
        ge=0,
        description="threshold: select claims of lower confidence; null: select by budget",
    )
    kappa: float | None = Field(
        default=None,
        ge=0,
        description="threshold: keep claims of at least this confidence; null: by kappa_quantile",
    )
    without_kappa: bool = Field(
        default=False, description="also write each final answer without kappa, to compare"
    )
    kappa_development: float = Field(
        default=0.2,
        ge=0,
        le=1,
        description="share of questions, by hash, on which kappa_quantile is taken",
    )
    kappa_quantile: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="quantile of confidence before verification that kappa is set to",
    )
    seed: int = Field(default=7, ge=0, description="seed of ties in selection")

    @field_validator("method")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in RECIPES:
            raise ValueError(f"there is no method '{name}': write {' or '.join(RECIPES)}")
        return name

    @field_validator("final_budgets_percent")
    @classmethod
    def _ascending(cls, budgets: tuple[float, ...]) -> tuple[float, ...]:
        for budget in budgets:
            if not 0 <= budget <= 100:
                raise ValueError(f"budget {budget:g} is impossible: give percentages from 0 to 100")
        if len(set(budgets)) != len(budgets):
            raise ValueError("a budget is named twice")
        return tuple(sorted(budgets))

    def as_published(self) -> MethodSettings:
        """Set the paper's method alone, with what it is compared with: closed book and RAG."""
        return self.model_copy(update={"method": "paper", "beside": ("rag",)})

    def for_one_question(self, budget_percent: float = 100.0) -> MethodSettings:
        """Set for a question asked by itself: what the budget buys is verified, none compared.

        At 100 % that is every claim within reach.
        """
        return self.model_copy(
            update={
                "verify": "selected",
                "pool": "question",
                "verbalized": False,
                "beside": (),
                "final_budgets_percent": (budget_percent,),
                "without_kappa": False,
            }
        )
