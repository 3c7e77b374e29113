"""Stage ``answer``: a recipe over a benchmark.

All questions are drafted, then the budgets are spent over them, then each is concluded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from flows.files import record_lines, write_records
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import little_checked, titled_table
from simulrag.calls import asked_for
from simulrag.method.recipes import recipe_of
from simulrag.method.settings import MethodSettings
from simulrag.questions.published import check_domain, read_questions
from simulrag.records import Answer, Question, Selection
from simulrag.stage import Outcome, Stage


async def make(context: StageContext) -> Outcome:
    """Answer a domain's questions."""
    questions = read_questions(context.benchmark)
    check_domain(context.benchmark, questions, context.item)
    settings = context.params.answer
    context.tracker.expect(2 * len(questions))
    async with context.asking(*context.chosen()) as bench:
        drafts = await context.over("draft", questions, partial(_draft, settings=settings), bench)
        choices = recipe_of(settings.method).choose(drafts, settings)
        rows = zip(questions, drafts, choices, strict=True)
        answers = await context.over("conclude", rows, partial(_conclude, settings=settings), bench)
        write_records(context.place.answers(context.item), answers)
    failures = [answer.failure.reason if answer.failure is not None else None for answer in answers]
    answered = Outcome.of(stage_table(context.item, answers), "questions answered", failures)
    through = [answer for answer in answers if answer.failure is None]
    with_evidence = sum(bool(answer.evidence) for answer in through)
    checked = sum(answer.verified for answer in through)
    counts = {"questions answered with evidence": (with_evidence, len(answers))}
    least = context.params.operations.min_coverage
    warning = little_checked(checked, with_evidence, answered.done, least)
    return replace(answered, counts=counts, warning=warning)


async def _draft(bench: StageResources, question: Question, settings: MethodSettings) -> Answer:
    with asked_for(question.question_id):
        return await recipe_of(settings.method).draft(question, bench.backends, settings)


async def _conclude(
    bench: StageResources,
    row: tuple[Question, Answer, tuple[Selection, ...]],
    settings: MethodSettings,
) -> Answer:
    question, drafted, choices = row
    with asked_for(question.question_id):
        recipe = recipe_of(settings.method)
        return await recipe.conclude(question, drafted, choices, bench.backends, settings)


def stage_table(domain: str, answers: Sequence[Answer]) -> str:
    """Return the stage as Markdown: what came through, what did not and why."""
    answered = [answer for answer in answers if answer.failure is None]
    failed = (step.step.replace("_", " ") for answer in answered for step in answer.failed_steps)
    without = Counter(f"answered, but {step} failed" for step in failed)
    rows = [
        ("questions", len(answers)),
        ("answered", len(answered)),
        ("answered without evidence", sum(not answer.evidence for answer in answered)),
        ("answered without a verified claim", sum(not answer.verified for answer in answered)),
        *without.items(),
        ("claims", sum(len(answer.claims) for answer in answers)),
        ("model calls used", sum(u.calls for answer in answers for u in answer.usage.values())),
        ("simulator runs used", sum(answer.simulator_runs for answer in answers)),
    ]
    failures = [
        (answer.question_id, answer.failure.step, answer.failure.reason)
        for answer in answers
        if answer.failure is not None
    ]
    return titled_table(f"answer {domain}", ("what", "count"), rows, failures)


def failed(place: Results, domain: str) -> bool:
    """Tell whether an answer holds a failure."""
    path = place.answers(domain)
    return path.is_file() and any(map(holds_failure, record_lines(path, Answer)))


def holds_failure(answer: Answer) -> bool:
    """Tell of a failed question, step or text beside it, or a claim whose verification failed."""
    return (
        answer.failure is not None
        or bool(answer.failed_steps)
        or any(c.verdict is not None and c.verdict.status == "error" for c in answer.claims)
        or any(text.failure is not None for text in answer.baselines)
    )


STAGE = Stage(
    name="answer",
    about="every question answered by the method, and by what it is compared with",
    make=make,
    role="answer",
    sections=("simulators.{item}", "answer"),
    reads=(out(Results.simulator), out(Results.benchmark)),
    makes=(out(Results.answers),),
    failed=failed,
)
