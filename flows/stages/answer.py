"""Stage ``answer``: Algorithm 1 over a benchmark, a step and a chunk of questions at a time.

``python -m flows.stages.answer --domain urban`` runs what ``dvc repro`` runs. With ``--benchmark FILE``
the questions come from a file, and with ``--out DIR`` the results go elsewhere, without DVC.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from flows.stages.algorithm import answer_questions
from flows.watch.artifacts import failure_lines, stage_costs
from flows.stages.cluster import Place, workers
from flows.files import check_folder, write_records
from flows.params import StageParams, load_stage_params
from flows.watch.progress import console
from flows.project import Project, Results, find_project
from flows.stages.shelf import Shelf
from flows.stages.bench import (
    check_coverage,
    exits,
    run_stage,
    simulator_choice,
    workbench,
)
from flows.watch.tracking import Tracker
from simulators.registry import load
from simulrag.questions.published import read_questions
from simulrag.errors import InputError
from simulrag.records import Answer, Failure, Question


@dataclass
class Told:
    """What is told of the stage when it is done."""

    questions: int = 0
    unverified: int = 0
    claims: int = 0
    calls: int = 0
    runs: int = 0
    failed: list[tuple[str, Failure]] = field(default_factory=list)

    def note(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Count the answers as they pass."""
        for answer in answers:
            self.questions += 1
            self.claims += len(answer.claims)
            self.calls += sum(usage.calls for usage in answer.usage.values())
            self.runs += answer.simulator_runs
            if answer.failure is not None:
                self.failed.append((answer.question_id, answer.failure))
            elif not answer.verified:
                self.unverified += 1
            yield answer

    @property
    def answered(self) -> int:
        """The questions that came through."""
        return self.questions - len(self.failed)


def stage_table(domain: str, told: Told) -> str:
    """The stage as Markdown: what came through, what did not and why."""
    rows = [
        ("questions", told.questions),
        ("answered", told.answered),
        ("answered without a verified claim", told.unverified),
        ("claims", told.claims),
        ("model calls used", told.calls),
        ("simulator runs used", told.runs),
    ]
    lines = [f"## answer {domain}", "", "| what | count |", "| --- | --- |"]
    lines += [f"| {name} | {count} |" for name, count in rows]
    lines += failure_lines((name, failure.step, failure.reason) for name, failure in told.failed)
    return "\n".join(lines)


def run(
    project: Project,
    params: StageParams,
    domain: str,
    questions: list[Question],
    *,
    simulator: tuple[str, Mapping[str, JsonValue]],
    seed: int,
    out: Path,
    export: Path,
) -> None:
    """The whole stage; writes ``out`` and the export before it returns.

    ``simulator``: its name and settings. Raises SimulRAGError, after they are written, for too low
    a coverage.
    """
    name = f"answer-{domain}"
    check_folder(out.parent)

    async def body(tracker: Tracker) -> None:
        place = Place(project, params, name, "answer", simulator, seed)
        told = Told()
        async with (
            workbench(
                project,
                params,
                name,
                "answer",
                simulator=load(*simulator),
                seed=seed,
                export=export,
            ) as bench,
            workers(place, bench) as there,
        ):
            with Shelf(out.parent) as shelf:
                await answer_questions(
                    questions,
                    bench,
                    params.answer,
                    tracker,
                    shelf,
                    chunk=params.operations.chunk,
                    workers=there,
                )
                write_records(out, told.note(shelf.answers()))
        table = stage_table(domain, told)
        await tracker.markdown(name, table)
        counts = {"questions answered": (told.answered, told.questions)}
        rows = stage_costs(project, bench.gateway, counts)
        await tracker.table(f"{name}-cost", rows, f"Coverage and cost of {name}")
        console.print(table, markup=False)
        hint = "; ".join(sorted({failure.reason for _, failure in told.failed})[:2])
        check_coverage(name, told.answered, told.questions, params.operations, hint)

    tags = [f"domain:{domain}", f"model:{params.model('answer').model}"]
    run_stage(project, params, "answer", f"{name}-{len(questions)}q", tags, body=body)


def check_domain(source: Path, questions: list[Question], domain: str) -> None:
    """Raise where a benchmark is of another domain than the one named."""
    others = sorted({question.domain for question in questions} - {domain})
    if others:
        raise InputError(
            f"{source} holds questions of domain {', '.join(others)}, not {domain}; "
            f"give --domain {others[0]}"
        )


def main() -> None:
    """The command line of the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True)
    parser.add_argument("--benchmark", type=Path, help="questions from this JSONL file")
    parser.add_argument(
        "--simulator", help="'replay' answers from the benchmark file's own published evidence"
    )
    parser.add_argument("--out", type=Path, help="folder for results instead of data/")
    arguments = parser.parse_args()
    project = find_project()
    params = load_stage_params(project, "answer")
    domain = arguments.domain
    if (arguments.benchmark is None) != (arguments.out is None):
        raise InputError("--benchmark and --out go together: data/ holds the pipeline's own outs")
    source = arguments.benchmark or project.results.benchmark(domain)
    questions = read_questions(source)
    check_domain(source, questions, domain)
    if arguments.simulator is None:
        simulator = simulator_choice(project, params, domain)
        seed = params.simulator(domain).seed
    else:
        replays = arguments.simulator == "replay"
        settings: dict[str, JsonValue] = {}
        if replays:
            settings = {"benchmark": str(source.resolve()), "domain": domain}
        simulator, seed = (arguments.simulator, settings), 0
    place = project.results if arguments.out is None else Results(arguments.out)
    run(
        project,
        params,
        domain,
        questions,
        simulator=simulator,
        seed=seed,
        out=place.answers(domain),
        export=place.calls(f"answer-{domain}"),
    )


if __name__ == "__main__":
    raise SystemExit(exits(main))
