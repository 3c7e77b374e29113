"""What the report of a growing benchmark costs: time, memory, and the size of the page."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from simulrag.report.page import write_report
from simulrag.report.traces import Traced
from tests.unit.metrics.synthetic import study
from tests.unit.report.made import run_of, traced

Figure = tuple[str, float, str, int]

SIZES = (500, 1000, 2000, 4000)
CLAIMS = 15
_DISTINCT = 50


def report() -> Iterator[Figure]:
    """The page of 500 to 4,000 questions; memory is the peak of what Python holds meanwhile."""
    data = list(traced(study(_DISTINCT, claims=CLAIMS, failures=0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.html"
        for questions in SIZES:
            start = time.perf_counter()
            write_report(path, run_of(), _many(data, questions))
            yield "report_wall", time.perf_counter() - start, "s", questions
            yield "report_size", path.stat().st_size / 1e6, "MB", questions
            tracemalloc.start()
            write_report(path, run_of(), _many(data, questions))
            yield "report_memory", tracemalloc.get_traced_memory()[1] / 1e6, "MB", questions
            tracemalloc.stop()


def _many(data: list[Traced], questions: int) -> Iterator[Traced]:
    """As many questions as wanted, each a record of its own, as if read from a file."""
    for number in range(questions):
        one = data[number % len(data)]
        name = {"question_id": f"q{number}"}
        yield Traced(
            one.question.model_copy(update=name),
            one.answer.model_copy(update=name, deep=True),
            one.labels,
        )
