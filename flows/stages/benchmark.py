"""Stage ``benchmark``: templates, sampled scenarios run on the simulator, checked questions.

A domain whose simulator replays published evidence takes its questions from the imported file.
"""

from __future__ import annotations

import json
from pathlib import Path

from flows.files import write_records, write_text
from flows.params_file import read_yaml
from flows.project import Results, out
from flows.running.runner import StageContext
from flows.watch.tracking import cell, titled_table
from simulators.base import Simulator
from simulrag.errors import InputError, NotStored, ReplyInvalid
from simulrag.questions.generation import Benchmark, BenchmarkSummary, generate, templates_by_hand
from simulrag.questions.published import read_questions
from simulrag.stage import Outcome, Stage

SHOWN_CHARACTERS = 600
"""Of what is wrong with a model's templates."""


async def make(context: StageContext) -> Outcome:
    """Make a domain's benchmark: questions, templates, summary and the calls behind them."""
    simulator = context.params.load_simulator(context.item, context.project.root)
    made = _published(context) if simulator.oracle else await _generated(context, simulator)
    write_records(context.place.benchmark(context.item), made.questions)
    plain = [template.model_dump(mode="json") for template in made.templates]
    _write_json(context.place.templates(context.item), plain)
    summary = made.summary
    _write_json(context.place.benchmark_summary(context.item), summary.model_dump(mode="json"))
    return Outcome(
        table=stage_table(summary),
        counts={"questions made": (summary.accepted, summary.requested)},
        done=summary.accepted,
        total=summary.requested,
        hints=hints(summary),
    )


async def _generated(context: StageContext, simulator: Simulator) -> Benchmark:
    item, project, wanted = context.item, context.project, context.params.benchmark
    choice = context.params.simulator(item)
    by_hand = None
    if choice.templates_file is not None:
        path = project.root / choice.templates_file
        by_hand = templates_by_hand(read_yaml(path), path, simulator)
    async with context.asking(loaded=simulator, seed=choice.seed) as bench:
        context.tracker.expect(wanted.questions)

        async def draw() -> Benchmark:
            return await generate(
                bench.gateway,
                bench.runs,
                item,
                n=wanted.questions,
                seed=wanted.seed,
                template_count=wanted.templates,
                kind=wanted.kind,
                set_up=wanted.set_up,
                templates=by_hand,
                concurrency=context.params.operations.concurrency,
                simulator_seed=choice.seed,
                accepted=context.tracker.advance,
            )

        try:
            return await context.tracker.step(f"generate {wanted.questions}", draw)
        except NotStored:
            if item not in context.params.unwritten(project):
                raise
            raise NotStored(
                f"no recording has questions of '{item}', and its benchmark's calls are only "
                f"replayed; name the model that writes them: simulators.{item}.benchmark_model: "
                "{provider: openai, model: gpt-5-mini} (`simulrag use` writes it)"
            ) from None
        except ReplyInvalid as error:
            folder = (project.root / ".cache").resolve()  # a refresh's is the project's own
            raise _shortened(error, folder / f"{context.name}-reply.txt") from None


def _shortened(error: ReplyInvalid, file: Path) -> ReplyInvalid:
    """Cut the error to a line that can be read; all that is wrong stands in a file."""
    if len(str(error)) <= SHOWN_CHARACTERS:
        return error
    write_text(file, str(error).replace("; ", "\n") + "\n")
    return error.retold(f"{str(error)[:SHOWN_CHARACTERS]}... (all of it: {file})")


def _published(context: StageContext) -> Benchmark:
    """Return the imported questions of a replayed domain, under the domain's own name."""
    settings = context.params.simulator(context.item).settings
    if "benchmark" not in settings:
        raise InputError(
            f"simulators.{context.item}.settings needs 'benchmark', the file of imported questions"
        )
    source = context.project.root / str(settings["benchmark"])
    questions = [q.model_copy(update={"domain": context.item}) for q in read_questions(source)]
    context.export_nothing()
    summary = BenchmarkSummary(
        domain=context.item,
        requested=len(questions),
        accepted=len(questions),
        templates=0,
        scenarios=len({question.scenario_id for question in questions}),
        rejected=0,
        rejected_by_reason={},
        simulator_failures=0,
        exhausted=True,
    )
    return Benchmark([], questions, summary)


def stage_table(summary: BenchmarkSummary) -> str:
    """Return the stage as Markdown: questions made, and what was rejected and why."""
    fields = ("requested", "accepted", "scenarios", "rejected", "simulator_failures")
    rows = [(field, getattr(summary, field)) for field in fields]
    rows += [(f"rejected for {why}", n) for why, n in summary.rejected_by_reason.items()]
    rows += [(f"template left out: {cell(why)}", 1) for why in summary.dropped_templates]
    return titled_table(f"benchmark {summary.domain}", ("what", "count"), rows)


def hints(summary: BenchmarkSummary) -> tuple[str, ...]:
    """Tell why there are fewer questions than were asked for."""
    reasons = ", ".join(f"{n} for {k}" for k, n in summary.rejected_by_reason.items())
    words = [f"rejected: {reasons}"] if reasons else []
    if summary.exhausted:
        words.append(
            f"the {summary.templates} templates have {summary.scenarios} distinct scenarios and no "
            "more: lower benchmark.questions, or raise benchmark.templates with a model that "
            "writes others"
        )
    return tuple(words)


def _write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


STAGE = Stage(
    name="benchmark",
    about="questions whose answers are known, because the simulator ran first",
    make=make,
    role="benchmark",
    sections=("simulators.{item}", "benchmark"),
    reads=(out(Results.simulator),),
    makes=(out(Results.benchmark), out(Results.templates), out(Results.benchmark_summary)),
)
