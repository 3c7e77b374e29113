"""Stage ``score``: the measures of SCORE of every method's answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from flows.files import record_lines, write_records
from flows.params import Params
from flows.project import Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.artifacts import titled_table
from rooms.score.desk import beside, open_desk
from rooms.score.measures import MEASURES
from rooms.score.records import AnswerToScore, ScoredAnswer, Variant, table_of
from rooms.score.scored import score_rows
from rooms.score.settings import ScoreParams
from rooms.score.variants import paraphrase, perturb
from simulrag.method.asking import both
from simulrag.method.recipes import answer_question
from simulrag.metrics.table import Measurement, write_table
from simulrag.questions.published import AnsweredQuestion, answered_questions, read_questions
from simulrag.questions.records import Template, read_templates
from simulrag.records import Answer, AnswerVariant, FinalClaims, FinalText, ToolCall
from simulrag.stage import Outcome, Stage

Anew = tuple[Variant, dict[str, Variant]]
"""A variant of a question, and by method its answer."""


def file_of(place: Results, domain: str) -> Path:
    """What models said of a domain's answers, and the values."""
    return place.data / "score" / f"{domain}.jsonl"


async def make(at: StageContext) -> Outcome:
    """Score a domain's complete answers, every method's alike."""
    params, place, item = at.params, at.place, at.item
    score = params.room(ScoreParams)
    pairs = read_pairs(place.answers(item), at.benchmark)[: score.questions]
    finals = record_lines(place.final_claims(item), FinalClaims)
    claims = {(one.question_id, one.line): one.claims for one in finals if one.failure is None}
    templates = read_templates(place.templates(item))
    simulator = params.load_simulator(item, at.project.root)
    seed = params.simulator(item).seed
    async with (
        at.opened(simulator, seed) as bench,
        open_desk(at, bench, simulator) as desk,
    ):
        at.bench = bench
        varied = pairs[: score.variants]
        vary = partial(_vary, templates=templates, seed=score.seed)
        # What waits for a batch keeps nothing from being asked that does not need it.
        variants = await bench.waiting.unless(at.over("vary", varied, vary, bench)) or []
        asked = [(pair, one) for pair, two in zip(varied, variants, strict=False) for one in two]
        answers_at = beside(at, bench, "answers", "answer", simulator=simulator, seed=seed)
        async with answers_at as answering:
            answer = at.over("answer", asked, partial(_answer, params=params), answering)
            anew = await bench.waiting.unless(answer) or []
        items = [
            (given, number < score.context_use)
            for number, pair in enumerate(pairs)
            for given in givens(pair, claims, anew[2 * number : 2 * number + 2])
            if not score.methods or given.method in score.methods
        ]
        found = await at.over("score", items, desk.score, bench)
        write_records(file_of(place, item), found)
    rows = list(score_rows(found, params.metrics, item))
    write_table(table_of(place, item), rows)
    failures = [one.reasons.get("answer") for one in found]
    return Outcome.of(_table(item, rows), "answers scored", failures)


def _table(domain: str, rows: Iterable[Measurement]) -> str:
    """The means as Markdown, a line a measure of a method."""
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
    """The complete answers of a file with their questions."""
    pairs = answered_questions(record_lines(answers, Answer), answers, read_questions(benchmark))
    return [pair for pair in pairs if pair.answer.failure is None]


def givens(
    pair: AnsweredQuestion,
    claims: Mapping[tuple[str, AnswerVariant], tuple[str, ...]],
    anew: Sequence[Anew] = (),
) -> Iterator[AnswerToScore]:
    """The answers to one question, one a method, with the same method's answers to its variants.

    ``claims``: of final answers, by question and line.
    """
    question = pair.question
    for method, final in _largest(pair.answer).items():
        again = [by_method.get(method, plain) for plain, by_method in anew]
        yield AnswerToScore(
            question=question.text,
            answer=final.text,
            # The reference's runs where a benchmark has them: an answer may have asked for others.
            evidence=question.evidence or pair.answer.evidence,
            method=method,
            samples=final.line.samples,
            question_id=question.question_id,
            scenario_id=question.scenario_id,
            calls=_calls(method, pair.answer),
            claims=claims.get((question.question_id, final.line)),
            paraphrased=again[0] if again else None,
            perturbed=again[1] if again else None,
            failure=final.failure,
        )


def _largest(answer: Answer) -> dict[str, FinalText]:
    """Of each method the answer of most samples, at its largest budget, with kappa."""
    best = {one.line.method: one for one in sorted(answer.finals, key=lambda one: one.line.size)}
    order = dict.fromkeys(final.line.method for final in answer.finals)
    return {method: best[method] for method in order}


def _calls(method: str, answer: Answer) -> tuple[ToolCall, ...]:
    return () if method == "closed_book" else tuple(item.call for item in answer.evidence)


async def _vary(
    bench: StageResources, pair: AnsweredQuestion, templates: Mapping[str, Template], seed: int
) -> tuple[Variant, Variant]:
    question, ask = pair.question, bench.gateway
    template = templates.get(question.template_id or "")
    other = perturb(question, template, ask, bench.runs, seed=seed, simulator_seed=bench.seed)
    return await both(paraphrase(question, ask), other)


async def _answer(
    bench: StageResources, asked: tuple[AnsweredQuestion, Variant], params: Params
) -> Anew:
    """A variant's answers: at the largest budget, with the kappa of the question's own answer."""
    pair, again = asked
    if again.failure is not None:
        return again, {}
    less = {"final_budgets_percent": params.answer.final_budgets_percent[-1:]}
    kappa = pair.answer.final.line.kappa
    own = {**less, "without_kappa": False, "verbalized": False, "kappa": kappa}
    if methods := params.room(ScoreParams).methods:
        own["baselines"] = any(name.endswith("_rag") for name in methods)
    question = pair.question.model_copy(update={"text": again.question})
    settings = params.answer.model_copy(update=own)
    answer = await answer_question(question, bench.backends, settings)
    if answer.failure is not None:
        return again.model_copy(update={"failure": answer.failure.reason}), {}
    return again.model_copy(update={"failure": "this method did not answer it"}), {
        method: again.model_copy(
            update={
                "answer": final.text,
                "calls": _calls(method, answer),
                "failure": final.failure,
            }
        )
        for method, final in _largest(answer).items()
    }


def failed(place: Results, domain: str) -> bool:
    """Whether something of an answer could not be asked."""
    path = file_of(place, domain)
    return path.is_file() and any(one.failures for one in record_lines(path, ScoredAnswer))


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
