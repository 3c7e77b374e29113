"""Stage ``forms_answer``: a source's questions by form, under every condition. Off by default."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import JsonValue

from flows.files import check_folder, write_records
from flows.params import Params, load_params
from flows.project import Project
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import over_chunks
from flows.stages.corpus import is_corpus
from flows.watch.artifacts import failure_lines, show_stage
from flows.watch.tracking import Tracker, run_stage
from simulators.base import Simulator
from simulators.registry import load
from simulrag.errors import InputError
from simulrag.method.simulation import Simulations
from simulrag.questions.forms.answering import answer_question
from simulrag.questions.forms.published import read_forms
from simulrag.questions.forms.records import Condition, FormAnswer, Formed

Task = tuple[Formed, Condition]
Chosen = tuple[str, dict[str, JsonValue]]


def run(project: Project, source: str) -> None:
    """Answer all questions of a source from nothing and from what evidence it has.

    The out is written before it returns; raises SimulRAGError after that for too low a coverage.
    """
    params, place = load_params(project.params), project.results
    name = f"forms_answer-{source}"
    questions = read_forms(place.forms_benchmark(source))
    simulators = evidence_of(project, params, source)
    if lacks_corpus(params, source, simulators):
        raise InputError(
            f"the documents of {source} are no corpus yet: run `simulrag stage corpus --domain "
            f"{source}` first"
        )
    asked = tasks(questions, simulators)
    check_folder(place.forms(source))

    async def body(tracker: Tracker) -> None:
        tracker.expect(len(asked))
        async with open_bench(
            *(project, params, name, "answer"), export=place.calls(name)
        ) as bench:
            workers = params.operations.simulator_workers
            runs = {x: Simulations(one, bench.cache, workers) for x, one in simulators.items()}
            found = [
                one
                async for one in over_chunks(
                    "answer",
                    asked,
                    partial(work, params=params, source=source, runs=runs),
                    bench=bench,
                    tracker=tracker,
                    chunk=params.operations.chunk,
                )
            ]
            bench.waiting.check()
            write_records(place.forms_answers(source), found)
        done = sum(one.failure is None for one in found)
        text, counts = stage_table(source, found), {"questions answered": (done, len(found))}
        await show_stage(tracker, project, bench.gateway, name, text, counts)
        reasons = sorted({one.failure for one in found if one.failure})
        check_coverage(name, done, len(found), params.operations, "; ".join(reasons[:2]))

    tags = [f"source:{source}", f"model:{params.model('answer').model}"]
    run_stage(project, params, "forms_answer", name, tags, body=body)


def tasks(questions: list[Formed], simulators: Mapping[Condition, Simulator]) -> list[Task]:
    """Every question under every condition."""
    conditions: tuple[Condition, ...] = ("nothing", *simulators)
    return [(question, condition) for question in questions for condition in conditions]


async def work(
    bench: Bench, task: Task, params: Params, source: str, runs: Mapping[Condition, Simulations]
) -> FormAnswer:
    """One question under one condition."""
    question, condition = task
    return await answer_question(
        *(question, condition, bench.gateway, runs.get(condition)),
        seed=params.forms.seed,
        simulator_seed=seed_of(params, source),
        max_attempts=params.forms.answer.max_attempts,
    )


def seed_of(params: Params, source: str) -> int:
    """The seed of the simulator that a source's questions are answered from; 0 without one."""
    names = params.forms.answer.evidence.get(source, (source,))
    choices = [params.simulators[name] for name in names if name in params.simulators]
    return next((choice.seed for choice in choices if choice.name != "library"), 0)


def evidence_of(project: Project, params: Params, source: str) -> dict[Condition, Simulator]:
    """What a source's questions are answered from, by condition; "nothing" is not among them.

    Those that ``forms.answer.evidence`` names, else its own documents and its own simulator.
    Raises InputError for names that are unknown, or two of one kind.
    """
    found: dict[Condition, Chosen] = {}
    names = params.forms.answer.evidence.get(source)
    for entry in names if names is not None else (source,) * (source in params.simulators):
        choice = params.chosen(entry, project.root)
        kind: Condition = "library" if choice[0] == "library" else "simulator"
        if kind in found:
            raise InputError(
                f"forms.answer.evidence.{source}: two of the kind {kind}; name one library and one "
                "simulator, or one of them"
            )
        if choice[0] != "replay":  # it knows the open questions of its own file alone
            found[kind] = choice
    corpus = project.results.corpus(source)
    if names is None and is_corpus(corpus):
        found["library"] = ("library", {"corpus": str(corpus), "retrieves_by": "question"})
    if len(found) == 2:
        pair: list[JsonValue] = [
            {"name": found[kind][0], "settings": found[kind][1]}
            for kind in ("library", "simulator")
        ]
        found["both"] = ("joined", {"sources": pair})
    order: tuple[Condition, ...] = ("library", "simulator", "both")
    return {kind: load(*found[kind]) for kind in order if kind in found}


def lacks_corpus(params: Params, source: str, simulators: Mapping[Condition, Simulator]) -> bool:
    """Whether the documents of a source are still to become its library."""
    own = source in params.forms.documents and source not in params.forms.answer.evidence
    return own and "library" not in simulators


def stage_table(source: str, found: list[FormAnswer]) -> str:
    """The stage as Markdown."""
    lines = [
        f"## forms_answer {source}",
        "",
        "| condition | answered | of |",
        "| --- | --- | --- |",
    ]
    for condition in dict.fromkeys(one.condition for one in found):
        done = [one.failure is None for one in found if one.condition == condition]
        lines.append(f"| {condition} | {sum(done)} | {len(done)} |")
    failed = [(one.question_id, one.condition, one.failure) for one in found if one.failure]
    return "\n".join([*lines, *failure_lines(failed)])
