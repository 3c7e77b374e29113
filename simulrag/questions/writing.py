"""Third stage: the open question, its reference answer and claims, out of the runs' evidence."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Field

from simulrag.errors import ModelError
from simulrag.method.verification import verify_claims
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text, unusable
from simulrag.questions.check import Problem, check_reference
from simulrag.questions.records import (
    AskedValue,
    SetUpTemplate,
    Template,
    asked_value,
    shown_by,
)
from simulrag.questions.scenarios import SampledScenario
from simulrag.records import Evidence, Question, Record, ReferenceClaim
from simulrag.stand_in import RIGHT, Prompted, bullets, prose, sentence, sentences
from simulrag.task import Task


class BenchmarkQuestion(Reply):
    """Reply to ``benchmark_question``."""

    question: Text
    reference_answer: Text


class SetUpQuestion(BenchmarkQuestion):
    """Reply to ``benchmark_question`` where questions state their set-up.

    ``open_points``: what the writer would say to the parts that no evidence answers, a sentence
    each.
    """

    open_points: list[Text]


class TaggedClaim(Reply):
    """One claim of a reference answer."""

    claim: Text
    kind: Literal["quantitative", "qualitative"]


class ReferenceClaims(Reply):
    """Reply to ``reference_claims``."""

    claims: Annotated[list[TaggedClaim], Field(min_length=1)]


def _all_named(prompted: Prompted) -> object:
    """A question that states its set-up, and a reference that names all classes, words, results."""
    asks = json.loads(prompted.text("asks") or "[]")
    words = [word["name"] for ask in asks for word in ask["classes"]]
    words += [word for ask in asks for word in ask["answers"]]
    words += bullets(prompted.text("results"))
    stated = [
        prompted.text("set_up"),
        prompted.text("situation"),
        *bullets(prompted.text("beyond")),
    ]
    return {
        "question": f"{sentence(prompted.seed)} {' '.join(stated)}",
        "reference_answer": f"{prose(prompted, REFERENCE_TOKENS)} {' '.join(words)}",
        **({"open_points": []} if prompted.has("beyond") else {}),
    }


def _qualitative(prompted: Prompted) -> object:
    texts = sentences(prompted.text("reference"))
    return {"claims": [{"claim": f"{RIGHT} {text}", "kind": "qualitative"} for text in texts]}


REFERENCE_TOKENS = 250
BENCHMARK_QUESTION = Task(
    "benchmark_question",
    BenchmarkQuestion,
    tokens=460,
    stand_in=_all_named,
    others=(SetUpQuestion,),
)
SEARCH_QUESTION = Task("search_question", BenchmarkQuestion, tokens=460, stand_in=_all_named)
REFERENCE_CLAIMS = Task("reference_claims", ReferenceClaims, tokens=210, stand_in=_qualitative)
CLAIMS_PER_CALL = 40
"""Of a reference, verified in one call."""


RejectedAt = Literal["simulator", "search", "question", "check"]


class RejectedScenario(Record):
    """A scenario that gave no question, and every reason."""

    scenario_id: str
    template_id: str
    step: RejectedAt
    problems: tuple[Problem, ...]


async def write_question(
    ask: Asker,
    template: Template,
    scenario: SampledScenario,
    evidence: tuple[Evidence, ...],
    domain: str,
) -> Question | RejectedScenario:
    """One checked question, or why there is none.

    A template with a set-up gives a question that states it; the writer is handed the asked values,
    and its words on what no evidence answers are claims of the source "open", which neither the
    reference answer nor the check has.

    A reply that stays malformed, or that the model refuses, rejects the scenario. A provider that
    cannot be reached raises ModelError: a benchmark must not depend on the network's weather.
    """
    write = BENCHMARK_QUESTION
    if scenario.searched:
        write = SEARCH_QUESTION
    elif isinstance(template, SetUpTemplate):
        write = write.replying(SetUpQuestion)
    try:
        written = await ask.ask(
            write,
            situation=scenario.situation,
            context=_context(scenario, evidence),
            **_given(template, scenario, evidence),
        )
        question: BenchmarkQuestion = written.parsed
        tagged = await ask.ask(
            REFERENCE_CLAIMS,
            question=question.question,
            reference=question.reference_answer,
        )
    except ModelError as error:
        return _rejected_by_model(scenario, error)
    reply: ReferenceClaims = tagged.parsed
    claims = tuple(ReferenceClaim(text=item.claim, kind=item.kind) for item in reply.claims)
    problems = check_reference(
        question.question,
        question.reference_answer,
        claims,
        template=template,
        scenario=scenario,
        evidence=evidence,
    )
    if not problems:
        try:
            problems = await _contradicted(question.question, claims, scenario, evidence, ask)
        except ModelError as error:
            return _rejected_by_model(scenario, error)
    if problems:
        return rejection(scenario, "check", *problems)
    points = question.open_points if isinstance(question, SetUpQuestion) else []
    claims += tuple(
        ReferenceClaim(text=point, kind="qualitative", source="open") for point in points
    )
    # The reference is part of the id: what people said of a claim by another reference is no label
    # of this question, and simulators change their results under the same words.
    content = scenario.scenario_id, question.question, question.reference_answer
    return Question(
        question_id=f"{domain}-{_digest(*content)}",
        domain=domain,
        text=question.question,
        reference_answer=question.reference_answer,
        reference_claims=claims,
        scenario_id=scenario.scenario_id,
        calls=tuple(item.call for item in evidence),
        evidence=evidence,
        source="generated",
        template_id=template.template_id,
    )


def _given(
    template: Template, scenario: SampledScenario, evidence: tuple[Evidence, ...]
) -> dict[str, Any]:
    """What the writer of a question is shown beside its situation and its runs."""
    asks = json.dumps([item.model_dump() for item in template.asks], ensure_ascii=False)
    if not isinstance(template, SetUpTemplate):
        return {"asks": asks}
    asked = list(filter(None, (_asked(asked_value(ask, evidence)) for ask in template.asks)))
    if scenario.searched:
        words = [
            f"{ask.words} (run {ask.run}): {shown_by(evidence[ask.run - 1], ask.output)}"
            for ask in template.asks
            if ask.answers
        ]
        return {"set_up": template.set_up, "results": words + asked}
    return {
        "asks": asks,
        "set_up": template.set_up,
        "beyond": list(template.beyond),
        "asked": asked,
    }


def _asked(asked: AskedValue | None) -> str:
    """A computed value in words; "" where the output is in words itself."""
    if asked is None:
        return ""
    ask = asked.ask
    runs = f"run {ask.run} minus run {ask.against}" if ask.against else f"run {ask.run}"
    unit = f" percent of run {ask.against}" if ask.scale == "percent" else ""
    name = f", {asked.class_name}" if asked.class_name is not None else ""
    return f"{ask.words} ({runs}): {_signed(asked)}{unit}{name}"


def _signed(asked: AskedValue) -> str:
    """The value of one run as it is; a difference or percentage to two decimals, with its sign."""
    if asked.ask.against:
        return f"{asked.value:+.2f}"
    return f"{asked.value:.6f}".rstrip("0").rstrip(".")


async def _contradicted(
    question: str,
    claims: tuple[ReferenceClaim, ...],
    scenario: SampledScenario,
    evidence: tuple[Evidence, ...],
    ask: Asker,
) -> list[Problem]:
    """What the evidence, as the writer saw it, contradicts, by the step that verifies answers."""
    texts = [claim.text for claim in claims]
    context = _context(scenario, evidence)
    verdicts = await verify_claims(question, texts, context, ask, claims_per_call=CLAIMS_PER_CALL)
    return [
        Problem(kind="contradicted", detail=f"claim {i}: '{texts[i]}' -> '{verdict.updated_claim}'")
        for i, verdict in enumerate(verdicts)
        if verdict.status == "contradicted"
    ]


def _rejected_by_model(scenario: SampledScenario, error: ModelError) -> RejectedScenario:
    problem = Problem(kind=unusable(error), detail=str(error))
    return rejection(scenario, "question", problem)


def rejection(scenario: SampledScenario, step: RejectedAt, *problems: Problem) -> RejectedScenario:
    """The record of a scenario that gave no question."""
    return RejectedScenario(
        scenario_id=scenario.scenario_id,
        template_id=scenario.template_id,
        step=step,
        problems=problems,
    )


def _context(scenario: SampledScenario, evidence: tuple[Evidence, ...]) -> str:
    """The text of the runs; where there are several, each under its number and words."""
    if len(evidence) == 1:
        return evidence[0].text
    parts = zip(scenario.words, evidence, strict=True)
    return "\n\n".join(
        f"Run {number} ({words}):\n{item.text}"
        for number, (words, item) in enumerate(parts, start=1)
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
