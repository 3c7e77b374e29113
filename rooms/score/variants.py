"""The same question in other words, the same words about another scenario, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from flows.params import Params
from rooms.score.records import Variant
from rooms.score.settings import ScoreParams
from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.numbers import numbers
from simulrag.method.recipes import answer_question, final_kinds
from simulrag.method.settings import MethodSettings
from simulrag.method.simulation import Simulations
from simulrag.method.steps import Backends
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.questions.records import Template
from simulrag.questions.scenarios import SampledScenario, run_scenario, scenario_stream
from simulrag.records import Answer, AnswerVariant, FinalText, Question, ToolCall, claim_hash
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class RewordedQuestion(Reply):
    """Reply to ``score_paraphrase`` and ``score_perturb``."""

    question: Text


def _with_a_word_before(prompted: Prompted) -> object:
    words = prompted.text("situation" if prompted.has("situation") else "question")
    return {"question": f"{sentence(prompted.seed)} {words}"}


SCORE_PARAPHRASE = Task(
    "score_paraphrase", RewordedQuestion, tokens=230, stand_in=_with_a_word_before
)
SCORE_PERTURB = Task("score_perturb", RewordedQuestion, tokens=230, stand_in=_with_a_word_before)


async def paraphrase(question: Question, ask: Asker) -> Variant:
    """Word the question anew; a reply that changes a number goes back to the model once."""
    given = numbers(question.text)

    def check(reply: RewordedQuestion) -> None:
        stated = numbers(reply.question)
        lost = [
            number.written for number in given if not any(number.repeats(other) for other in stated)
        ]
        new = [
            number.written for number in stated if not any(number.repeats(other) for other in given)
        ]
        if lost or new:
            raise ValueError(f"numbers left out: {lost or 'none'}; numbers added: {new or 'none'}")
        _differs(reply, question)

    try:
        reply = await ask.ask(SCORE_PARAPHRASE, check=check, question=question.text)
    except ModelError as error:
        return Variant(failure=str(error))
    return Variant(question=reply.parsed.question, evidence=question.evidence)


def other_scenario(question: Question, template: Template, seed: int) -> SampledScenario | None:
    """Another scenario of the question's own template; None where it has only one."""
    own = seed + crc32(question.question_id.encode())
    drawn = islice(scenario_stream([template], own, question.domain), 2)
    return next(
        (scenario for scenario in drawn if scenario.scenario_id != question.scenario_id), None
    )


async def perturb(
    question: Question,
    template: Template | None,
    ask: Asker,
    simulations: Simulations,
    *,
    seed: int,
    simulator_seed: int,
) -> Variant:
    """Turn the question to another scenario and run that: what the answer must become.

    Where there is no such scenario, or the simulator refuses it, the failure says so.
    """
    if template is None:
        return Variant(failure="the question has no template to draw a scenario of")
    scenario = other_scenario(question, template, seed)
    if scenario is None:
        return Variant(failure="its template has no other scenario")
    wanted = [number for value in scenario.shown.values() for number in numbers(f"{abs(value):g}")]

    def check(reply: RewordedQuestion) -> None:
        stated = numbers(reply.question)
        lost = [
            number.written
            for number in wanted
            if not any(number.repeats(other) for other in stated)
        ]
        if lost:
            raise ValueError(f"the question does not give {', '.join(lost)} of the situation")
        _differs(reply, question)

    runs = list(scenario.words) if len(scenario.words) > 1 else []
    try:
        evidence = await run_scenario(simulations, scenario, simulator_seed)
        reply = await ask.ask(
            SCORE_PERTURB,
            check=check,
            question=question.text,
            situation=scenario.situation,
            runs=runs,
        )
    except (ModelError, SimulatorError) as error:
        return Variant(failure=str(error))
    return Variant(question=reply.parsed.question, evidence=evidence)


def _differs(reply: RewordedQuestion, question: Question) -> None:
    if claim_hash(reply.question) == claim_hash(question.text):
        raise ValueError("the question is the same as before")


class VariantAnswers(NamedTuple):
    """The answers to a variant by method; ``otherwise`` says why another method has none."""

    by_method: Mapping[str, Variant]
    otherwise: Variant

    def of(self, method: str) -> Variant:
        """Return a method's answer, or why there is none."""
        return self.by_method.get(method, self.otherwise)


async def answer_variant(
    variant: Variant, question: Question, use: Backends, settings: MethodSettings
) -> VariantAnswers:
    """Answer a variant of ``question`` by every method; its failure is every method's."""
    if variant.failure is not None:
        return VariantAnswers({}, variant)
    reworded = question.model_copy(update={"text": variant.question})
    answer = await answer_question(reworded, use, settings)
    if answer.failure is not None:
        return VariantAnswers({}, variant.model_copy(update={"failure": answer.failure.reason}))
    finals = largest_finals(answer)
    if answer.audit is not None:  # the audit's text is RAG's by looks, so it costs no call
        line = AnswerVariant(method="rag_looks", samples=1)
        finals.setdefault(line.method, FinalText(line=line, text=answer.audit.text))
    by_method = {
        method: Variant(
            question=variant.question,
            answer=final.text,
            evidence=variant.evidence,
            calls=calls_of(method, answer),
            failure=final.failure,
        )
        for method, final in finals.items()
    }
    unanswered = variant.model_copy(update={"failure": "this method did not answer it"})
    return VariantAnswers(by_method, unanswered)


def settings_of_variants(answer: Answer, params: Params) -> MethodSettings:
    """Return settings for variants: the largest budget, and the kappa of the question's answer."""
    changes: dict[str, object] = {
        "final_budgets_percent": params.answer.final_budgets_percent[-1:],
        "kappa": answer.final.line.kappa,
        "without_kappa": False,
        "verbalized": False,
    }
    score = params.room(ScoreParams)
    if methods := score.varied or score.methods:
        # Only what is scored stands beside: the rest would be paid for and never read.
        rag = any(name == "closed_book" or name.endswith("_rag") for name in methods)
        scored = {"paper": "simulrag" in methods, "rag": rag}
        changes["beside"] = tuple(name for name in params.answer.beside if scored[name])
    return params.answer.model_copy(update=changes)


def largest_finals(answer: Answer) -> dict[str, FinalText]:
    """Return by method the answer of most samples, at its largest budget, with kappa."""
    by_size = sorted(answer.finals, key=lambda final: final.line.size)
    largest = {final.line.method: final for final in by_size}
    order = dict.fromkeys(final.line.method for final in answer.finals)
    return {method: largest[method] for method in order}


def calls_of(method: str, answer: Answer) -> tuple[ToolCall, ...]:
    """Return the tool calls that a method's answer rests on: those of its own looks."""
    looks = final_kinds()[method].looks
    runs = () if looks == "none" else answer.evidence
    if answer.retrieval is not None and answer.retrieval.looks and looks in ("first", "planned"):
        runs = runs[: answer.retrieval.looks[0 if looks == "first" else -1]]
    return tuple(run.call for run in runs)
