"""Stage ``metrics``: every metric of one domain from its answers and labels; no call is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from flows.files import (
    read_frame,
    read_records,
    record_lines,
    write_bytes,
    write_frame,
    write_text,
)
from flows.project import Results, out
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from simulrag.judging.people import HumanLabel, majority_label
from simulrag.method.settings import MethodSettings
from simulrag.metrics.domain import DomainData, domain_data, labels_by_question
from simulrag.metrics.exports import Pricing, no_prices, pricing, read_export
from simulrag.metrics.families import measure
from simulrag.metrics.frames import LabelsOfQuestion
from simulrag.metrics.headline import Headline, headline
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import csv_of, frame_of
from simulrag.questions.records import read_templates
from simulrag.records import Answer, FinalClaims, Question
from simulrag.stage import Stage

CALLING = ("benchmark", "answer", "label")
"""The stages whose calls a domain's cost is counted from."""


def read_domain(
    place: Results,
    domain: str,
    settings: MetricSettings,
    method: MethodSettings,
    *,
    prices: Pricing = no_prices,
) -> DomainData:
    """Return a domain's outs, ready to be measured.

    Of ``method`` only ``claims_per_call`` is read.
    """
    human = place.human_labels
    # A run outside DVC has made no benchmark.
    paths = {stage: place.calls(f"{stage}-{domain}") for stage in CALLING}
    return domain_data(
        domain,
        settings,
        questions=record_lines(place.benchmark(domain), Question),
        answers=record_lines(place.answers(domain), Answer),
        finals=record_lines(place.final_claims(domain), FinalClaims),
        judge=read_labels(place.labels(domain)),
        templates=read_templates(place.templates(domain)),
        settled=majority_label(read_records(human, HumanLabel)) if human.is_file() else None,
        exported={stage: read_export(path) for stage, path in paths.items() if path.is_file()},
        pricing=prices,
        claims_per_call=method.claims_per_call,
    )


def read_labels(path: Path) -> Mapping[str, LabelsOfQuestion]:
    """Return the judge's labels by question and claim; texts and reasons stay on disk."""
    columns = ["question_id", "claim_hash", "label"]
    return labels_by_question(read_frame(path, "labels", columns).iter_rows())


async def make(context: StageContext) -> None:
    """Measure a domain's outs."""

    async def work() -> Headline:
        data = read_domain(
            context.place,
            context.item,
            context.params.metrics,
            context.params.answer,
            prices=pricing(context.project.prices),
        )
        return write_metrics(context.place, data)

    short = await context.tracker.step("measure", work)
    rows = [(name, "undefined" if value is None else value) for name, value in short.items()]
    text = titled_table(f"metrics of {context.item}", ("metric", "value"), rows)
    await context.tracker.markdown(
        context.name, text, f"The few metrics to watch {context.item} by"
    )


def write_metrics(place: Results, data: DomainData) -> Headline:
    """Write the frames of claims, the long table and the headline."""
    write_frame(place.metrics_claims(data.domain), data.claims)
    write_frame(place.metrics_finals(data.domain), data.finals)
    rows = measure(data)
    table = frame_of(rows)
    short = headline(table, data.settings)
    write_bytes(place.metrics_table(data.domain), csv_of(table))
    text = json.dumps(short, indent=2, allow_nan=False) + "\n"
    write_text(place.headline(data.domain), text)
    return short


STAGE = Stage(
    name="metrics",
    about="every metric of a domain, from its answers and labels",
    make=make,
    sections=("metrics", "answer.claims_per_call", "simulators.{item}"),
    reads=(
        out(Results.benchmark),
        out(Results.templates),
        out(Results.answers),
        out(Results.labels),
        out(Results.final_claims),
        "data/labels/human.jsonl",
        *(f"data/calls/{stage}-{{item}}.parquet" for stage in CALLING),
        "prices.yaml",
    ),
    makes=(
        out(Results.metrics_table),
        out(Results.metrics_claims),
        out(Results.metrics_finals),
    ),
    measures=(out(Results.headline),),
)
