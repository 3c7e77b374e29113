"""Stage ``forms_metrics``: the measures of answers by form; a judge sees the freeform ones."""

from __future__ import annotations

from functools import partial

from flows.files import read_records, write_records
from flows.params import Params
from flows.project import out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.artifacts import titled_table
from rooms.forms import places
from rooms.forms.entailment import ALTERNATIVES, FORMS_ENTAIL, Factual, judge
from rooms.forms.published import read_forms
from rooms.forms.records import FAMILY, OVERALL, FormAnswer, Formed, FormScore
from rooms.forms.scores import scored
from rooms.forms.settings import FormsParams
from rooms.forms.similarity import TextEncoder
from rooms.forms.tables import measured
from simulators.base import MissingEngineError
from simulators.library.encoder import NAME, Encoder
from simulrag.errors import InputError
from simulrag.metrics.table import Measurement, write_table
from simulrag.models.base import Sampling
from simulrag.stage import Outcome, Stage

Pair = tuple[Formed, FormAnswer]


async def make(at: StageContext) -> Outcome:
    """Measure the answers of a source: a line an answer, and the long table."""
    at.params = judging(at.params)
    place, path = at.place, places.answers(at.place, at.item)
    questions = {one.question_id: one for one in read_forms(places.benchmark(place, at.item))}
    answers = read_records(path, FormAnswer)
    if lost := [one.question_id for one in answers if one.question_id not in questions]:
        raise InputError(f"{path} answers '{lost[0]}', which is no question of {at.item}")
    pairs = [(questions[one.question_id], one) for one in answers]
    judged = {i: pair for i, pair in enumerate(pairs) if to_judge(pair)}
    encoder = _encoder(at.params)
    async with at.asking(here=True) as bench:
        ask = partial(work, params=at.params)
        found = await at.over("judge", judged.values(), ask, bench)
    scores = scored(pairs, dict(zip(judged, found, strict=True)), encoder)
    rows = table(at.item, scores, at.params)
    write_records(places.scores(place, at.item), scores)
    write_table(places.metrics(place, at.item), rows)
    told = sum(one.p_supports is not None for one in found)
    return Outcome(
        table=stage_table(at.item, rows),
        counts={"answers judged": (told, len(found))},
        done=len(found),  # what the judge could not say is a reason in the table
        total=len(found),
    )


def judging(params: Params) -> Params:
    """The parameters with the judge's sampling as the variant of factual accuracy needs it."""
    judge_settings, variant = params.model("judge"), params.room(FormsParams).metrics.factual
    if variant != "logprobs":
        return params
    name, wanted = FORMS_ENTAIL.name, {"top_logprobs": ALTERNATIVES}
    own = judge_settings.tasks.get(name, Sampling()).model_dump(exclude_unset=True)
    tasks = {**judge_settings.tasks, name: Sampling.model_validate({**wanted, **own})}
    changed = {"judge": judge_settings.model_copy(update={"tasks": tasks})}
    return params.model_copy(update={"llm": params.llm.model_copy(update=changed)})


def to_judge(pair: Pair) -> bool:
    """Whether factual accuracy is of this answer."""
    return pair[0].form == "freeform" and pair[1].failure is None


async def work(bench: StageResources, pair: Pair, params: Params) -> Factual:
    """Factual accuracy of one answer."""
    wanted = params.room(FormsParams).metrics
    return await judge(
        pair[0].text,
        pair[0].answer_text,
        pair[1].answer,
        bench.gateway,
        wanted.factual,
        wanted.min_label_mass,
    )


def table(source: str, scores: list[FormScore], params: Params) -> list[Measurement]:
    """The long table's rows, with the encoder's and the evaluator's names in those of metrics."""
    wanted, evaluator = params.room(FormsParams).metrics, params.model("judge").model
    how = f"{evaluator}, stated" if wanted.factual == "stated" else evaluator
    names = {name: f"{name}[{NAME}]" for name in ("bertscore", "ps")}
    names |= {name: f"{name}[{how}]" for name in ("fa", "p_supports", "label_mass")}
    draws = {"bootstrap": params.metrics.bootstrap, "seed": params.metrics.seed}
    return list(measured(source, scores, names=names, **draws))


def _encoder(params: Params) -> TextEncoder | str:
    """The encoder, or why there is none."""
    if not params.room(FormsParams).metrics.encoder:
        return "not asked for (forms.metrics.encoder: false)"
    try:
        return Encoder()
    except MissingEngineError as error:
        return str(error)


def stage_table(source: str, rows: list[Measurement]) -> str:
    """The overall values as Markdown."""
    overall = [
        (row.metric, row.method, row.reason if row.value is None else f"{row.value:.3f}", row.n)
        for row in rows
        if (row.family, row.level) == (FAMILY, OVERALL)
    ]
    return titled_table(f"forms_metrics {source}", ("metric", "condition", "value", "n"), overall)


STAGE = Stage(
    name="forms_metrics",
    about="the measures of answers by form",
    make=make,
    over="forms.sources",
    each="source",
    role="judge",
    sections=("forms.metrics", "metrics"),
    reads=(out(places.benchmark), out(places.answers)),
    makes=(out(places.scores), out(places.metrics)),
)
