"""Stage ``benchmark``: templates, sampled scenarios run on the simulator, checked questions.

A domain whose simulator replays published evidence takes its questions from the imported file.
"""

from __future__ import annotations

import json
from pathlib import Path

from flows.files import write_records, write_text
from flows.params import Params, load_params
from flows.project import Project
from flows.stages.bench import open_bench
from flows.watch.artifacts import show_stage
from flows.watch.progress import say
from flows.watch.tracking import Tracker, run_stage
from simulators.base import Simulator
from simulrag.calls import CallCache
from simulrag.errors import CoverageFailed, InputError
from simulrag.questions.open.generation import Benchmark, BenchmarkSummary, generate
from simulrag.questions.published import read_questions


def run(project: Project, domain: str) -> None:
    """Make a domain's benchmark: questions, templates, summary and the calls behind them.

    Raises CoverageFailed, after they are written, where too few questions were made.
    """
    params = load_params(project.params)
    simulator = params.load_simulator(domain, project.root)
    if simulator.oracle:
        summary = _copy_published(project, params, domain).summary
        say(stage_table(summary))
    else:
        summary = _generate(project, params, domain, simulator).summary
    check_made(summary, params.operations.min_coverage)


def _generate(project: Project, params: Params, domain: str, simulator: Simulator) -> Benchmark:
    name = f"benchmark-{domain}"
    wanted = params.benchmark

    async def body(tracker: Tracker) -> Benchmark:
        export = project.results.calls(name)
        async with open_bench(
            project, params, name, "benchmark", simulator=simulator, export=export
        ) as bench:
            tracker.expect(wanted.questions)

            async def draw() -> Benchmark:
                return await generate(
                    bench.gateway,
                    bench.runs,
                    domain,
                    n=wanted.questions,
                    seed=wanted.seed,
                    template_count=wanted.templates,
                    set_up=wanted.set_up,
                    concurrency=params.operations.concurrency,
                    simulator_seed=params.simulator(domain).seed,
                    accepted=tracker.advance,
                )

            made = await tracker.step(f"generate {wanted.questions}", draw)
            _write(project, domain, made)
        text, done = stage_table(made.summary), (made.summary.accepted, made.summary.requested)
        await show_stage(tracker, project, bench.gateway, name, text, {"questions made": done})
        return made

    tags = [f"domain:{domain}", f"model:{params.model('benchmark').model}"]
    return run_stage(project, params, "benchmark", f"{name}-{wanted.questions}q", tags, body=body)


def _copy_published(project: Project, params: Params, domain: str) -> Benchmark:
    """The imported questions of a replayed domain, under the domain's own name."""
    settings = params.simulator(domain).settings
    if "benchmark" not in settings:
        raise InputError(
            f"simulators.{domain}.settings needs 'benchmark', the file of imported questions"
        )
    source = project.root / str(settings["benchmark"])
    questions = [q.model_copy(update={"domain": domain}) for q in read_questions(source)]
    summary = BenchmarkSummary(
        domain=domain,
        requested=len(questions),
        accepted=len(questions),
        templates=0,
        scenarios=len({question.scenario_id for question in questions}),
        rejected=0,
        rejected_by_reason={},
        simulator_failures=0,
        exhausted=True,
    )
    made = Benchmark([], questions, summary)
    _write(project, domain, made)
    with CallCache(params.operations.place(project.root), stage=f"benchmark-{domain}") as cache:
        # No call was made: an empty table.
        cache.export(project.results.calls(f"benchmark-{domain}"))
    return made


def stage_table(summary: BenchmarkSummary) -> str:
    """The stage as Markdown: questions made, and what was rejected and why."""
    lines = [f"## benchmark {summary.domain}", "", "| what | count |", "| --- | --- |"]
    lines += [
        f"| {field} | {getattr(summary, field)} |"
        for field in ("requested", "accepted", "scenarios", "rejected", "simulator_failures")
    ]
    lines += [f"| rejected for {k} | {n} |" for k, n in summary.rejected_by_reason.items()]
    return "\n".join(lines)


def check_made(summary: BenchmarkSummary, min_coverage: float) -> None:
    """Raise CoverageFailed, with the reasons, where too few questions were made."""
    made, wanted = summary.accepted, summary.requested
    if wanted == 0 or made / wanted >= min_coverage:
        return
    reasons = ", ".join(f"{n} for {k}" for k, n in summary.rejected_by_reason.items())
    hints = [f"rejected: {reasons}"] if reasons else []
    if summary.exhausted:
        hints.append(
            f"the {summary.templates} templates have {summary.scenarios} distinct scenarios and no "
            "more: lower benchmark.questions, or raise benchmark.templates with a model that "
            "writes others"
        )
    raise CoverageFailed(
        f"benchmark-{summary.domain}: {made} of {wanted} came through, below "
        f"operations.min_coverage {min_coverage:g}; {'; '.join(hints)}"
    )


def _write(project: Project, domain: str, made: Benchmark) -> None:
    write_records(project.results.benchmark(domain), made.questions)
    plain = [template.model_dump(mode="json") for template in made.templates]
    _write_json(project.results.templates(domain), plain)
    _write_json(project.results.benchmark_summary(domain), made.summary.model_dump(mode="json"))


def _write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
