"""The records that travel between steps and stages, in one place. All are immutable."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Domain = str
VerdictStatus = Literal["aligned", "contradicted", "indeterminate", "error"]
LabelValue = Literal["true", "false", "undecided"]
Centrality = Literal[
    "closeness", "degree", "betweenness", "eigenvector", "pagerank", "closeness_as_printed"
]
FinalMethod = str
"""The id of a kind of final answer, see ``simulrag.method.recipes.final_kinds``."""
RetrievalStatus = Literal[
    "retrieved", "oracle", "by_question", "not_applicable", "refused", "failed"
]
AuditStatus = Literal["supported", "wrong", "open", "judgement"]
Standing = Literal[
    "checked",
    "corrected",
    "added",
    "judgement",
    "beyond",
    "not_run",
    "wrong",
]
CENTRALITIES: tuple[Centrality, ...] = get_args(Centrality)
STANDINGS: tuple[Standing, ...] = get_args(Standing)

DOCUMENT_TOOL = "query_rag"
"""The tool whose evidence is passages of documents; every other tool's is a run."""

DECIDED = ("aligned", "contradicted")
"""Verdicts that settle a claim: its confidence becomes 1."""


class Record(BaseModel):
    """Base of all records. Validators are built at first use: no stage uses them all."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def since(default: Any) -> Any:
    """Declare a field added since files were made, which keep their bytes.

    It is written only where it is not its default.
    """
    return Field(default=default, exclude_if=lambda value: value == default)


Count = Annotated[int, Field(ge=0, le=10**12)]
"""Of calls or tokens. No run has a million million; a file or a server that says so is wrong."""


CHARACTERS_PER_TOKEN = 4
"""Characters that are taken for one token where nobody counted: a rule of thumb for English."""


class Usage(Record):
    """What a call took. Tokens are the provider's own count.

    ``input_tokens`` are all of the prompt; those that came from the provider's prompt cache and
    those that were written to it, which have prices of their own, are counted apart as well.
    """

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_input_tokens: Count = 0
    cache_write_tokens: Count = 0

    @property
    def counted(self) -> bool:
        """Whether the tokens are known: not those of replies by a file, or of some servers."""
        return self.calls == 0 or self.input_tokens + self.output_tokens > 0

    def __add__(self, other: Usage) -> Usage:
        counts = Usage.model_fields  # a sum above their bound could not be read again
        return Usage(**{n: min(getattr(self, n) + getattr(other, n), 10**12) for n in counts})


class ToolCall(Record):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, JsonValue]


class Evidence(Record):
    """One simulator run: the validated call, what came out, and its text for a model."""

    simulator: str
    call: ToolCall
    seed: int
    outputs: dict[str, JsonValue]
    text: str


class ReferenceClaim(Record):
    """An atomic claim of a reference answer.

    ``source``: the simulator's evidence, or open: the writer's own words on a part of the question
    that no evidence answers, which is no measure of an answer.
    """

    text: str
    kind: Literal["quantitative", "qualitative"]
    source: Literal["evidence", "open"] = since("evidence")


class Question(Record):
    """One question of a benchmark.

    ``scenario_id`` groups questions that share a simulator run (resampling goes by it). ``calls``
    is the known scenario where the benchmark has one. ``evidence`` and the reference are for
    generation, labelling and metrics; the answering model is shown ``text`` alone.
    """

    question_id: str
    domain: Domain
    text: str = Field(min_length=1)
    reference_answer: str
    reference_claims: tuple[ReferenceClaim, ...] = ()
    scenario_id: str
    calls: tuple[ToolCall, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    source: Literal["generated", "published"] = "generated"
    template_id: str | None = None


class Verdict(Record):
    """What verification of one claim against the context said.

    ``updated_claim`` is set when contradicted alone, ``reason`` when error.
    """

    status: VerdictStatus
    updated_claim: str | None = None
    reason: str | None = None


class Claim(Record):
    """One claim of the merged set, and everything that was found out about it.

    ``sources``: (answer index, index in that answer's own claims). ``support``: one bool an answer.
    ``confidence``: centrality before verification, by name. ``boundary``: the simulator could
    check it (None: not asked). ``verdict`` None: never verified.
    """

    text: str
    sources: tuple[tuple[int, int], ...] = ()
    support: tuple[bool, ...] = ()
    confidence: dict[str, float] = {}
    verbalized: float | None = None
    boundary: bool | None = None
    verdict: Verdict | None = None

    @property
    def before(self) -> str:
        """The text before verification."""
        return self.text

    @property
    def after(self) -> str:
        """The text after verification."""
        if self.verdict is not None and self.verdict.updated_claim is not None:
            return self.verdict.updated_claim
        return self.text


class Retrieval(Record):
    """The retrieval interface's result.

    ``status``: "retrieved"; "oracle" (a benchmark's own evidence of the question); "by_question"
    (found by the question's words, no model asked); "not_applicable" (the model found no tool that
    applies: the answer stays closed-book and unverified); "refused" (it named none that there is,
    or impossible arguments, in all attempts: the same); "failed". ``looks``: how many runs there
    were after each look that the model planned; runs that claims were found open for come after
    them. Empty where nothing was planned and nothing run further.
    """

    status: RetrievalStatus
    evidence: tuple[Evidence, ...] = ()
    attempts: int = 0
    problems: tuple[str, ...] = ()
    looks: tuple[int, ...] = ()

    @property
    def first_look(self) -> Retrieval:
        """What was there after the first look."""
        return self.model_copy(update={"evidence": self.evidence[: next(iter(self.looks), None)]})

    @property
    def context(self) -> str:
        """The text that claims are verified against."""
        return "\n\n".join(item.text for item in self.evidence)


class Failure(Record):
    """Why a question's work stopped."""

    step: str
    reason: str


class AnswerVariant(Record):
    """One way to write final answers: what tells a question's final answers apart.

    ``samples``: the answers behind each (m). ``budget_percent``: the share of all claims that it
    may verify; None: selected by tau, or the method verifies none. ``kappa``: claims of lower
    confidence are dropped; 0: none are, None: the method drops none.
    """

    method: FinalMethod
    samples: int = Field(ge=1)
    budget_percent: float | None = None
    kappa: float | None = None

    @property
    def size(self) -> tuple[int, float, float]:
        """m, budget and kappa as numbers, by which a method's lines are ordered."""
        return self.samples, self.budget_percent or 0.0, self.kappa or 0.0


class AuditedClaim(Record):
    """A claim that the audit found in a text.

    ``quote``: the text's words that make it. ``runs``: what decides it, indices of the evidence.
    ``correction``: what the runs say, of a wrong one. ``runnable``: a tool could decide it, of an
    open one.
    """

    quote: str
    claim: str
    status: AuditStatus
    runs: tuple[int, ...] = ()
    correction: str = ""
    runnable: bool = False


class MissingPoint(Record):
    """What a question asks for, runs (indices of the evidence) tell and a text lacks."""

    text: str
    runs: tuple[int, ...]


class Audit(Record):
    """A text, every claim of it held against the evidence, and what it lacks.

    ``claims`` as they stand after a second look. ``problems``: further looks and mending that came
    to nothing, in words.
    """

    text: str
    claims: tuple[AuditedClaim, ...] = ()
    missing: tuple[MissingPoint, ...] = ()
    problems: tuple[str, ...] = ()


class Selection(Record):
    """What a line's budget buys in one question.

    ``selected``: the claims to verify. ``first_sample``: those that SimulRAG verifies at m = 1.
    """

    line: AnswerVariant
    selected: tuple[int, ...]
    first_sample: tuple[int, ...] = ()

    @property
    def kappa(self) -> float:
        """The confidence below which claims are dropped."""
        return self.line.kappa or 0.0


class Statement(Record):
    """One thing that an answer says, and what stands behind it.

    ``standing``: checked or corrected by runs; added, since the question asks for it and the text
    lacked it; wrong by the runs and left in the text; a judgement, which no run decides; not_run
    (a run could decide it); beyond the simulator. ``start`` and ``end``: its place in the final
    text, in characters; None: it has none. ``runs``: what decided it, indices of
    ``Answer.evidence``. ``quote``: the words that say it. ``before``: what a corrected one said;
    ``correction``: what the runs say of a wrong one.
    """

    text: str
    standing: Standing
    start: int | None = None
    end: int | None = None
    runs: tuple[int, ...] = ()
    quote: str = ""
    before: str | None = None
    correction: str | None = None


class FinalText(Record):
    """One final answer to a question.

    ``selected`` and ``kept``: the claims of the question's ``Answer`` that it verified, and that it
    was written from, by their indices. ``usage``: the calls that it needed by itself, by task name;
    what it shares with the question's ``Answer`` is counted there. ``failure`` None: complete.
    """

    line: AnswerVariant
    text: str = ""
    selected: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    statements: tuple[Statement, ...] = ()
    usage: dict[str, Usage] = {}
    failure: str | None = None


class Answer(Record):
    """Everything that was done for one question, kept so that a reader can see why.

    ``final`` is the answer, at the largest of the budgets where there are some; its text is empty
    until it is written. ``audit`` is what the grounded method found in the text that it began from.
    ``usage`` counts the calls used, whether paid for now or before, by task name. ``baselines``:
    final answers to compare with, SimulRAG's at the smaller budgets among them. ``failure`` None:
    complete. ``failed_steps``: what only adds, and failed: the answer stands without it.
    """

    question_id: str
    domain: Domain
    retrieval: Retrieval | None = None
    closed_book: tuple[str, ...] = ()
    answer_claims: tuple[tuple[str, ...], ...] = ()
    claims: tuple[Claim, ...] = ()
    audit: Audit | None = None
    final: FinalText = Field(
        default_factory=lambda: FinalText(line=AnswerVariant(method="simulrag", samples=1))
    )
    verified: bool = False
    usage: dict[str, Usage] = {}
    simulator_runs: int = 0
    baselines: tuple[FinalText, ...] = ()
    failure: Failure | None = None
    failed_steps: tuple[Failure, ...] = since(())

    @property
    def text(self) -> str:
        """The final answer."""
        return self.final.text

    @property
    def finals(self) -> tuple[FinalText, ...]:
        """Every final answer: its own, one closed-book sample and the baselines."""
        first_sample = AnswerVariant(method="closed_book", samples=1)
        alone = (FinalText(line=first_sample, text=text) for text in self.closed_book[:1])
        return (self.final, *alone, *self.baselines)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The simulator runs that claims were verified against."""
        return self.retrieval.evidence if self.retrieval is not None else ()

    @property
    def context(self) -> str:
        """Their text, empty where there are none."""
        return self.retrieval.context if self.retrieval is not None else ""

    @property
    def first_look(self) -> Retrieval:
        """The evidence of the first look, which published methods see."""
        retrieval = self.retrieval or Retrieval(status="not_applicable")
        return retrieval.first_look


class Label(Record):
    """The judge's word on one claim text of one question."""

    question_id: str
    claim_hash: str
    text: str
    label: LabelValue | None
    reason: str = ""
    source: Literal["judge", "human"] = "judge"
    failure: str | None = None


class FinalClaims(Record):
    """The claims of a method's final answer, decomposed by the evaluation's uncapped prompt."""

    question_id: str
    line: AnswerVariant
    claims: tuple[str, ...] = ()
    failure: str | None = None


def claim_hash(text: str) -> str:
    """Compute a claim's key within a question: sha256, white space and case folded, 16 digits."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode()).hexdigest()[:16]
