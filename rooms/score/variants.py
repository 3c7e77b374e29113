"""The same question in other words, and the same words about another scenario."""

from __future__ import annotations

from itertools import islice
from zlib import crc32

from rooms.score.records import Variant
from simulators.base import SimulatorError
from simulrag.errors import ModelError
from simulrag.method.numbers import numbers
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.questions.records import Template
from simulrag.questions.scenarios import SampledScenario, run_scenario, scenario_stream
from simulrag.records import Question, claim_hash
from simulrag.stand_in import Prompted, sentence
from simulrag.task import Task


class RewordedQuestion(Reply):
    """Reply to ``score_paraphrase`` and ``score_perturb``."""

    question: Text


def _with_a_word_before(prompted: Prompted) -> object:
    told = prompted.text("situation" if prompted.has("situation") else "question")
    return {"question": f"{sentence(prompted.seed)} {told}"}


SCORE_PARAPHRASE = Task(
    "score_paraphrase", RewordedQuestion, tokens=230, stand_in=_with_a_word_before
)
SCORE_PERTURB = Task("score_perturb", RewordedQuestion, tokens=230, stand_in=_with_a_word_before)


async def paraphrase(question: Question, ask: Asker) -> Variant:
    """The question worded anew; a reply that changes a number goes back to the model once."""
    given = numbers(question.text)

    def check(reply: RewordedQuestion) -> None:
        said = numbers(reply.question)
        lost = [one.written for one in given if not any(one.repeats(other) for other in said)]
        new = [one.written for one in said if not any(one.repeats(other) for other in given)]
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
    return next((one for one in drawn if one.scenario_id != question.scenario_id), None)


async def perturb(
    question: Question,
    template: Template | None,
    ask: Asker,
    simulations: Simulations,
    *,
    seed: int,
    simulator_seed: int,
) -> Variant:
    """The question about another scenario, which the simulator runs: what the answer must become.

    Where there is no such scenario, or the simulator refuses it, the failure says so.
    """
    if template is None:
        return Variant(failure="the question has no template to draw a scenario of")
    scenario = other_scenario(question, template, seed)
    if scenario is None:
        return Variant(failure="its template has no other scenario")
    wanted = [one for value in scenario.shown.values() for one in numbers(f"{abs(value):g}")]

    def check(reply: RewordedQuestion) -> None:
        said = numbers(reply.question)
        lost = [one.written for one in wanted if not any(one.repeats(other) for other in said)]
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
