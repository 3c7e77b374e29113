"""What a domain costs after its last call as it grows: metrics and report, each in a process."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.repeated import DOMAIN, write_repeated
from benchmarks.stub_runs import ROOT
from flows.params import load_params
from flows.project import Project, Results

SIZES = (500, 1000, 2000)


def evaluation() -> Iterator[Figure]:
    """Every metric that params.yaml asks for, of growing numbers of questions."""
    yield from _growing("metrics", measure_metrics)


def report() -> Iterator[Figure]:
    """The page over the same, its metrics made before; and the size of the page."""
    yield from _growing("report", _report)


def _growing(name: str, measure: Callable[[Path], None]) -> Iterator[Figure]:
    for questions in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            place = Results(Path(folder))
            write_repeated(place, questions)
            if name == "report":
                measured_apart(measure_metrics, Path(folder))
            wall, cpu, memory = measured_apart(measure, Path(folder))
            yield f"{name}_wall", wall, "s", questions
            yield f"{name}_cpu", cpu, "s", questions
            if name == "report":
                yield "report_memory", memory, "MB", questions
                yield "report_size", place.report.stat().st_size / 1e6, "MB", questions


def measured_apart(measure: Callable[[Path], None], folder: Path) -> tuple[float, float, float]:
    """Wall and processor seconds and the largest memory in MB, of a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return apart.submit(_measured, measure, folder).result()


def _measured(measure: Callable[[Path], None], folder: Path) -> tuple[float, float, float]:
    start, spent = time.perf_counter(), time.process_time()
    measure(folder)
    wall, cpu = time.perf_counter() - start, time.process_time() - spent
    return wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measure_metrics(folder: Path) -> None:
    """The stage ``metrics`` as params.yaml has it."""
    from flows.stages.metrics import read_domain, write_metrics

    params, place = load_params(ROOT / "params.yaml"), Results(folder)
    write_metrics(place, read_domain(place, DOMAIN, params.metrics, params.answer))


def _report(folder: Path) -> None:
    from flows.stages.report import write

    project = Project(ROOT)
    params = load_params(project.params).model_copy(update={"domains": [DOMAIN]})
    write(project, params, Results(folder))
