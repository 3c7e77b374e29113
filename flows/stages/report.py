"""Stage ``report``: one HTML file from the metrics, the answers and the labels; no call is made.

``python -m flows.stages.report``; with ``--benchmark FILE --domain D --out DIR`` as for metrics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from flows.files import check_folder, read_records, read_table
from flows.params import StageParams, load_stage_params
from flows.project import Project, Results, find_project
from flows.stages.bench import run_stage
from flows.stages.metrics import chosen, read_tables, stage_table
from flows.watch.progress import console
from flows.watch.tracking import Tracker
from simulrag.metrics.published import (
    PAPER_METRICS,
    PAPER_STATISTICS,
    read_published,
    read_published_benchmark,
)
from simulrag.records import Answer, Label, Question
from simulrag.report.page import RunSummary, write_report

Role = Literal["benchmark", "answer", "judge"]
ROLES: tuple[Role, ...] = ("benchmark", "answer", "judge")


def run(
    project: Project, params: StageParams, place: Results, domains: dict[str, list[Question]]
) -> Path:
    """The stage; returns the report's path."""

    async def body(tracker: Tracker) -> Path:
        async def work() -> None:
            _write(project, params, place, domains)

        await tracker.step("write", work)
        link = f"[The report of this run]({place.report.resolve().as_uri()}): `{place.report}`"
        tables = read_tables(place.metrics, params.metrics)
        await tracker.markdown("report", f"{link}\n\n{stage_table(tables)}")
        return place.report

    tags = [f"domain:{domain}" for domain in domains]
    return run_stage(project, params, "report", "report-" + "-".join(domains), tags, body=body)


def _write(
    project: Project, params: StageParams, place: Results, domains: dict[str, list[Question]]
) -> None:
    models = {role: params.model(role) for role in ROLES}
    summary = RunSummary(
        models={role: f"{model.provider}: {model.model}" for role, model in models.items()},
        offline=any(model.provider == "offline" for model in models.values()),
        simulators={domain: _simulator(place, domain) for domain in domains},
        params_hash=params.digest(),
    )
    answers: list[Answer] = []
    labels: list[Label] = []
    for domain in domains:
        answers += read_records(place.answers(domain), Answer)
        labels += read_table(place.labels(domain), Label)
    check_folder(place.report.parent)
    published = {
        number: read_published(project.published, f"table{number}")
        for number in PAPER_METRICS
        if (project.published / f"table{number}.csv").is_file()
    }
    if (project.published / f"table{PAPER_STATISTICS}.csv").is_file():
        published[PAPER_STATISTICS] = read_published_benchmark(project.published)
    write_report(
        place.report,
        summary,
        read_tables(place.metrics, params.metrics),
        questions=[question for questions in domains.values() for question in questions],
        answers=answers,
        labels=labels,
        published=published,
    )


def _simulator(place: Results, domain: str) -> str:
    """Name and short fingerprint; a run outside DVC has no identity file, and says replay."""
    path = place.simulator(domain)
    if not path.is_file():
        return "see the evidence of each question"
    identity = json.loads(path.read_text(encoding="utf-8"))
    return f"{identity['simulator']} ({identity['fingerprint'][:8]})"


def main() -> None:
    """The command line of the stage."""
    project = find_project()
    params = load_stage_params(project, "report")
    path = run(project, params, *chosen(__doc__ or "", project, params))
    console.print(f"report: {path}", markup=False)
