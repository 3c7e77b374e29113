"""Stage ``routing``: whether questions are sent to the source that can answer. Off by default."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from flows.files import check_folder, write_records
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import over_chunks
from flows.watch.artifacts import stage_costs
from flows.watch.progress import say
from flows.watch.tracking import Tracker, run_stage
from simulators.base import Simulator
from simulrag.errors import InputError
from simulrag.method.routed import Routed, ToRoute
from simulrag.method.routing import near_misses, routed
from simulrag.questions.published import read_questions
from simulrag.records import Question


def run(
    project: Project, domain: str, *, benchmark: Path | None = None, out: Path | None = None
) -> None:
    """Route a domain's own questions, those near it that no source answers, and near misses.

    The out is written before it returns; raises SimulRAGError after that for too low a coverage.
    """
    params = load_params(project.params)
    place = project.results if out is None else Results(out)
    name = f"routing-{domain}"
    check_folder(place.routing(domain).parent)
    sources = sources_of(project, params)
    own = to_route(domain, read_questions(benchmark or place.benchmark(domain)))
    known = [*own, *out_of_reach(project, domain)]

    async def body(tracker: Tracker) -> None:
        async with open_bench(project, params, name, "answer", export=place.calls(name)) as bench:
            missed = near_misses(domain, sources, bench.gateway, params.routing.near_misses)
            asked = [*known, *(await bench.waiting.unless(missed) or [])]
            tracker.expect(len(asked))
            work = over_chunks(
                *("route", asked, partial(_work, sources=sources)),
                bench=bench,
                tracker=tracker,
                chunk=params.operations.chunk,
            )
            found = [one async for one in work]
            bench.waiting.check()
            write_records(place.routing(domain), found)
        await tracker.markdown(name, stage_table(domain, found))
        done = sum(one.failure is None for one in found)
        rows = stage_costs(project, bench.gateway, {"questions routed": (done, len(found))})
        await tracker.table(f"{name}-cost", rows, f"Coverage and cost of {name}")
        say(stage_table(domain, found))
        reasons = sorted({one.failure for one in found if one.failure})
        check_coverage(name, done, len(found), params.operations, "; ".join(reasons[:2]))

    tags = [f"domain:{domain}", f"model:{params.model('answer').model}"]
    run_stage(project, params, "routing", f"{name}-{len(known)}q", tags, body=body)


async def _work(bench: Bench, asked: ToRoute, sources: Mapping[str, Simulator]) -> Routed:
    return await routed(asked, sources, bench.gateway)


def sources_of(project: Project, params: Params) -> dict[str, Simulator]:
    """The domains that run and answer by tools; each has a file of identity that DVC follows."""
    loaded = {name: params.load_simulator(name, project.root) for name in params.domains}
    return {name: one for name, one in loaded.items() if not one.oracle}


def to_route(domain: str, questions: Iterable[Question]) -> list[ToRoute]:
    """A benchmark's questions, whose right source is their own."""
    return [
        ToRoute(
            question_id=one.question_id,
            text=one.text,
            kind="own",
            right=domain,
            scenario_id=one.scenario_id,
        )
        for one in questions
    ]


def out_of_reach(project: Project, domain: str) -> list[ToRoute]:
    """The questions of ours that seem a domain's and that no source answers."""
    found = []
    try:
        for line in project.out_of_reach.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["near"] == domain:
                id, text = row["question_id"], row["text"]
                found.append(
                    ToRoute(question_id=id, text=text, kind="none", right=None, scenario_id=id)
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{project.out_of_reach} cannot be used ({error}); get it from git again"
        ) from None
    return found


def stage_table(domain: str, found: Iterable[Routed]) -> str:
    """The stage as Markdown."""
    lines = [f"## routing {domain}", "", "| question | right | sent to |", "| --- | --- | --- |"]
    for one in found:
        sent = f"failed: {one.failure}" if one.route is None else one.route.chosen or "none"
        if sent != (one.right or "none"):
            lines.append(f"| {one.question_id} | {one.right or 'none'} | {sent} |")
    return "\n".join(lines if len(lines) > 4 else [*lines[:1], "", "Every question is sent right."])
