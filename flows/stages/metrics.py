"""Stage ``metrics``: every metric of one domain from its answers and labels; no call is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flows.files import read_records, record_lines, write_bytes, write_text
from flows.project import CALLING_STAGES, Project, Results
from simulrag.errors import InputError
from simulrag.judging.people.labels import settle
from simulrag.method.settings import MethodSettings
from simulrag.metrics.data import DomainData
from simulrag.metrics.exports import read_export
from simulrag.metrics.gather import collect
from simulrag.metrics.headline import Headline, headline
from simulrag.metrics.money import Pricing, no_prices, pricing
from simulrag.metrics.pool import LabelRow, label_lookup
from simulrag.metrics.recipes import csv_of_recipes, recipes_of
from simulrag.metrics.registry import measure
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import csv_of, frame_of
from simulrag.questions.open.records import Template
from simulrag.records import Answer, FinalClaims, HumanLabel, Question

if TYPE_CHECKING:
    from flows.watch.tracking import Tracker


def read_domain(
    place: Results,
    domain: str,
    settings: MetricSettings,
    method: MethodSettings,
    *,
    benchmark: Path | None = None,
    prices: Pricing = no_prices,
) -> DomainData:
    """What is counted of a domain's outs, streamed from their files.

    ``benchmark``: another file of questions. Of ``method`` only ``claims_per_call`` and ``merging``
    are read.
    """
    human = place.human_labels

    # A run outside DVC has made no benchmark.
    paths = {stage: place.calls(f"{stage}-{domain}") for stage in CALLING_STAGES}
    return collect(
        domain,
        settings,
        questions=record_lines(benchmark or place.benchmark(domain), Question),
        answers=record_lines(place.answers(domain), Answer),
        finals=record_lines(place.final_claims(domain), FinalClaims),
        judge=label_lookup(_labels(place.labels(domain))),
        templates=read_templates(place.templates(domain)),
        settled=settle(read_records(human, HumanLabel)) if human.is_file() else None,
        exported={stage: read_export(path) for stage, path in paths.items() if path.is_file()},
        pricing=prices,
        claims_per_call=method.claims_per_call,
        merging=method.merging,
    )


def read_templates(path: Path) -> dict[str, Template]:
    """The templates of generated questions by id; none of published or imported ones.

    What a template holds besides, such as a set-up, is no asked value and is left out.
    """
    if not path.is_file():
        return {}
    known = Template.model_fields
    try:
        found = [
            Template.model_validate({name: item[name] for name in item if name in known})
            for item in json.loads(path.read_bytes())
        ]
    except (ValueError, TypeError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a file of templates: {first}") from None
    return {template.template_id: template for template in found}


def _labels(path: Path) -> Iterator[LabelRow]:
    """Question, claim and label: texts and reasons stay on disk."""
    import polars as pl

    if not path.is_file():
        raise InputError(f"{path} is not there; run `dvc repro` to make it")
    try:
        frame = pl.read_parquet(path, columns=["question_id", "claim_hash", "label"])
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a table of labels: {first}") from None
    yield from frame.iter_rows()


def run(
    project: Project, domain: str, *, benchmark: Path | None = None, out: Path | None = None
) -> None:
    """Measure a domain's outs, or those in ``out`` of a file's questions.

    Writes DOMAIN.csv and DOMAIN.json before it returns.
    """
    from flows.params import load_params
    from flows.watch.tracking import run_stage

    params = load_params(project.params)
    where = project.results if out is None else Results(out)

    async def body(tracker: Tracker) -> Headline:
        async def work() -> Headline:
            prices = pricing(project.prices)
            data = read_domain(
                where, domain, params.metrics, params.answer, benchmark=benchmark, prices=prices
            )
            return write_metrics(where.metrics, data)

        short = await tracker.step("measure", work)
        await tracker.markdown(f"metrics-{domain}", headline_table(domain, short))
        return short

    tags = [f"domain:{domain}"]
    run_stage(project, params, "metrics", f"metrics-{domain}", tags, body=body)


def write_metrics(folder: Path, data: DomainData) -> Headline:
    """The long table as ``DOMAIN.csv``, recipes as ``DOMAIN-recipes.csv``, and ``DOMAIN.json``."""
    rows = measure(data)
    table = frame_of(rows)
    recipes = csv_of_recipes(recipes_of(rows, data.settings.undecided))
    write_text(folder / f"{data.domain}-recipes.csv", recipes)
    short = headline(table, data.settings)
    write_bytes(folder / f"{data.domain}.csv", csv_of(table))
    text = json.dumps(short, indent=2, allow_nan=False) + "\n"
    write_text(folder / f"{data.domain}.json", text)
    return short


def headline_table(domain: str, short: Headline) -> str:
    """The headline as Markdown."""
    rows = [
        f"| {key} | {'undefined' if value is None else value} |" for key, value in short.items()
    ]
    return "\n".join([f"## metrics of {domain}", "", "| metric | value |", "| --- | --- |", *rows])
