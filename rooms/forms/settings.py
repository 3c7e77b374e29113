"""The section ``forms`` of params.yaml."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from flows.sections import Name, ParamsSection, RoomSection

FactualBy = Literal["logprobs", "stated"]


class DocumentFiles(ParamsSection):
    """Files that questions by form are made from, and that the library condition reads."""

    files: list[str] = Field(min_length=1, description="files or folders, from the project's own")
    licence: str = Field(default="", description="licence of files that name none")
    attribution: str = Field(default="", description="credit for files that name none")


class FormsAnswerSettings(BaseModel):
    """``forms.answer`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    evidence: dict[str, tuple[str, ...]] = Field(
        default={},
        description="by source: a library, a simulator or one of each, by their names under "
        "simulators (default: the source's own documents and simulator)",
    )
    max_attempts: int = Field(default=2, ge=1, le=10, description="attempts at valid tool calls")


class FormsMetricSettings(BaseModel):
    """``forms.metrics`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    factual: FactualBy = Field(
        default="logprobs",
        description="factual accuracy by the judge's log-probabilities (logprobs) or by the "
        "probability that it states (stated)",
    )
    min_label_mass: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="no value if both labels together have a lower probability",
    )


class FormsParams(RoomSection):
    """Questions by form: choice, freeform, cloze."""

    listed: ClassVar[str] = "sources"
    sources: list[str] = Field(
        default=[],
        description="domains, or names under forms.documents, that questions are about; []: none",
    )
    documents: dict[Name, DocumentFiles] = Field(
        default={}, description="by source: the files of its corpus"
    )
    questions: int = Field(
        default=30,
        ge=1,
        le=100_000,
        description="questions from a source's documents, and as many from its runs",
    )
    seed: int = Field(
        default=1, ge=0, description="seed of the order of passages, scenarios and options"
    )
    contexts: int = Field(
        default=2, ge=0, le=10, description="further passages shown with a question's own"
    )
    threshold: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="a further passage is shown from this share of the own passage's score on",
    )
    answer: FormsAnswerSettings = FormsAnswerSettings()
    metrics: FormsMetricSettings = FormsMetricSettings()

    @property
    def own_items(self) -> Collection[str]:
        """The sources that are documents."""
        return self.documents
