"""Stage ``metrics``: every table of the evaluation from answers and labels; no call is made.

``python -m flows.stages.metrics`` takes the domains of params.yaml; with ``--benchmark FILE --domain D
--out DIR`` it measures the answers and labels that other stages put into that folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import polars as pl
from rich.console import Console

from flows.files import read_records, read_table, write_bytes, write_text
from flows.params import StageParams, load_stage_params
from flows.project import Project, Results, find_project
from flows.stages.bench import run_stage
from flows.watch.progress import console
from flows.watch.tracking import Tracker
from simulrag.errors import InputError
from simulrag.metrics.money import stage_costs
from simulrag.metrics.names import FIGURE_METRICS
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.summary import Summary, headline
from simulrag.metrics.tables import COLUMNS, Tables, column_types, curves, evaluate
from simulrag.models.prices import PriceTable, read_prices
from simulrag.questions.published import read_questions
from simulrag.records import Answer, FinalClaims, HumanLabel, Label, Question
from simulrag.report.terminal import terminal_table

CSV = tuple(COLUMNS)
CALLING = ("benchmark", "answer", "label")
"""The stages that call models."""


def measure(
    place: Results,
    domains: dict[str, list[Question]],
    settings: MetricSettings,
    prices: PriceTable,
) -> Tables:
    """The tables over some domains' outs."""
    spending: list[dict[str, object]] = []
    answers: list[Answer] = []
    labels: list[Label] = []
    finals: list[FinalClaims] = []
    scenario_of: dict[str, str] = {}
    for domain, questions in domains.items():
        answers += read_records(place.answers(domain), Answer)
        labels += read_table(place.labels(domain), Label)
        finals += read_records(place.final_claims(domain), FinalClaims)
        for stage in CALLING:
            export = place.calls(f"{stage}-{domain}")
            if export.is_file():  # a run outside DVC has made no benchmark
                spending += stage_costs(domain, stage, export, prices)
        scenario_of |= {question.question_id: question.scenario_id for question in questions}
    path = place.human_labels
    human = read_records(path, HumanLabel) if path.is_file() else []
    strangers = sum(one.question_id not in scenario_of for one in human)
    if strangers:
        console.print(
            f"human labels of questions that this run does not have: {strangers}; they count "
            "nowhere",
            markup=False,
        )
    asked = [question for questions in domains.values() for question in questions]
    return evaluate(
        answers,
        labels,
        finals,
        scenario_of,
        settings,
        human=human,
        questions=asked,
        spending=spending,
    )


def write_tables(folder: Path, tables: Tables) -> None:
    """One CSV a table, one a domain's curves, summary.json, and a file a domain for DVC."""
    for name in CSV:
        write_bytes(folder / f"{name}.csv", _csv(getattr(tables, name)))
    for domain in tables.domains:
        for metric in FIGURE_METRICS:
            frame = curves(tables, domain, metric)
            write_bytes(folder / f"curves-{metric}-{domain}.csv", _csv(frame))
        line = headline(tables.summary, domain, tables.settings.headline_budget)
        write_text(folder / f"{domain}.json", _json(line))
    write_text(folder / "summary.json", _json(tables.summary))


def read_tables(folder: Path, settings: MetricSettings) -> Tables:
    """The tables as ``write_tables`` wrote them."""
    files = [folder / "summary.json", *(folder / f"{name}.csv" for name in CSV)]
    if not all(file.is_file() for file in files):
        raise InputError(f"{folder} does not hold all metrics; run `dvc repro` to make them")
    frames = {name: pl.read_csv(folder / f"{name}.csv", schema=column_types(name)) for name in CSV}
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return Tables(**frames, summary=summary, settings=settings)


def run(
    project: Project, params: StageParams, place: Results, domains: dict[str, list[Question]]
) -> Tables:
    """The stage; writes the tables before it returns."""

    prices = read_prices(project.prices)

    async def body(tracker: Tracker) -> Tables:
        made: list[Tables] = []

        async def work() -> None:
            made.append(measure(place, domains, params.metrics, prices))
            write_tables(place.metrics, made[0])

        await tracker.step("measure", work)
        await tracker.markdown("metrics", stage_table(made[0]))
        return made[0]

    tags = [f"domain:{domain}" for domain in domains]
    return run_stage(project, params, "metrics", "metrics-" + "-".join(domains), tags, body=body)


def stage_table(tables: Tables) -> str:
    """The summary as Markdown."""
    rows = [
        f"| {key} | {'undefined' if value is None else value} |"
        for key, value in tables.summary.items()
    ]
    return "\n".join(["## metrics", "", "| metric | value |", "| --- | --- |", *rows])


def _json(values: Summary) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def chosen(
    description: str, project: Project, params: StageParams
) -> tuple[Results, dict[str, list[Question]]]:
    """The results folder and the questions by domain that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--benchmark", type=Path, help="questions from this JSONL file")
    parser.add_argument("--domain", help="the file's domain, instead of all of params.yaml")
    parser.add_argument("--out", type=Path, help="folder that the other stages wrote into")
    given = parser.parse_args()
    named = [given.benchmark, given.domain, given.out]
    if any(named) and not all(named):
        raise InputError("--benchmark, --domain and --out go together")
    if all(named):
        return Results(given.out), {given.domain: read_questions(given.benchmark)}
    place = project.results
    return place, {name: read_questions(place.benchmark(name)) for name in params.domains}


def main() -> None:
    """The command line of the stage."""
    project = find_project()
    params = load_stage_params(project, "metrics")
    tables = run(project, params, *chosen(__doc__ or "", project, params))
    Console().print(terminal_table(tables))
