"""The section ``score`` of params.yaml."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat

from flows.sections import RoomSection
from simulrag.models.settings import ModelSettings


class ScoreParams(RoomSection):
    """How answers are scored without a reference."""

    questions: int | None = Field(
        default=None, ge=1, description="the first ones of each domain; null: all"
    )
    methods: list[str] = Field(
        default=[],
        description="methods whose answers are scored, such as closed_book; []: all",
    )
    varied: list[str] = Field(
        default=[],
        description="those of them whose answers to reworded questions are made; []: all of them",
    )
    samples: int = Field(
        default=3, ge=1, le=15, description="votes of the judge on each claim's details"
    )
    weights: list[NonNegativeFloat] = Field(
        default=[0.6, 0.2, 0.1, 0.1],
        min_length=4,
        max_length=4,
        description="weights of scenario, place, time and magnitude in specificity",
    )
    undefined_as_zero: bool = Field(
        default=False, description="specificity 0 where nothing is stated, as the published code"
    )
    asked_back: int = Field(
        default=5,
        ge=0,
        le=20,
        description="questions asked back from a masked answer; 0: relevance is not measured",
    )
    claims_per_call: int = Field(default=40, ge=1, le=200, description="claims in one call")
    variants: int = Field(
        default=20, ge=0, description="questions of a domain that are reworded and answered anew"
    )
    context_use: int = Field(
        default=5, ge=0, description="questions of a domain whose answers' context use is measured"
    )
    dependence: bool = Field(
        default=False, description="verify each answer's claims without each piece of evidence"
    )
    seed: int = Field(default=7, ge=0, description="seed of the scenarios of perturbed questions")
    domains: list[str] = Field(
        default=[], description="domains whose answers are scored without a reference; []: none"
    )
    judges: list[ModelSettings] = Field(
        default=[], description="a vote a model, in place of several samples of llm.judge"
    )
    confidence: ModelSettings | None = Field(
        default=None, description="proxy with prompt log-probabilities, for context use"
    )
    reranker: ModelSettings | None = Field(
        default=None, description="server with /v1/rerank; null: similarity by all-MiniLM-L6-v2"
    )
