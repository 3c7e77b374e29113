"""What is measured of answers by form, and the names of it in the long table."""

from __future__ import annotations

from typing import get_args

from pydantic import Field

from simulrag.questions.forms.records import Answered, Condition, Form, Level

FAMILY, COMPARISONS = "forms", "form_comparisons"
OVERALL = "overall"
LEVELS: tuple[Level, ...] = get_args(Level)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

METRICS: dict[Form, tuple[str, ...]] = {
    "choice": ("accuracy",),
    "freeform": ("bleu", "bleu_char", "bertscore", "fa", "p_supports", "label_mass"),
    "cloze": ("exact", "exact_folded", "ps"),
}
"""What each form is measured by. An encoder's or an evaluator's name is added in the tables."""


class FormScore(Answered):
    """One answer's measures by name: those with a value, and why others have none."""

    text: str
    reference: str
    values: dict[str, float] = Field(default={})
    reasons: dict[str, str] = Field(default={})
