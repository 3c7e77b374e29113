"""What the stages share that ask about a domain's questions one by one and are off by default."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeVar

from flows.files import check_folder, write_records
from flows.params import Params
from flows.project import Project
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import Work, over_chunks
from flows.stages.cluster import BenchPlace, workers
from flows.watch.artifacts import show_stage
from flows.watch.tracking import Tracker, run_stage
from simulators.registry import load
from simulrag.method.attribution.found import Attribution
from simulrag.method.routed import Routed

Item = TypeVar("Item")
Result = TypeVar("Result", Attribution, Routed)


def run_each(
    project: Project,
    params: Params,
    stage: Literal["attribution", "routing"],
    domain: str,
    *,
    out: Path,
    calls: Path,
    items: Callable[[Bench], Awaitable[list[Item]]],
    work: Work[Item, Result],
    table: Callable[[str, list[Result]], str],
) -> None:
    """``work`` over all items, with the answering model and the domain's simulator.

    ``out`` is written, and the calls exported to ``calls``, before it returns; raises
    SimulRAGError after that for too low a coverage.
    """
    name = f"{stage}-{domain}"
    check_folder(out.parent)

    async def body(tracker: Tracker) -> None:
        choice, seed = params.chosen(domain, project.root), params.simulator(domain).seed
        bench_at = open_bench(
            *(project, params, name, "answer"), simulator=load(*choice), seed=seed, export=calls
        )
        there_at = BenchPlace(project, params, name, "answer", choice, seed)
        async with bench_at as bench, workers(there_at, bench) as there:
            asked = await items(bench)
            tracker.expect(len(asked))
            made = over_chunks(
                *(stage, asked, work),
                bench=bench,
                tracker=tracker,
                chunk=params.operations.chunk,
                workers=there,
            )
            found = [one async for one in made]
            bench.waiting.check()
            write_records(out, found)
        text, done = table(domain, found), sum(one.failure is None for one in found)
        counts = {"questions": (done, len(found))}
        await show_stage(tracker, project, bench.gateway, name, text, counts)
        reasons = sorted({one.failure for one in found if one.failure})
        check_coverage(name, done, len(found), params.operations, "; ".join(reasons[:2]))

    tags = [f"domain:{domain}", f"model:{params.model('answer').model}"]
    run_stage(project, params, stage, name, tags, body=body)
