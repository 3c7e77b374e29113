"""The JSON contracts of the prompts: what each task's reply must look like.

Types are strict: the string "false" is not a boolean and "0" not an integer. A reply that does
not fit goes back to the model once, with the validation error.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StrictInt, StrictStr

from simulrag.records import FacetKind

Text = Annotated[StrictStr, Field(min_length=1)]


class Reply(BaseModel):
    """Base of all replies: closed and strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class ProposedCall(Reply):
    """One tool call, not yet validated against its tool."""

    tool: Text
    arguments: dict[str, JsonValue]


class ToolCalls(Reply):
    """Reply to ``tool_calls``; empty where no tool applies."""

    calls: list[ProposedCall]


class DecomposedClaim(Reply):
    """One atomic claim."""

    claim: Text


class Decomposition(Reply):
    """Reply to ``decompose`` and ``evaluation_decompose``."""

    claims: list[DecomposedClaim]


class ClaimPairs(Reply):
    """Reply to ``merge``: [existing index, new index] where the existing claim covers the new."""

    pairs: list[Annotated[list[StrictInt], Field(min_length=2, max_length=2)]]


class Entailment(Reply):
    """Reply to ``entailment``: one boolean a claim, in order."""

    supported: list[StrictBool]


class Verbalized(Reply):
    """Reply to ``verbalized``."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Boundary(Reply):
    """Reply to ``boundary``."""

    tool_confidence: Annotated[StrictInt, Field(ge=0, le=1)]


class Verification(Reply):
    """Reply to ``verify``."""

    is_included: StrictBool
    should_update: StrictBool
    updated_claim: StrictStr


class Numbered(Reply):
    """What a reply to several claims says of one: ``index`` is the claim's number in the prompt."""

    index: StrictInt


class NumberedBoundary(Boundary, Numbered):
    """One claim's part of a BoundaryBatch."""


class BoundaryBatch(Reply):
    """Reply to ``boundary_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedBoundary]


class NumberedVerification(Verification, Numbered):
    """One claim's part of a VerificationBatch."""


class VerificationBatch(Reply):
    """Reply to ``verify_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedVerification]


class NumberedProbability(Verbalized, Numbered):
    """One claim's part of a VerbalizedBatch."""


class VerbalizedBatch(Reply):
    """Reply to ``verbalized_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedProbability]


class SubjectFacet(Reply):
    """One side of a subject, and the claims that speak of it."""

    kind: FacetKind
    exclusive: StrictBool
    claims: Annotated[list[StrictInt], Field(min_length=1)]


class SubjectEntry(Reply):
    """One thing that claims are about."""

    about: Text
    facets: Annotated[list[SubjectFacet], Field(min_length=1)]
    rests_on: list[StrictInt]


class SubjectsReply(Reply):
    """Reply to ``subjects`` and ``evaluation_subjects``."""

    subjects: Annotated[list[SubjectEntry], Field(min_length=1)]


class JointAlternative(Reply):
    """Claims that say the same of one side of a subject; answers that agree without saying it."""

    claims: Annotated[list[StrictInt], Field(min_length=1)]
    answers: list[StrictInt]


class JointFacet(Reply):
    """One side of a subject, and the different things that are said of it."""

    kind: FacetKind
    exclusive: StrictBool
    alternatives: Annotated[list[JointAlternative], Field(min_length=1)]


class JointSubject(Reply):
    """One thing that the claims of several answers are about."""

    about: Text
    facets: Annotated[list[JointFacet], Field(min_length=1)]
    rests_on: list[StrictInt]


class JointReply(Reply):
    """Reply to ``joint``."""

    subjects: Annotated[list[JointSubject], Field(min_length=1)]


class Judgement(Reply):
    """Reply to ``label``."""

    label: Literal["true", "false", "undecided"]
    reason: StrictStr


class NumberedJudgement(Judgement, Numbered):
    """One claim's part of a JudgementBatch."""


class JudgementBatch(Reply):
    """Reply to ``label_batch``; each claim's number has to be there exactly once."""

    claims: list[NumberedJudgement]


ArgumentValue = (
    StrictBool | StrictInt | float | StrictStr | list[StrictStr | float | list[StrictInt | float]]
)
"""What an argument can be set to: a single value, or a list (names, numbers, pairs of numbers)."""


class Setting(Reply):
    """One argument and its value."""

    argument: Text
    value: ArgumentValue


class Placeholder(Reply):
    """A number that varies in a template, for one argument of the runs that use it.

    The wording says how the situation shows it.
    """

    name: Text
    argument: Text
    low: float
    high: float
    decimals: Annotated[StrictInt, Field(ge=0, le=6)]
    wording: Literal["value", "percent_reduction", "percent_increase"]


class Option(Reply):
    """One way to fill a choice: what the situation says and the arguments behind it."""

    words: Text
    settings: Annotated[list[Setting], Field(min_length=1)]


class Choice(Reply):
    """Words that vary in a template: a place, a pathway, a list of states."""

    name: Text
    options: Annotated[list[Option], Field(min_length=2)]


class Run(Reply):
    """One tool call behind a question.

    ``words`` tell the run from its siblings and may hold placeholders; ``uses`` names the
    placeholders and choices that set its arguments (``choice.argument``: that one alone of the
    choice), ``fixed`` the arguments that never vary.
    """

    tool: Text
    words: Text
    uses: list[Text]
    fixed: list[Setting]


class MagnitudeClass(Reply):
    """A class of absolute magnitude, from ``from_magnitude`` up to the next class's."""

    name: Text
    from_magnitude: Annotated[float, Field(ge=0)]


class Ask(Reply):
    """One output that a template asks about.

    ``run`` counts from 1. ``against`` 0: the run's own output; else the number of the run that it
    is compared with: the run's output minus that run's, or, with ``scale`` percent, that change in
    percent of the other run's output. ``answers``: every word that an output in words can be;
    empty for a number.
    """

    run: Annotated[StrictInt, Field(ge=1)]
    against: Annotated[StrictInt, Field(ge=0)]
    output: Text
    scale: Literal["value", "percent"]
    words: Text
    classes: list[MagnitudeClass]
    answers: list[Text]
    better: Literal["lower", "higher", "neither"]


class Template(Reply):
    """One question template; ``{name}`` in ``situation`` is a placeholder or a choice."""

    template_id: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    situation: Text
    placeholders: list[Placeholder]
    choices: list[Choice]
    runs: Annotated[list[Run], Field(min_length=1, max_length=3)]
    asks: Annotated[list[Ask], Field(min_length=1)]


class Templates(Reply):
    """Reply to ``benchmark_templates``."""

    templates: Annotated[list[Template], Field(min_length=1)]


class BenchmarkQuestion(Reply):
    """Reply to ``benchmark_question``."""

    question: Text
    reference_answer: Text


class TaggedClaim(Reply):
    """One claim of a reference answer."""

    claim: Text
    kind: Literal["quantitative", "qualitative"]


class ReferenceClaims(Reply):
    """Reply to ``reference_claims``."""

    claims: Annotated[list[TaggedClaim], Field(min_length=1)]


class ReadClaim(Numbered):
    """What one claim says: of which output of which run, and what."""

    kind: FacetKind
    output: Text | None
    run: StrictInt | None
    against: StrictInt | None
    value: Text | None
    unit: Text | None
    direction: Literal["rises", "falls", "same"] | None
    class_word: Text | None


class ReadClaims(Reply):
    """Reply to ``read_claims``; each claim's number has to be there exactly once."""

    claims: list[ReadClaim]


class SetUpTemplate(Template):
    """A template whose questions state their set-up and ask beyond the simulator's reach.

    ``set_up``: what an expert has to know of the simulator's world. ``beyond``: questions that no
    run can answer.
    """

    set_up: Text
    beyond: Annotated[list[Text], Field(max_length=2)]


class SetUpTemplates(Reply):
    """Reply to ``benchmark_templates`` where questions state their set-up."""

    templates: Annotated[list[SetUpTemplate], Field(min_length=1)]


class SetUpQuestion(BenchmarkQuestion):
    """Reply to ``benchmark_question`` where questions state their set-up.

    ``open_points``: what the writer would say to the parts that no evidence answers, a sentence
    each.
    """

    open_points: list[Text]


class ReasonedChance(Reply):
    """Reply to ``chance_given``; at least three reasons on each side."""

    reasons_no: Annotated[list[Text], Field(min_length=3)]
    reasons_yes: Annotated[list[Text], Field(min_length=3)]
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class JointChance(Reply):
    """Reply to ``chance_joint``."""

    thoughts: Text
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Relevance(Reply):
    """Reply to ``relevance``: 1 (irrelevant) to 6."""

    thoughts: Text
    rating: Annotated[StrictInt, Field(ge=1, le=6)]


class SourceFit(Reply):
    """What one source can say to a question: ``covers`` in words, ``tool`` one of its tools.

    Both are empty where the source cannot say anything.
    """

    source: Text
    fit: Literal["fits", "partly", "not"]
    covers: StrictStr
    tool: StrictStr


class Queries(Reply):
    """Reply to ``queries``."""

    queries: Annotated[list[Text], Field(min_length=1)]


class NearMiss(Reply):
    """A question that no source answers, and what of it is out of reach."""

    question: Text
    missing: Text


class NearMisses(Reply):
    """Reply to ``near_misses``."""

    questions: list[NearMiss]


class RouteReply(Reply):
    """Reply to ``route``; each source has to be there exactly once."""

    sources: list[SourceFit]


DetailMark = Literal["yes", "no", "n/a"]


class MarkedClaim(Numbered):
    """Which details one claim states, and whether the evidence holds them."""

    scenario: DetailMark
    place: DetailMark
    time: DetailMark
    magnitude: DetailMark


class DetailMarks(Reply):
    """Reply to ``score_details``; each claim's number has to be there exactly once."""

    claims: list[MarkedClaim]


class MaskedAnswer(Reply):
    """Reply to ``score_mask``."""

    answer: Text


class AskedBack(Reply):
    """Reply to ``score_ask_back``."""

    questions: list[Text]


class RewordedQuestion(Reply):
    """Reply to ``score_paraphrase`` and ``score_perturb``."""

    question: Text
