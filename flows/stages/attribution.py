"""Stage ``attribution``: which evidence each claim of every answer stands on. Off by default."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple, get_args

from flows.files import check_folder, record_lines, write_records
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import over_chunks
from flows.stages.cluster import BenchPlace, workers
from flows.watch.artifacts import failure_lines, stage_costs
from flows.watch.progress import say
from flows.watch.tracking import Tracker, run_stage
from simulators.registry import load
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
    """Hold the claims of a domain's complete answers against their evidence.

    ``benchmark`` and ``out``: as given to the answer stage. The out is written before it returns;
    raises SimulRAGError after that for too low a coverage.
    """
    params = load_params(project.params)
    place = project.results if out is None else Results(out)
    questions = {q.question_id: q for q in read_questions(benchmark or place.benchmark(domain))}
    name = f"attribution-{domain}"
    check_folder(place.attribution(domain).parent)
    asked = []
    for answer in record_lines(place.answers(domain), Answer):
        question = question_of(questions, answer, place.answers(domain))
        if answer.failure is None:
            asked.append(Asked(question, answer))

    async def body(tracker: Tracker) -> None:
        tracker.expect(len(asked))
        choice, seed = params.chosen(domain, project.root), params.simulator(domain).seed
        bench_at = open_bench(
            *(project, params, name, "answer"),
            simulator=load(*choice),
            seed=seed,
            export=place.calls(name),
        )
        there_at = BenchPlace(project, params, name, "answer", choice, seed)
        async with bench_at as bench, workers(there_at, bench) as there:
            found = [
                one
                async for one in over_chunks(
                    "attribute",
                    asked,
                    partial(work, params=params),
                    bench=bench,
                    tracker=tracker,
                    chunk=params.operations.chunk,
                    workers=there,
                )
            ]
            bench.waiting.check()
            write_records(place.attribution(domain), found)
        await tracker.markdown(name, stage_table(domain, found))
        done = sum(one.failure is None for one in found)
        counts = {"questions attributed": (done, len(found))}
        rows = stage_costs(project, bench.gateway, counts)
        await tracker.table(f"{name}-cost", rows, f"Coverage and cost of {name}")
        say(stage_table(domain, found))
        reasons = sorted({one.failure for one in found if one.failure})
        check_coverage(name, done, len(found), params.operations, "; ".join(reasons[:2]))

    tags = [f"domain:{domain}", f"model:{params.model('answer').model}"]
    run_stage(project, params, "attribution", f"{name}-{len(asked)}q", tags, body=body)


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
