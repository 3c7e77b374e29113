"""The section ``score`` of params.yaml."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat

from flows.sections import RoomSection
from simulrag.models.settings import ModelSettings


class ScoreParams(RoomSection):
    """How answers are scored without a reference."""

    questions: int | None = Field(
        default=None, ge=1, description="questions of each domain, the first ones; null: all"
    )
    methods: list[str] = Field(
        default=[],
        description="methods to score, such as closed_book; []: all",
    )
    varied: list[str] = Field(
        default=[],
        description="methods that also answer reworded questions; []: all of methods",
    )
    samples: int = Field(
        default=3, ge=1, le=15, description="the judge's votes on each claim's details"
    )
    weights: list[NonNegativeFloat] = Field(
        default=[0.6, 0.2, 0.1, 0.1],
        min_length=4,
        max_length=4,
        description="weights of scenario, place, time and magnitude in specificity",
    )
    undefined_as_zero: bool = Field(
        default=False, description="specificity is 0 if nothing is stated, as in the published code"
    )
    asked_back: int = Field(
        default=5,
        ge=0,
        le=20,
        description="questions that a model derives from a masked answer; 0: no relevance",
    )
    claims_per_call: int = Field(default=40, ge=1, le=200, description="claims in one call")
    variants: int = Field(
        default=20, ge=0, description="questions of a domain that are reworded and answered again"
    )
    context_use: int = Field(
        default=5, ge=0, description="questions of a domain for which context use is measured"
    )
    dependence: bool = Field(
        default=False, description="also verify each answer's claims without each piece of evidence"
    )
    seed: int = Field(default=7, ge=0, description="seed of the changed scenarios")
    domains: list[str] = Field(default=[], description="domains to measure; []: none")
    judges: list[ModelSettings] = Field(
        default=[], description="models with one vote each; []: samples of llm.judge"
    )
    confidence: ModelSettings | None = Field(
        default=None, description="model with log-probabilities of a given text, for context use"
    )
    reranker: ModelSettings | None = Field(
        default=None, description="server with /v1/rerank; null: similarity by all-MiniLM-L6-v2"
    )
