"""Stage ``attribution``: which evidence each claim of every answer stands on. Off by default."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from flows.files import record_lines
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.stages.bench import Bench
from flows.stages.each import run_each
from flows.watch.artifacts import failure_lines
from simulrag.method.attribution.attribute import attribute
from simulrag.method.attribution.forecast import forecast_of
from simulrag.method.attribution.found import Attribution
from simulrag.method.attribution.sources import Support
from simulrag.questions.published import question_of, read_questions
from simulrag.records import Answer, Question


class Asked(NamedTuple):
    """A question and its answer."""

    question: Question
    answer: Answer


def run(
    project: Project, domain: str, *, benchmark: Path | None = None, out: Path | None = None
) -> None:
    """Hold the claims of a domain's complete answers against their evidence, as ``run_each`` does.

    ``benchmark`` and ``out``: as given to the answer stage.
    """
    params = load_params(project.params)
    place = project.results if out is None else Results(out)
    path = place.answers(domain)
    questions = {q.question_id: q for q in read_questions(benchmark or place.benchmark(domain))}
    answers = [(question_of(questions, one, path), one) for one in record_lines(path, Answer)]
    asked = [Asked(*pair) for pair in answers if pair[1].failure is None]

    async def items(bench: Bench) -> list[Asked]:  # noqa: ARG001 none hangs on a call
        return asked

    run_each(
        *(project, params, "attribution", domain),
        out=place.attribution(domain),
        calls=place.calls(f"attribution-{domain}"),
        items=items,
        work=partial(work, params=params),
        table=stage_table,
    )


async def work(bench: Bench, asked: Asked, params: Params) -> Attribution:
    """What the claims of one answer stand on."""
    return await attribute(
        asked.question.text,
        asked.answer,
        bench.gateway,
        params.attribution,
        claims_per_call=params.answer.claims_per_call.verify,
        simulations=bench.runs,
        forecast=forecast_of(asked.question),
    )


def stage_table(domain: str, found: list[Attribution]) -> str:
    """The stage as Markdown."""
    counts = Counter(claim.support for one in found for claim in one.claims)
    lines = [f"## attribution {domain}", "", "| stands on | claims |", "| --- | --- |"]
    lines += [f"| {name} | {counts[name]} |" for name in get_args(Support)]
    if counts[None]:
        lines.append(f"| failed | {counts[None]} |")
    failed = [(one.question_id, "attribution", one.failure) for one in found if one.failure]
    return "\n".join([*lines, *failure_lines(failed)])
