"""What a benchmark of the published size costs after its last call: its tables and its report."""

from __future__ import annotations

import time
from collections.abc import Iterator

from simulrag.metrics.tables import evaluate
from tests.unit.evaluation.synthetic import study

from simulrag.metrics.settings import MetricSettings
from simulrag.records import CENTRALITIES
from simulrag.report.page import RunSummary, report_html

Figure = tuple[str, float, str, int]

SIZES = (550, 1100, 2200)
CLAIMS = 15


def evaluation() -> Iterator[Figure]:
    """Every table with all centralities for growing numbers of questions, and the report."""
    settings = MetricSettings(further_centralities=CENTRALITIES)
    for questions in SIZES:
        data = study(questions, claims=CLAIMS)
        start, spent = time.perf_counter(), time.process_time()
        tables = evaluate(data.answers, data.labels, data.finals, data.scenario_of, settings)
        yield "metrics_wall", time.perf_counter() - start, "s", questions
        yield "metrics_cpu", time.process_time() - spent, "s", questions
    run = RunSummary(models={"answer": "synthetic"}, offline=True)
    start = time.perf_counter()
    page = report_html(
        run, tables, questions=data.questions, answers=data.answers, labels=data.labels
    )
    yield "report_wall", time.perf_counter() - start, "s", questions
    yield "report_size", len(page.encode()) / 1e6, "MB", questions
