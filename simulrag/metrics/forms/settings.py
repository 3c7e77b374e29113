"""What a user may turn about answers by form and what is measured of them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulrag.metrics.forms.factual import Variant


class FormsAnswerSettings(BaseModel):
    """``forms.answer`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    evidence: dict[str, tuple[str, ...]] = Field(
        default={},
        description="by source: what its questions are answered from, a library, a simulator or "
        "one of each, by their names under simulators (default: the source itself)",
    )
    max_attempts: int = Field(default=2, ge=1, le=10, description="attempts at the tool calls")
    seed: int = Field(default=7, ge=0, description="seed of the order of options")

    @field_validator("evidence")
    @classmethod
    def _one_or_two(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for source, names in value.items():
            if len(names) not in (1, 2) or len(set(names)) != len(names):
                raise ValueError(f"'{source}' needs one or two different names, not {list(names)}")
        return value


class FormsMetricSettings(BaseModel):
    """``forms.metrics`` of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    factual: Variant = Field(
        default="logprobs",
        description="factual accuracy by the judge's log-probabilities, by sampled replies "
        "(sampled), or not at all (off)",
    )
    samples: int = Field(
        default=5, ge=1, le=100, description="replies that factual accuracy samples"
    )
    min_label_mass: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="probability of both labels together below which there is no value",
    )
    encoder: bool = Field(
        default=True, description="BERTScore and phrase similarity, where library-dense is there"
    )
