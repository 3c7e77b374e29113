"""Stage ``forms_metrics``: the measures of answers by form; a judge sees the freeform ones."""

from __future__ import annotations

from functools import partial

from flows.files import check_folder, read_records, write_records
from flows.params import Params, load_params
from flows.project import Project
from flows.stages.bench import Bench, open_bench
from flows.stages.chunks import over_chunks
from flows.watch.artifacts import show_stage
from flows.watch.tracking import Tracker, run_stage
from simulators.base import MissingEngineError
from simulators.library.encoder import NAME, Encoder
from simulrag.errors import InputError
from simulrag.judging.entailment import ALTERNATIVES, TASK, Factual, judge
from simulrag.metrics.forms.found import FAMILY, OVERALL, FormScore
from simulrag.metrics.forms.scores import scored
from simulrag.metrics.forms.similarity import TextEncoder
from simulrag.metrics.forms.tables import measured
from simulrag.metrics.table import Measurement, write_table
from simulrag.models.base import Sampling
from simulrag.questions.forms.published import read_forms
from simulrag.questions.forms.records import FormAnswer, Formed

Pair = tuple[Formed, FormAnswer]


def run(project: Project, source: str) -> None:
    """Measure the answers of a source: a line an answer, and the long table."""
    params, place = judging(load_params(project.params)), project.results
    name, path = f"forms_metrics-{source}", place.forms_answers(source)
    questions = {one.question_id: one for one in read_forms(place.forms_benchmark(source))}
    answers = read_records(path, FormAnswer)
    if lost := [one.question_id for one in answers if one.question_id not in questions]:
        raise InputError(f"{path} answers '{lost[0]}', which is no question of {source}")
    pairs = [(questions[one.question_id], one) for one in answers]
    judged = {i: pair for i, pair in enumerate(pairs) if to_judge(pair)}
    encoder = _encoder(params)
    check_folder(place.forms(source))

    async def body(tracker: Tracker) -> None:
        tracker.expect(len(judged))
        async with open_bench(*(project, params, name, "judge"), export=place.calls(name)) as bench:
            found = [
                one
                async for one in over_chunks(
                    "judge",
                    judged.values(),
                    partial(work, params=params),
                    bench=bench,
                    tracker=tracker,
                    chunk=params.operations.chunk,
                )
            ]
            bench.waiting.check()
        scores = scored(pairs, dict(zip(judged, found, strict=True)), encoder)
        rows = table(source, scores, params)
        write_records(place.forms_scores(source), scores)
        write_table(place.forms_metrics(source), rows)
        told = sum(one.p_supports is not None for one in found)
        text, counts = stage_table(source, rows), {"answers judged": (told, len(found))}
        await show_stage(tracker, project, bench.gateway, name, text, counts)

    tags = [f"source:{source}", f"model:{params.model('judge').model}"]
    run_stage(project, params, "forms_metrics", name, tags, body=body)


def judging(params: Params) -> Params:
    """The parameters with the judge's sampling as the variant of factual accuracy needs it."""
    judge_settings, variant = params.model("judge"), params.forms.metrics.factual
    if variant == "off":
        return params
    # Sampled replies differ by the provider's own temperature, whatever the judge's other tasks do.
    wanted = {"top_logprobs": ALTERNATIVES} if variant == "logprobs" else {"temperature": None}
    own = judge_settings.tasks.get(TASK.name, Sampling()).model_dump(exclude_unset=True)
    tasks = {**judge_settings.tasks, TASK.name: Sampling.model_validate({**wanted, **own})}
    changed = {"judge": judge_settings.model_copy(update={"tasks": tasks})}
    return params.model_copy(update={"llm": params.llm.model_copy(update=changed)})


def to_judge(pair: Pair) -> bool:
    """Whether factual accuracy is of this answer."""
    return pair[0].form == "freeform" and pair[1].failure is None


async def work(bench: Bench, pair: Pair, params: Params) -> Factual:
    """Factual accuracy of one answer."""
    wanted = params.forms.metrics
    return await judge(
        *(pair[0].answer_text, pair[1].answer, bench.gateway),
        *(wanted.factual, wanted.samples, wanted.min_label_mass),
    )


def table(source: str, scores: list[FormScore], params: Params) -> list[Measurement]:
    """The long table's rows, with the encoder's and the evaluator's names in those of metrics."""
    wanted, evaluator = params.forms.metrics, params.model("judge").model
    how = f"{evaluator}, sampled {wanted.samples}" if wanted.factual == "sampled" else evaluator
    names = {name: f"{name}[{NAME}]" for name in ("bertscore", "ps")}
    names |= {name: f"{name}[{how}]" for name in ("fa", "p_supports", "label_mass")}
    draws = {"bootstrap": params.metrics.bootstrap, "seed": params.metrics.seed}
    return list(measured(source, scores, names=names, **draws))


def _encoder(params: Params) -> TextEncoder | str:
    """The encoder, or why there is none."""
    if not params.forms.metrics.encoder:
        return "not asked for (forms.metrics.encoder: false)"
    try:
        return Encoder()
    except MissingEngineError as error:
        return str(error)


def stage_table(source: str, rows: list[Measurement]) -> str:
    """The overall values as Markdown."""
    lines = [f"## forms_metrics {source}", "", "| metric | condition | value | n |"]
    lines.append("| --- | --- | --- | --- |")
    for row in rows:
        if (row.family, row.level) == (FAMILY, OVERALL):
            value = row.reason if row.value is None else f"{row.value:.3f}"
            lines.append(f"| {row.metric} | {row.method} | {value} | {row.n} |")
    return "\n".join(lines)
