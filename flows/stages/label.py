"""Stage ``label``: every claim text of every answer judged once by the reference.

``python -m flows.stages.label --domain urban``; ``--benchmark FILE`` and ``--out DIR`` as for answers.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from flows.watch.artifacts import failure_lines, stage_costs
from flows.stages.cluster import Place, Workers, workers
from flows.files import check_folder, read_records, write_records, write_table
from flows.params import StageParams, load_stage_params
from flows.watch.progress import console, each
from flows.project import Project, Results, find_project
from flows.stages.bench import Workbench, check_coverage, chunks, exits, run_stage, workbench
from flows.watch.tracking import Tracker
from simulrag.questions.published import read_questions
from simulrag.errors import InputError
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.method.concurrency import together
from simulrag.records import Answer, FinalClaims, Label, Question


@dataclass(frozen=True)
class Outs:
    """Where the stage writes."""

    labels: Path
    finals: Path
    calls: Path


Pair = tuple[Question, Answer]
Labelled = tuple[tuple[FinalClaims, ...], tuple[Label, ...]]
Tolerance = Literal["rounding"] | float


def run(
    project: Project,
    params: StageParams,
    domain: str,
    pairs: list[Pair],
    outs: Outs,
) -> tuple[list[FinalClaims], list[Label]]:
    """Label the answers that are complete; failed questions have nothing to label.

    Raises SimulRAGError, after the outs are written, for too low a coverage.
    """
    name = f"label-{domain}"
    complete = [(question, answer) for question, answer in pairs if answer.failure is None]

    async def body(tracker: Tracker) -> list[Labelled]:
        made: list[Labelled] = []
        tracker.expect(len(complete))
        tolerance = params.label.tolerance
        async with (
            workbench(project, params, name, "judge", export=outs.calls) as bench,
            workers(Place(project, params, name, "judge"), bench) as there,
        ):

            async def here(part: list[Pair], span: str) -> None:
                done = await each(
                    f"label {span}",
                    part,
                    lambda pair: bench.waiting.unless(_label(pair, tolerance, bench)),
                    tracker.advance,
                )
                made.extend(item for item in done if item is not None)

            async def on_worker(part: list[Pair], workers: Workers) -> list[Labelled]:
                done = await workers.run(partial(_label_all, part, tolerance))
                for _ in done:
                    tracker.advance()
                return done

            spans = chunks(complete, params.operations.chunk)
            if there is None:
                for span, part in spans:
                    await tracker.step(f"label {span}", partial(here, part, span))
            else:
                worked = await together(
                    tracker.step(f"label {span}", partial(on_worker, part, there))
                    for span, part in spans
                )
                made += [item for part in worked for item in part]
            bench.waiting.check()
            write_records(outs.finals, [f for finals, _ in made for f in finals])
            write_table(outs.labels, [lb for _, labels in made for lb in labels], Label)
        labels = [label for _, part in made for label in part]
        finals = [final for part, _ in made for final in part]
        await tracker.markdown(name, stage_table(domain, labels, finals))
        counts = {
            "questions with an answer": (len(complete), len(pairs)),
            "claims labelled": (sum(lb.failure is None for lb in labels), len(labels)),
        }
        rows = stage_costs(project, bench.gateway, counts)
        await tracker.table(f"{name}-cost", rows, f"Coverage and cost of {name}")
        console.print(stage_table(domain, labels, finals), markup=False)
        results: list[Label | FinalClaims] = [*labels, *finals]
        reasons = sorted({item.failure for item in results if item.failure})
        done = sum(item.failure is None for item in results)
        check_coverage(name, done, len(results), params.operations, "; ".join(reasons[:2]))
        return made

    tags = [f"domain:{domain}", f"model:{params.model('judge').model}"]
    made = run_stage(project, params, "label", f"{name}-{len(complete)}q", tags, body=body)
    return [f for finals, _ in made for f in finals], [lb for _, part in made for lb in part]


async def _label(pair: Pair, tolerance: Tolerance, bench: Workbench) -> Labelled:
    question, answer = pair
    finals = await final_claims(question, answer, bench.gateway)
    texts = texts_to_label(answer, finals)
    return finals, await label_claims(question, texts, bench.gateway, tolerance)


async def _label_all(part: list[Pair], tolerance: Tolerance, bench: Workbench) -> list[Labelled]:
    """On a worker: a chunk."""
    return await together(_label(pair, tolerance, bench) for pair in part)


def stage_table(domain: str, labels: list[Label], finals: list[FinalClaims]) -> str:
    """The stage as Markdown."""
    lines = [f"## label {domain}", "", "| label | claims |", "| --- | --- |"]
    for value in ("true", "false", "undecided", None):
        lines.append(f"| {value or 'failed'} | {sum(lb.label == value for lb in labels)} |")
    failed = [(item.question_id, "label", item.failure) for item in labels if item.failure]
    failed += [(item.question_id, "decompose", item.failure) for item in finals if item.failure]
    lines += failure_lines(failed)
    return "\n".join(lines)


def main() -> None:
    """The command line of the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domain", required=True)
    parser.add_argument("--benchmark", type=Path, help="questions from this JSONL file")
    parser.add_argument("--out", type=Path, help="folder with the answers and for the results")
    arguments = parser.parse_args()
    project = find_project()
    params = load_stage_params(project, "label")
    domain = arguments.domain
    place = project.results if arguments.out is None else Results(arguments.out)
    source = arguments.benchmark or place.benchmark(domain)
    questions = {question.question_id: question for question in read_questions(source)}
    answers = read_records(place.answers(domain), Answer)
    strangers = [a.question_id for a in answers if a.question_id not in questions]
    if strangers:
        raise InputError(
            f"{place.answers(domain)} answers question {strangers[0]}, which is not in {source}; "
            "answers and benchmark must belong together"
        )
    pairs = [(questions[answer.question_id], answer) for answer in answers]
    check_folder(place.labels(domain).parent)
    outs = Outs(place.labels(domain), place.final_claims(domain), place.calls(f"label-{domain}"))
    run(project, params, domain, pairs, outs)


if __name__ == "__main__":
    raise SystemExit(exits(main))
