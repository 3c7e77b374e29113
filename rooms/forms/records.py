"""Questions by form: a choice of four, a freeform answer, a cloze; open ones stay as they were."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from flows.project import Results
from simulrag.records import Domain, Evidence, Record, Retrieval

Form = Literal["choice", "freeform", "cloze"]
Level = Literal["base", "reasoning", "hypothetical"]
Condition = Literal["nothing", "library", "simulator", "both"]
"""What a question is answered from."""
Flaw = Literal[
    "context_mentioned",
    "options",
    "figure_reference",
    "not_self_contained",
    "not_answerable",
    "number_not_in_context",
    "answer_in_question",
    "inconsistent",
    "duplicate",
    "term_absent",
    "term_repeated",
    "invalid",
    "simulator",
    "invalid_reply",
    "refused",
    "truncated",
]
"""The kinds of rejection."""

MASK = "<MASK>"
LETTERS = "abcd"
FAMILY, COMPARISONS = "forms", "form_comparisons"
"""The names of what is measured in the long table."""
OVERALL = "overall"
LEVELS: tuple[Level, ...] = get_args(Level)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
METRICS: dict[Form, tuple[str, ...]] = {
    "choice": ("accuracy",),
    "freeform": ("bleu", "bleu_char", "bertscore", "number", "fa", "p_supports", "label_mass"),
    "cloze": ("exact", "exact_folded", "ps"),
}
"""What each form is measured by. An encoder's or an evaluator's name is added in the tables."""


class SourceText(Record):
    """What a question was made from: a passage of a document, or a simulator's run as text.

    ``locator``: the place in the document, or the call of the run.
    """

    id: str
    text: str
    locator: str = ""
    licence: str = ""
    attribution: str = ""


class Rejection(Record):
    """Why an audit refuses a question."""

    kind: Flaw
    detail: str = ""


class Validity(Record):
    """What is known of a question's validity: the audits' rejections; none is a pass."""

    rejections: tuple[Rejection, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no audit refuses it."""
        return not self.rejections


class FormedQuestion(Record):
    """What the three forms have in common.

    ``source``: the domain or corpus. ``scenario_id``: the seed passage or the simulator's scenario;
    the forms and levels of one seed are one draw of the bootstrap. A cloze has no levels: base.
    """

    question_id: str = Field(min_length=1)
    level: Level = "base"
    scenario_id: str = Field(min_length=1)
    source: Domain = Field(min_length=1)
    text: str = Field(min_length=1)
    contexts: tuple[SourceText, ...] = ()
    valid: Validity = Validity()


class ChoiceQuestion(FormedQuestion):
    """One of four options is right. ``answer``: its index, from 0."""

    form: Literal["choice"] = "choice"
    options: tuple[str, str, str, str]
    answer: int = Field(ge=0, le=3)

    @property
    def answer_text(self) -> str:
        """The right option."""
        return self.options[self.answer]


class _InWords(FormedQuestion):
    answer: str = Field(min_length=1)

    @property
    def answer_text(self) -> str:
        """The right answer."""
        return self.answer


class FreeformQuestion(_InWords):
    """Answered in one or two sentences. ``answer``: the reference."""

    form: Literal["freeform"] = "freeform"


class ClozeQuestion(_InWords):
    """A statement with one ``<MASK>``. ``answer``: the term that stood there."""

    form: Literal["cloze"] = "cloze"

    @model_validator(mode="after")
    def _one_mask(self) -> Self:
        if (count := self.text.count(MASK)) != 1:
            raise ValueError(f"a cloze has one {MASK}, this one has {count}")
        return self


Formed = ChoiceQuestion | FreeformQuestion | ClozeQuestion
"""A question of one of the three new forms."""

FORMED: TypeAdapter[Formed] = TypeAdapter(Annotated[Formed, Field(discriminator="form")])
"""Reads one question of the three forms."""


def question_id(source: Domain, scenario_id: str, form: Form, level: Level, *words: str) -> str:
    """Return the id of a question: its content's hash, the right answer included."""
    content = "\0".join((source, scenario_id, form, level, *words))
    return f"{source}-{form}-{hashlib.sha256(content.encode()).hexdigest()[:12]}"


class Answered(Record):
    """A question under one condition; the answer's text, term or option ("" where it failed)."""

    question_id: str
    scenario_id: str
    form: Form
    level: Level
    condition: Condition
    answer: str = ""
    failure: str | None = None


class FormAnswer(Answered):
    """What was answered, and how.

    ``order``: of a choice, the options' indices as they were shown (a, b, c, d). ``chosen``: the
    index of the chosen one. ``retrieval`` None: nothing was looked up.
    """

    order: tuple[int, ...] = ()
    chosen: int | None = None
    retrieval: Retrieval | None = None

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What the model was shown."""
        return self.retrieval.evidence if self.retrieval is not None else ()


class FormScore(Answered):
    """One answer's measures by name: those with a value, and why others have none."""

    text: str
    reference: str
    values: dict[str, float] = Field(default={})
    reasons: dict[str, str] = Field(default={})


def documents_file(place: Results, source: str) -> Path:
    """Return the file of what lineage knows of a source's documents."""
    return place.data / "sources" / f"{source}.json"


def corpus_folder(place: Results, source: str) -> Path:
    """Return the folder of a source's documents; empty where it has none."""
    return place.data / "corpus" / source


def benchmark_file(place: Results, source: str) -> Path:
    """Return the file of a source's questions."""
    return place.data / "forms" / source / "benchmark.jsonl"


def refused_file(place: Results, source: str) -> Path:
    """Return the file of the questions that were refused."""
    return place.data / "forms" / source / "refused.jsonl"


def summary_file(place: Results, source: str) -> Path:
    """Return the file that says what generation asked for and got."""
    return place.data / "forms" / source / "summary.json"


def answers_file(place: Results, source: str) -> Path:
    """Return the file of the answers under every condition."""
    return place.data / "forms" / source / "answers.jsonl"


def scores_file(place: Results, source: str) -> Path:
    """Return the file with a line of measures an answer."""
    return place.data / "forms" / source / "scores.jsonl"


def metrics_table(place: Results, source: str) -> Path:
    """Return the long table of a source's answers."""
    return place.metrics / f"forms-{source}.csv"
