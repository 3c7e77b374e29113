"""Stage ``attribution``: which evidence each claim of every answer stands on. Off by default."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import get_args

from flows.files import record_lines, write_records
from flows.params import Params
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.attribution.attribute import attribute
from rooms.attribution.game import Support
from rooms.attribution.records import Attribution, attribution_rows, file_of, table_of
from rooms.attribution.settings import AttributionParams
from simulrag.metrics.table import write_table
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.records import Answer
from simulrag.stage import Outcome, Stage


async def make(at: StageContext) -> Outcome:
    """Hold the claims of a domain's complete answers against their evidence."""
    path = at.place.answers(at.item)
    questions = read_questions(at.benchmark)
    answers = answered_questions(record_lines(path, Answer), path, questions)
    complete = [held for held in answers if held.answer.failure is None]
    settings = at.params.room(AttributionParams)
    complete = complete[: settings.questions]
    async with at.asking() as bench:
        attributions = await at.over(
            "attribution", complete, partial(work, params=at.params), bench
        )
        write_records(file_of(at.place, at.item), attributions)
    scenarios = {held.question.question_id: held.question.scenario_id for held in complete}
    rows = attribution_rows(attributions, scenarios, settings.threshold, at.params.metrics, at.item)
    write_table(table_of(at.place, at.item), rows)
    failures = [attribution.failure for attribution in attributions]
    return Outcome.of(stage_table(at.item, attributions), "questions", failures)


async def work(bench: StageResources, held: AnsweredQuestion, params: Params) -> Attribution:
    """Attribute the claims of one answer."""
    return await attribute(
        held.question.text, held.answer, bench.gateway, params.room(AttributionParams)
    )


def stage_table(domain: str, attributions: list[Attribution]) -> str:
    """Show the stage as Markdown."""
    counts = Counter(claim.support for attribution in attributions for claim in attribution.claims)
    rows = [(name, counts[name]) for name in get_args(Support)]
    rows += [("failed", counts[None])] if counts[None] else []
    failures = [
        (attribution.question_id, "attribution", attribution.failure)
        for attribution in attributions
        if attribution.failure
    ]
    return titled_table(f"attribution {domain}", ("stands on", "claims"), rows, failures)


def failed(place: Results, domain: str) -> bool:
    """Return whether a question failed, or a claim of which nothing is known."""
    path = file_of(place, domain)
    return path.is_file() and any(
        attribution.failure is not None
        or any(claim.support is None for claim in attribution.claims)
        for attribution in record_lines(path, Attribution)
    )


STAGE = Stage(
    name="attribution",
    about="which evidence each claim of every answer stands on",
    make=make,
    over="attribution.domains",
    role="answer",
    sections=("attribution", "metrics"),
    reads=(out(Results.benchmark), out(Results.answers)),
    makes=(out(file_of), out(table_of)),
    failed=failed,
)
