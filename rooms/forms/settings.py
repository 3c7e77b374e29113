"""The section ``forms`` of params.yaml."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from flows.sections import Name, ParamsSection, RoomSection

FactualBy = Literal["logprobs", "stated"]


class DocumentFiles(ParamsSection):
    """Files that questions by form are made from, and that the library condition reads."""

    files: list[str] = Field(min_length=1, description="files or folders, from the project's own")
    licence: str = Field(default="", description="of files that carry none")
    attribution: str = Field(default="", description="who is to be credited for those")


class FormsAnswerSettings(BaseModel):
    """``forms.answer`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    evidence: dict[str, tuple[str, ...]] = Field(
        default={},
        description="by source: names under simulators to answer from, a library, a simulator or "
        "one of each (default: the source's own documents and its own simulator)",
    )
    max_attempts: int = Field(default=2, ge=1, le=10, description="attempts at the tool calls")


class FormsMetricSettings(BaseModel):
    """``forms.metrics`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    factual: FactualBy = Field(
        default="logprobs",
        description="factual accuracy by the judge's log-probabilities, or by the probability that "
        "it states (stated)",
    )
    min_label_mass: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="probability of both labels together below which there is no value",
    )


class FormsParams(RoomSection):
    """Questions by form: choice, freeform, cloze."""

    sources: list[str] = Field(
        default=[], description="domains, or names under forms.documents, to ask about; []: none"
    )
    documents: dict[Name, DocumentFiles] = Field(
        default={}, description="by source: the files of its corpus"
    )
    questions: int = Field(
        default=30, ge=1, le=100_000, description="from a source's documents, and from its runs"
    )
    seed: int = Field(default=1, ge=0, description="order of passages, scenarios and options")
    contexts: int = Field(
        default=2, ge=0, le=10, description="passages shown beside the one a question is about"
    )
    threshold: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="a passage is shown that scores this share of the seed passage's own score",
    )
    answer: FormsAnswerSettings = FormsAnswerSettings()
    metrics: FormsMetricSettings = FormsMetricSettings()

    @property
    def own_items(self) -> Collection[str]:
        """The sources that are documents."""
        return self.documents

    def misfit(self, domains: Sequence[str]) -> str | None:
        """Say which sources are neither a domain nor documents; None: all are one of them."""
        others = [name for name in self.sources if name not in {*domains, *self.documents}]
        if not others:
            return None
        named = ", ".join(map(repr, others))
        return f"sources: {named}: neither a domain that runs nor under forms.documents"
