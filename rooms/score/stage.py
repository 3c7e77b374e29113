"""Stage ``score``: the measures of SCORE of every method's answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from flows.files import record_lines, write_records
from flows.params import Params, unknown
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.score.desk import beside, open_desk
from rooms.score.records import AnswerToScore, ScoredAnswer, Variant, table_of
from rooms.score.scored import MEASURES, score_rows
from rooms.score.settings import ScoreParams
from rooms.score.variants import (
    VariantAnswers,
    answer_variant,
    calls_of,
    largest_finals,
    paraphrase,
    perturb,
    settings_of_variants,
)
from simulrag.errors import InputError
from simulrag.method.asking import both
from simulrag.method.recipes import final_kinds
from simulrag.metrics.table import Measurement, write_table
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.questions.records import Template, read_templates
from simulrag.records import Answer, AnswerVariant, FinalClaims
from simulrag.stage import Outcome, Stage


def file_of(place: Results, domain: str) -> Path:
    """Return the file of what models said of a domain's answers, and of the values."""
    return place.data / "score" / f"{domain}.jsonl"


async def make(at: StageContext) -> Outcome:
    """Score a domain's complete answers, every method's alike."""
    params, place, item = at.params, at.place, at.item
    score = params.room(ScoreParams)
    if odd := sorted({*score.methods, *score.varied} - set(final_kinds())):
        raise InputError(f"score.methods: {unknown('method', odd[0], list(final_kinds()))}")
    pairs = read_pairs(place.answers(item), at.benchmark)[: score.questions]
    finals = record_lines(place.final_claims(item), FinalClaims)
    claims = {
        (final.question_id, final.line): final.claims for final in finals if final.failure is None
    }
    templates = read_templates(place.templates(item))
    simulator = params.load_simulator(item, at.project.root)
    seed = params.simulator(item).seed
    async with (
        at.opened(simulator, seed) as bench,
        open_desk(at, bench, simulator) as desk,
    ):
        varied = pairs[: score.variants]
        vary = partial(_vary, templates=templates, seed=score.seed)
        # What waits for a batch keeps nothing from being asked that does not need it.
        variants = await bench.waiting.unless(at.over("vary", varied, vary, bench)) or []
        asked = [
            (pair, variant)
            for pair, both_of in zip(varied, variants, strict=False)
            for variant in both_of
        ]
        answers_at = beside(at, bench, "answers", "answer", simulator=simulator, seed=seed)
        async with answers_at as answering:
            answer = at.over("answer", asked, partial(_answer, params=params), answering)
            anew = await bench.waiting.unless(answer) or []
        items = [
            (given, number < score.context_use)
            for number, pair in enumerate(pairs)
            for given in givens(pair, claims, anew[2 * number : 2 * number + 2], score.varied)
            if not score.methods or given.method in score.methods
        ]
        scored = await at.over("score", items, desk.score, bench)
        write_records(file_of(place, item), scored)
    rows = list(score_rows(scored, params.metrics, item))
    write_table(table_of(place, item), rows)
    failures = [answer.reasons.get("answer") for answer in scored]
    return Outcome.of(_table(item, rows), "answers scored", failures)


def _table(domain: str, rows: Iterable[Measurement]) -> str:
    """Show the means as Markdown, a line a measure of a method."""
    shown = (
        (
            MEASURES[row.metric].title,
            row.method,
            "-" if row.value is None else f"{row.value:.3f}",
            row.n,
            "-" if row.coverage is None else f"{100 * row.coverage:.1f} %",
        )
        for row in rows
        if not row.baseline
    )
    return titled_table(
        f"score {domain}", ("measure", "method", "mean", "answers", "coverage"), shown
    )


def read_pairs(answers: Path, benchmark: Path) -> list[AnsweredQuestion]:
    """Read the complete answers of a file with their questions."""
    pairs = answered_questions(record_lines(answers, Answer), answers, read_questions(benchmark))
    return [pair for pair in pairs if pair.answer.failure is None]


def givens(
    pair: AnsweredQuestion,
    claims: Mapping[tuple[str, AnswerVariant], tuple[str, ...]],
    variants: Sequence[VariantAnswers] = (),
    varied: Sequence[str] = (),
) -> Iterator[AnswerToScore]:
    """Yield the answers to one question, one a method, with the method's to its variants.

    ``claims``: of final answers, by question and line. ``varied``: the methods that answered the
    variants; none named: all.
    """
    question = pair.question
    for method, final in largest_finals(pair.answer).items():
        again = [variant.of(method) for variant in variants if method in (varied or (method,))]
        yield AnswerToScore(
            question=question.text,
            answer=final.text,
            # The reference's runs where a benchmark has them: an answer may have asked for others.
            evidence=question.evidence or pair.answer.evidence,
            method=method,
            samples=final.line.samples,
            question_id=question.question_id,
            scenario_id=question.scenario_id,
            calls=calls_of(method, pair.answer),
            claims=claims.get((question.question_id, final.line)),
            paraphrased=again[0] if again else None,
            perturbed=again[1] if again else None,
            failure=final.failure,
        )


async def _vary(
    bench: StageResources, pair: AnsweredQuestion, templates: Mapping[str, Template], seed: int
) -> tuple[Variant, Variant]:
    question, ask = pair.question, bench.gateway
    template = templates.get(question.template_id or "")
    other = perturb(question, template, ask, bench.runs, seed=seed, simulator_seed=bench.seed)
    return await both(paraphrase(question, ask), other)


async def _answer(
    bench: StageResources, asked: tuple[AnsweredQuestion, Variant], params: Params
) -> VariantAnswers:
    pair, variant = asked
    settings = settings_of_variants(pair.answer, params)
    return await answer_variant(variant, pair.question, bench.backends, settings)


def failed(place: Results, domain: str) -> bool:
    """Return whether something of an answer could not be asked."""
    path = file_of(place, domain)
    return path.is_file() and any(answer.failures for answer in record_lines(path, ScoredAnswer))


STAGE = Stage(
    name="score",
    about="the measures of SCORE of every method's answers, without a reference",
    make=make,
    over="score.domains",
    role="judge",
    sections=("simulators.{item}", "score", "answer", "metrics", "llm.answer"),
    reads=(
        out(Results.simulator),
        out(Results.benchmark),
        out(Results.templates),
        out(Results.answers),
        out(Results.final_claims),
    ),
    makes=(out(file_of), out(table_of)),
    failed=failed,
)
