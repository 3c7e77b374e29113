"""Stage ``forms_benchmark``: questions by form of a source, audited. Off by default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flows.files import check_folder, write_records, write_text
from flows.params import Params, load_params
from flows.project import Project
from flows.stages.bench import check_coverage, open_bench
from flows.stages.corpus import documents, is_corpus
from flows.watch.artifacts import show_stage
from flows.watch.tracking import Tracker, run_stage
from simulators.base import Simulator
from simulrag.errors import InputError
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.questions.forms.documents import from_documents
from simulrag.questions.forms.generation import DRAWS, PER_SEED, Made, Seed, generate
from simulrag.questions.open.templates import draw_templates


def run(project: Project, source: str) -> None:
    """Make a source's questions, from its documents and from its runs.

    Writes them, what was refused, and a summary; raises CoverageFailed after that for too few.
    """
    params, place = load_params(project.params), project.results
    name, corpus = f"forms_benchmark-{source}", place.corpus(source)
    simulator = simulator_of(project, params, source)
    check_folder(place.forms(source))

    async def body(tracker: Tracker) -> None:
        async with open_bench(
            *(project, params, name, "benchmark"), simulator=simulator, export=place.calls(name)
        ) as bench:

            async def make() -> list[Made]:
                return await made_of(
                    bench.gateway, bench.simulations, params, source, corpus, tracker.advance
                )

            parts = await tracker.step(f"generate {params.forms.questions}", make)
            write(place.forms_benchmark(source), parts)
        done = sum(part.summary.accepted for part in parts)
        asked = sum(part.summary.requested for part in parts)
        text, counts = stage_table(parts), {"questions made": (done, asked)}
        await show_stage(tracker, project, bench.gateway, name, text, counts)
        check_coverage(name, done, asked, params.operations, "see summary.json beside its out")

    tags = [f"source:{source}", f"model:{params.model('benchmark').model}"]
    run_stage(project, params, "forms_benchmark", name, tags, body=body)


def simulator_of(project: Project, params: Params, source: str) -> Simulator | None:
    """The simulator whose runs a source is asked about; documents are no runs."""
    choice = params.simulators.get(source)
    if choice is None or choice.name in ("library", "replay"):
        return None
    return params.load_simulator(source, project.root)


async def made_of(
    ask: Asker,
    simulations: Simulations | None,
    params: Params,
    source: str,
    corpus: Path,
    accepted: Callable[[], None] = lambda: None,
) -> list[Made]:
    """The questions from a source's documents, if it has any, and from its runs, if it has any."""
    wanted, seeds = params.forms, list[list[Seed]]()
    if is_corpus(corpus):
        seeds.append(
            from_documents(
                *(documents(corpus), ask, source),
                seed=wanted.seed,
                contexts=wanted.contexts,
                threshold=wanted.threshold,
            )
        )
    if simulations is not None:
        from simulrag.questions.forms.runs import from_runs

        drawn = params.benchmark
        templates = await draw_templates(
            ask, simulations.simulator, drawn.templates, set_up=drawn.set_up
        )
        seeds.append(
            from_runs(
                *(templates, simulations, ask, source),
                seeds=DRAWS * -(-wanted.questions // PER_SEED),
                seed=wanted.seed,
                simulator_seed=params.simulator(source).seed,
            )
        )
    if not seeds:
        raise InputError(f"'{source}' has neither documents nor a simulator to ask about")
    concurrency = params.operations.concurrency
    return [
        await generate(
            ask, part, source, n=wanted.questions, concurrency=concurrency, accepted=accepted
        )
        for part in seeds
    ]


def write(out: Path, parts: list[Made]) -> None:
    """The questions, and beside them what was refused, and the summary."""
    write_records(out, [question for part in parts for question in part.questions])
    write_records(_beside(out, "refused"), [one for part in parts for one in part.refused])
    lines = [part.summary.model_dump_json(indent=1) for part in parts]
    write_text(_beside(out, "summary", ".json"), "[" + ",\n".join(lines) + "]\n")


def _beside(out: Path, what: str, suffix: str = ".jsonl") -> Path:
    name = what if out.stem == "benchmark" else f"{out.stem}-{what}"
    return out.with_name(f"{name}{suffix}")


def stage_table(parts: list[Made]) -> str:
    """What was made and refused, as Markdown."""
    lines = ["## forms_benchmark", "", "| what | count |", "| --- | --- |"]
    for summary in (part.summary for part in parts):
        lines += [f"| {name} | {getattr(summary, name)} |" for name in ("requested", "accepted")]
        lines += [f"| {name} | {count} |" for name, count in summary.by_form.items()]
        lines += [
            f"| refused for {kind} | {count} |"
            for kind, count in summary.rejected_by_reason.items()
        ]
    return "\n".join(lines)
