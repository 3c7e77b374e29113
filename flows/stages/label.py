"""Stage ``label``: every claim text of every answer judged once by the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from flows.files import check_folder, record_lines, write_records, write_table
from flows.params import load_params
from flows.project import Project, Results
from flows.sections import LabelParams
from flows.stages.bench import Bench, check_coverage, open_bench
from flows.stages.chunks import over_chunks
from flows.stages.cluster import BenchPlace, workers
from flows.watch.artifacts import failure_lines, show_stage
from flows.watch.tracking import Tracker, run_stage
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.questions.published import question_of, read_questions
from simulrag.records import Answer, FinalClaims, Label, Question


class Answered(NamedTuple):
    """A question and its answer."""

    question: Question
    answer: Answer


class Labelled(NamedTuple):
    """What was made of one answer."""

    finals: tuple[FinalClaims, ...]
    labels: tuple[Label, ...]


def run(
    project: Project, domain: str, *, benchmark: Path | None = None, out: Path | None = None
) -> None:
    """Label the answers that are complete; failed questions have nothing to label.

    ``benchmark`` and ``out``: as given to the answer stage. The outs are written before it returns;
    raises SimulRAGError after that for too low a coverage.
    """
    params = load_params(project.params)
    place = project.results if out is None else Results(out)
    questions = {q.question_id: q for q in read_questions(benchmark or place.benchmark(domain))}
    name = f"label-{domain}"
    check_folder(place.labels(domain).parent)
    total, complete = 0, 0
    for answer in record_lines(place.answers(domain), Answer):
        question_of(questions, answer, place.answers(domain))
        total += 1
        complete += answer.failure is None

    def pairs() -> Iterator[Answered]:
        for answer in record_lines(place.answers(domain), Answer):
            if answer.failure is None:
                yield Answered(questions[answer.question_id], answer)

    async def body(tracker: Tracker) -> None:
        tracker.expect(complete)
        async with (
            open_bench(project, params, name, "judge", export=place.calls(name)) as bench,
            workers(BenchPlace(project, params, name, "judge"), bench) as there,
        ):
            made = [
                labelled
                async for labelled in over_chunks(
                    "label",
                    pairs(),
                    partial(_label, settings=params.label),
                    bench=bench,
                    tracker=tracker,
                    chunk=params.operations.chunk,
                    workers=there,
                )
            ]
            bench.waiting.check()
            finals = [final for one in made for final in one.finals]
            labels = [label for one in made for label in one.labels]
            write_records(place.final_claims(domain), finals)
            write_table(place.labels(domain), labels, Label)
        counts = {
            "questions with an answer": (complete, total),
            "claims labelled": (sum(label.failure is None for label in labels), len(labels)),
        }
        text = stage_table(domain, labels, finals)
        await show_stage(tracker, project, bench.gateway, name, text, counts)
        results: list[Label | FinalClaims] = [*labels, *finals]
        failures = [_failure(item) for item in results]
        reasons = sorted({failure for failure in failures if failure})
        done = failures.count(None)
        check_coverage(name, done, len(results), params.operations, "; ".join(reasons[:2]))

    tags = [f"domain:{domain}", f"model:{params.model('judge').model}"]
    run_stage(project, params, "label", f"{name}-{complete}q", tags, body=body)


async def _label(bench: Bench, pair: Answered, settings: LabelParams) -> Labelled:
    finals = await final_claims(
        pair.question, pair.answer, bench.gateway, subjects=settings.subjects
    )
    labels = await label_claims(
        pair.question,
        texts_to_label(pair.answer, finals),
        bench.gateway,
        settings.tolerance,
        claims_per_call=settings.claims_per_call,
    )
    return Labelled(finals, labels)


def _failure(item: Label | FinalClaims) -> str | None:
    """Why a record is not whole."""
    if isinstance(item, FinalClaims):
        return item.failure or item.subjects_failure
    return item.failure


def stage_table(domain: str, labels: list[Label], finals: list[FinalClaims]) -> str:
    """The stage as Markdown."""
    lines = [f"## label {domain}", "", "| label | claims |", "| --- | --- |"]
    counts = Counter(label.label for label in labels)
    lines += [
        f"| {value or 'failed'} | {counts[value]} |"
        for value in ("true", "false", "undecided", None)
    ]
    failed = [(item.question_id, "label", item.failure) for item in labels if item.failure]
    failed += [(item.question_id, "decompose", item.failure) for item in finals if item.failure]
    failed += [
        (item.question_id, "group", item.subjects_failure)
        for item in finals
        if item.subjects_failure
    ]
    lines += failure_lines(failed)
    return "\n".join(lines)
