"""Stage ``label``: every claim text of every answer judged once by the reference."""

from __future__ import annotations

from collections import Counter
from functools import partial

from flows.files import read_table, record_lines, write_records, write_table
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.sections import LabelParams
from flows.watch.tracking import titled_table
from simulrag.calls import asked_for
from simulrag.judging.claims import final_claims, label_claims, texts_to_label
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.records import Answer, FinalClaims, Label
from simulrag.stage import Outcome, Stage


async def make(context: StageContext) -> Outcome:
    """Label the answers that are complete; failed questions have nothing to label."""
    place, path = context.place, context.place.answers(context.item)
    questions = read_questions(context.benchmark)
    answers = list(answered_questions(record_lines(path, Answer), path, questions))
    pairs = [pair for pair in answers if pair.answer.failure is None]
    async with context.asking() as bench:
        made = await context.over(
            "label", pairs, partial(_label, settings=context.params.label), bench
        )
        finals = [final for of_answer, _ in made for final in of_answer]
        labels = [label for _, of_answer in made for label in of_answer]
        write_records(place.final_claims(context.item), finals)
        write_table(place.labels(context.item), labels, Label)
    results: list[Label | FinalClaims] = [*labels, *finals]
    failures = [item.failure for item in results]
    return Outcome(
        table=stage_table(context.item, labels, finals),
        counts={
            "questions with an answer": (len(pairs), len(answers)),
            "claims labelled": (sum(label.failure is None for label in labels), len(labels)),
        },
        done=failures.count(None),
        total=len(results),
        hints=tuple(sorted({failure for failure in failures if failure})[:2]),
    )


async def _label(
    bench: StageResources, pair: AnsweredQuestion, settings: LabelParams
) -> tuple[tuple[FinalClaims, ...], tuple[Label, ...]]:
    question, answer = pair
    with asked_for(question.question_id):
        finals = await final_claims(question, answer, bench.gateway)
        labels = await label_claims(
            question,
            texts_to_label(answer, finals),
            bench.gateway,
            settings.tolerance,
            claims_per_call=settings.claims_per_call,
        )
    return finals, labels


def stage_table(domain: str, labels: list[Label], finals: list[FinalClaims]) -> str:
    """Return the stage as Markdown."""
    counts = Counter(label.label for label in labels)
    failures = [(item.question_id, "label", item.failure) for item in labels if item.failure]
    failures += [(item.question_id, "decompose", item.failure) for item in finals if item.failure]
    rows = [(value or "failed", counts[value]) for value in ("true", "false", "undecided", None)]
    return titled_table(f"label {domain}", ("label", "claims"), rows, failures)


def failed(place: Results, domain: str) -> bool:
    """Tell whether a label or a decomposition failed."""
    labels, finals = place.labels(domain), place.final_claims(domain)
    if labels.is_file() and any(item.failure for item in read_table(labels, Label)):
        return True
    return finals.is_file() and any(item.failure for item in record_lines(finals, FinalClaims))


STAGE = Stage(
    name="label",
    about="every claim judged by the reference",
    make=make,
    role="judge",
    sections=("label",),
    reads=(out(Results.benchmark), out(Results.answers)),
    makes=(out(Results.labels), out(Results.final_claims)),
    failed=failed,
)
