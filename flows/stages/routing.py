"""Stage ``routing``: whether questions are sent to the source that can answer. Off by default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from flows.files import record_lines
from flows.params import Params, load_params
from flows.project import Project, Results
from flows.stages.bench import Bench
from flows.stages.each import run_each
from simulators.base import Simulator
from simulrag.method.routed import OutOfReach, Routed
from simulrag.method.routing import near_misses, routed
from simulrag.questions.published import read_questions
from simulrag.records import Question


def run(
    project: Project, domain: str, *, benchmark: Path | None = None, out: Path | None = None
) -> None:
    """Route a domain's own questions, those near it that no source answers, and near misses."""
    # Loaded simulators go to no worker.
    params = load_params(project.params).with_operations(runner="threads")
    place = project.results if out is None else Results(out)
    sources = sources_of(project, params)
    own = to_route(domain, read_questions(benchmark or place.benchmark(domain)))

    async def items(bench: Bench) -> list[Routed]:
        written = near_misses(domain, sources, bench.gateway, params.routing.near_misses)
        misses = await bench.waiting.unless(written)
        return [*own, *out_of_reach(project, domain), *(misses or [])]

    run_each(
        *(project, params, "routing", domain),
        out=place.routing(domain),
        calls=place.calls(f"routing-{domain}"),
        items=items,
        work=partial(_work, sources=sources),
        table=stage_table,
    )


async def _work(bench: Bench, asked: Routed, sources: Mapping[str, Simulator]) -> Routed:
    return await routed(asked, sources, bench.gateway)


def sources_of(project: Project, params: Params) -> dict[str, Simulator]:
    """The domains that run and answer by tools; each has a file of identity that DVC follows."""
    loaded = {name: params.load_simulator(name, project.root) for name in params.domains}
    return {name: one for name, one in loaded.items() if not one.oracle}


def to_route(domain: str, questions: Iterable[Question]) -> list[Routed]:
    """A benchmark's questions, whose right source is their own."""
    return [Routed.of(q.question_id, q.text, "own", domain, q.scenario_id) for q in questions]


def out_of_reach(project: Project, domain: str) -> list[Routed]:
    """The questions of ours that seem a domain's and that no source answers."""
    rows = record_lines(project.out_of_reach, OutOfReach)
    return [Routed.of(one.question_id, one.text, "none") for one in rows if one.near == domain]


def stage_table(domain: str, found: Iterable[Routed]) -> str:
    """The stage as Markdown."""
    lines = [f"## routing {domain}", "", "| question | right | sent to |", "| --- | --- | --- |"]
    for one in found:
        sent = f"failed: {one.failure}" if one.route is None else one.route.chosen or "none"
        if sent != (one.right or "none"):
            lines.append(f"| {one.question_id} | {one.right or 'none'} | {sent} |")
    return "\n".join(lines if len(lines) > 4 else [*lines[:1], "", "Every question is sent right."])
