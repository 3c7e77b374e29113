"""Stage ``planted``: whether the share falls to the evidence that decides, planted among others.

The evidence of a question decides its reference's claims and stands as one passage among four of
other questions, which are about other scenarios. What leaving out each one costs should be all
that evidence adds for the decisive one, and nothing for the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from flows.files import record_lines, write_records
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.attribution.chances import Chances
from rooms.attribution.game import leave_one_out, sets_asked
from rooms.attribution.records import (
    Planted,
    PlantedClaim,
    planted_file,
    planted_rows,
    planted_table,
)
from rooms.attribution.settings import AttributionParams
from simulrag.errors import ModelError
from simulrag.metrics.table import write_table
from simulrag.models.base import Asker
from simulrag.questions.published import read_questions
from simulrag.records import Question
from simulrag.stage import Outcome, Stage

OTHERS = 4
CLAIMS = 6
"""Claims of a reference that are asked about, at most."""


def plantable(questions: Sequence[Question]) -> list[Question]:
    """Return the questions with evidence of their own, and with a claim that gives a number."""
    return [question for question in questions if question.evidence and _claims(question)]


async def planted(question: Question, others: Iterable[Question], ask: Asker, seed: int) -> Planted:
    """Ask for the chances of a question's claims with its evidence among four others'.

    Every chance is stated once. A failed call is the result's ``failure``. Raises CallsPending.
    """
    draw = random.Random(f"{seed} {question.question_id}")  # noqa: S311 no secret
    apart = [other for other in others if other.scenario_id != question.scenario_id]
    passages = [_text(other) for other in draw.sample(apart, min(OTHERS, len(apart)))]
    place = draw.randint(0, len(passages))
    passages.insert(place, _text(question))
    result = Planted(
        question_id=question.question_id, scenario_id=question.scenario_id, place=place
    )
    texts, count = _claims(question), len(passages)
    chances = Chances(question.text, texts, ask, kind="stated", repeats=1)

    def context(shown: frozenset[int]) -> str:
        return "\n\n".join(passages[i] for i in sorted(shown))

    every = frozenset(range(count))
    sets = [frozenset[int](), *sets_asked(lambda value: leave_one_out(value, count))]
    try:
        await chances.prepare(map(context, sets))
    except ModelError as error:
        return result.model_copy(update={"failure": str(error)})

    def stated(claim: int, shown: frozenset[int]) -> float:
        return chances.of(context(shown), claim).chance or 0.0  # a stated one is always there

    claims = tuple(
        PlantedClaim(
            text=text,
            none=stated(number, frozenset()),
            all=stated(number, every),
            left_out=tuple(leave_one_out(partial(stated, number), count)),
        )
        for number, text in enumerate(texts)
    )
    return result.model_copy(update={"claims": claims})


def _claims(question: Question) -> list[str]:
    claims = [claim for claim in question.reference_claims if claim.kind == "quantitative"]
    return [claim.text for claim in claims if claim.source != "open"][:CLAIMS]


def _text(question: Question) -> str:
    return "\n\n".join(run.text for run in question.evidence)


async def make(at: StageContext) -> Outcome:
    """Plant the evidence of some of a domain's questions among that of others: of the last ones.

    Attribution begins with the first ones, so that whoever states a chance has seen no other part
    of the same question's evidence.
    """
    settings = at.params.room(AttributionParams)
    questions = plantable(read_questions(at.benchmark))
    chosen = questions[max(0, len(questions) - settings.planted) :]
    work = partial(_work, others=questions, seed=settings.seed)
    async with at.asking(here=True) as bench:
        results = await at.over("planted", chosen, work, bench)
        write_records(planted_file(at.place, at.item), results)
    rows = planted_rows(results, at.params.metrics, at.item)
    write_table(planted_table(at.place, at.item), rows)
    largest = [each for result in results for each in result.largest]
    table = titled_table(
        f"planted {at.item}",
        ("claims", "the planted passage has the largest share"),
        [(len(largest), sum(largest))],
    )
    return Outcome.of(table, "questions", [result.failure for result in results])


async def _work(
    bench: StageResources, question: Question, others: list[Question], seed: int
) -> Planted:
    return await planted(question, others, bench.gateway, seed)


def failed(place: Results, domain: str) -> bool:
    """Return whether a question failed."""
    path: Path = planted_file(place, domain)
    return path.is_file() and any(result.failure for result in record_lines(path, Planted))


STAGE = Stage(
    name="planted",
    about="whether the share falls to the passage that decides, planted among others",
    make=make,
    over="attribution.domains",
    role="answer",
    sections=("attribution", "metrics"),
    reads=(out(Results.benchmark),),
    makes=(out(planted_file), out(planted_table)),
    failed=failed,
)
