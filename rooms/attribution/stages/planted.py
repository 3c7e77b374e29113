"""Stage ``planted``: whether the share falls to the passage that decides."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from flows.files import record_lines, write_records
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.artifacts import titled_table
from rooms.attribution.measures import planted_rows, planted_table
from rooms.attribution.planted import Planted, plantable, planted
from rooms.attribution.records import planted_file
from rooms.attribution.settings import AttributionParams
from simulrag.metrics.table import write_table
from simulrag.questions.published import read_questions
from simulrag.records import Question
from simulrag.stage import Outcome, Stage


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
        found = await at.over("planted", chosen, work, bench)
        write_records(planted_file(at.place, at.item), found)
    rows = planted_rows(found, at.params.metrics, at.item)
    write_table(planted_table(at.place, at.item), rows)
    largest = [each for one in found for each in one.largest]
    table = titled_table(
        f"planted {at.item}",
        ("claims", "the planted passage has the largest share"),
        [(len(largest), sum(largest))],
    )
    return Outcome.of(table, "questions", [one.failure for one in found])


async def _work(
    bench: StageResources, question: Question, others: list[Question], seed: int
) -> Planted:
    return await planted(question, others, bench.gateway, seed)


def failed(place: Results, domain: str) -> bool:
    """Whether a question failed."""
    path: Path = planted_file(place, domain)
    return path.is_file() and any(one.failure for one in record_lines(path, Planted))


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
