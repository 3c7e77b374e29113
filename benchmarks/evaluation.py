"""What a benchmark of the published size costs after its last call: its tables."""

from __future__ import annotations

import time
from collections.abc import Iterator

from simulrag.metrics.tables import evaluate
from tests.unit.evaluation.synthetic import study

from simulrag.metrics.settings import MetricSettings
from simulrag.records import CENTRALITIES

Figure = tuple[str, float, str, int]

SIZES = (550, 1100, 2200)
CLAIMS = 15


def evaluation() -> Iterator[Figure]:
    """Every table with all centralities for growing numbers of questions."""
    settings = MetricSettings(further_centralities=CENTRALITIES)
    for questions in SIZES:
        data = study(questions, claims=CLAIMS)
        start, spent = time.perf_counter(), time.process_time()
        evaluate(data.answers, data.labels, data.finals, data.scenario_of, settings)
        yield "metrics_wall", time.perf_counter() - start, "s", questions
        yield "metrics_cpu", time.process_time() - spent, "s", questions
