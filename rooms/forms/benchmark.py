"""Stage ``forms_benchmark``: questions by form of a source, audited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flows.files import write_records, write_text
from flows.params import Params
from flows.project import Project, out
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.forms.corpus import is_corpus
from rooms.forms.documents import documents_of, from_documents
from rooms.forms.generation import DRAWS, PER_SEED, Made, Seed, generate
from rooms.forms.records import benchmark_file, corpus_folder, refused_file, summary_file
from rooms.forms.settings import FormsParams
from simulators.base import Simulator
from simulrag.errors import InputError
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.questions.templates import draw_templates
from simulrag.stage import Outcome, Stage


async def make(at: StageContext) -> Outcome:
    """Make a source's questions, from its documents and from its runs.

    Writes them, what was refused, and a summary.
    """
    simulator = simulator_of(at.project, at.params, at.item)
    wanted = at.params.room(FormsParams).questions
    async with at.asking(loaded=simulator, here=True) as bench:

        async def generated() -> list[Made]:
            return await made_of(
                bench.gateway,
                bench.simulations,
                at.params,
                at.item,
                corpus_folder(at.place, at.item),
                at.tracker.advance,
            )

        parts = await at.tracker.step(f"generate {wanted}", generated)
        write(benchmark_file(at.place, at.item), parts)
    done = sum(part.summary.accepted for part in parts)
    asked = sum(part.summary.requested for part in parts)
    return Outcome(
        table=stage_table(parts),
        counts={"questions made": (done, asked)},
        done=done,
        total=asked,
        hints=("see summary.json beside its out",),
    )


def simulator_of(project: Project, params: Params, source: str) -> Simulator | None:
    """Return the simulator whose runs a source is asked about; documents are no runs."""
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
    """Make questions from a source's documents and from its runs, as far as it has any."""
    wanted, seeds = params.room(FormsParams), list[list[Seed]]()
    if is_corpus(corpus):
        seeds.append(
            from_documents(
                documents_of(corpus),
                ask,
                source,
                seed=wanted.seed,
                contexts=wanted.contexts,
                threshold=wanted.threshold,
            )
        )
    if simulations is not None:
        from rooms.forms.runs import from_runs

        drawn = params.benchmark
        templates, _ = await draw_templates(
            ask, simulations.simulator, drawn.templates, set_up=drawn.set_up
        )
        seeds.append(
            from_runs(
                templates,
                simulations,
                ask,
                source,
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


def write(file: Path, parts: list[Made]) -> None:
    """Write the questions, and beside them what was refused, and the summary."""
    write_records(file, [question for part in parts for question in part.questions])
    write_records(_beside(file, "refused"), [refused for part in parts for refused in part.refused])
    lines = [part.summary.model_dump_json(indent=1) for part in parts]
    write_text(_beside(file, "summary", ".json"), "[" + ",\n".join(lines) + "]\n")


def _beside(file: Path, what: str, suffix: str = ".jsonl") -> Path:
    name = what if file.stem == "benchmark" else f"{file.stem}-{what}"
    return file.with_name(f"{name}{suffix}")


def stage_table(parts: list[Made]) -> str:
    """Show what was made and refused, as Markdown."""
    rows: list[tuple[str, int]] = []
    for summary in (part.summary for part in parts):
        rows += [(name, getattr(summary, name)) for name in ("requested", "accepted")]
        rows += summary.by_form.items()
        rows += [(f"refused for {kind}", n) for kind, n in summary.rejected_by_reason.items()]
    return titled_table("forms_benchmark", ("what", "count"), rows)


STAGE = Stage(
    name="forms_benchmark",
    about="audited questions by form, from documents and from runs",
    make=make,
    over="forms.sources",
    each="source",
    role="benchmark",
    sections=(
        "simulators",
        "benchmark",
        "forms.questions",
        "forms.seed",
        "forms.contexts",
        "forms.threshold",
    ),
    reads=("data/simulators", out(corpus_folder)),
    makes=(
        out(benchmark_file),
        out(refused_file),
        out(summary_file),
    ),
)
