"""What a domain costs after its last call as it grows: metrics and report, each in a process."""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.stub_runs import ROOT
from flows.files import write_records, write_table
from flows.project import Project, Results
from simulrag.method.settings import MethodSettings
from simulrag.metrics.settings import MetricSettings
from simulrag.records import (
    Answer,
    Claim,
    Evidence,
    FinalClaims,
    FinalText,
    Label,
    Line,
    Question,
    Retrieval,
    ToolCall,
    Usage,
    Verdict,
    claim_hash,
)

SIZES = (500, 1000, 2000, 4000)
CLAIMS = 15
DOMAIN = "synthetic"
LINE = Line(method="simulrag", samples=5, budget_percent=100)
_CALL = ToolCall(tool="run_scenario", arguments={"speed_factor": 0.8})
_TEXT = "Mean travel time changes by +12.5 % against the baseline. " * 40


def evaluation() -> Iterator[Figure]:
    """Every metric of the leading centrality for growing numbers of questions, and peak memory."""
    yield from _growing("metrics", _metrics)


def report() -> Iterator[Figure]:
    """The page over the same, its metrics made before; and the size of the page."""
    yield from _growing("report", _report)


def _growing(name: str, measure: Callable[[Path], None]) -> Iterator[Figure]:
    for questions in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            place = Results(Path(folder))
            write_synthetic(place, questions)
            if name == "report":
                _apart(_metrics, Path(folder))
            wall, cpu, memory = _apart(measure, Path(folder))
            yield f"{name}_wall", wall, "s", questions
            yield f"{name}_cpu", cpu, "s", questions
            yield f"{name}_memory", memory, "MB", questions
            if name == "report":
                yield "report_size", place.report.stat().st_size / 1e6, "MB", questions


def _apart(measure: Callable[[Path], None], folder: Path) -> tuple[float, float, float]:
    """Wall and processor seconds, imports included, and the process's largest memory in MB."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return apart.submit(_measured, measure, folder).result()


def _measured(measure: Callable[[Path], None], folder: Path) -> tuple[float, float, float]:
    start, spent = time.perf_counter(), time.process_time()
    measure(folder)
    wall, cpu = time.perf_counter() - start, time.process_time() - spent
    return wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _metrics(folder: Path) -> None:
    from flows.stages.metrics import read_domain, write_metrics

    place = Results(folder)
    write_metrics(place, read_domain(place, DOMAIN, MetricSettings(), MethodSettings()))


def _report(folder: Path) -> None:
    from flows.params import load_params
    from flows.stages.report import write

    project, place = Project(ROOT), Results(folder)
    write(project, load_params(project.params), place, {DOMAIN: place.benchmark(DOMAIN)})


def write_synthetic(place: Results, questions: int, seed: int = 3) -> None:
    """A domain's outs with two questions a scenario, written one question at a time."""
    names = [f"{DOMAIN}-{index:05d}" for index in range(questions)]
    write_records(
        place.benchmark(DOMAIN), (_question(name, index // 2) for index, name in enumerate(names))
    )
    write_records(place.answers(DOMAIN), (_answer(name, seed) for name in names))
    write_records(place.final_claims(DOMAIN), (_final(name, seed) for name in names))
    labels = [label for name in names for label in _labels(_answer(name, seed))]
    write_table(place.labels(DOMAIN), labels, Label)


def _question(name: str, scenario: int) -> Question:
    return Question(
        question_id=name,
        domain=DOMAIN,
        text=f"How does mean travel time change? ({name})",
        reference_answer="Mean travel time rises by 12.5 percent.",
        scenario_id=f"s{scenario}",
        calls=(_CALL,),
    )


def _answer(name: str, seed: int) -> Answer:
    rng = random.Random(f"{name}/{seed}")
    evidence = Evidence(
        simulator="urban", call=_CALL, seed=0, outputs={"travel_time_s": 73.41}, text=_TEXT
    )
    return Answer(
        question_id=name,
        domain=DOMAIN,
        retrieval=Retrieval(status="retrieved", evidence=(evidence,), attempts=1),
        closed_book=tuple(f"Sample {sample}: travel time rises." for sample in range(5)),
        claims=tuple(_claim(rng, index) for index in range(CLAIMS)),
        usage={"closed_book": Usage(calls=5, input_tokens=500, output_tokens=250)},
        simulator_runs=1,
        final=FinalText(line=LINE, text="Travel time rises."),
    )


def _claim(rng: random.Random, index: int) -> Claim:
    status = rng.choice(["aligned", "contradicted", "indeterminate"])
    updated = f"Travel time rises by {index}.5 percent." if status == "contradicted" else None
    return Claim(
        text=f"Travel time rises by {index} percent.",
        sources=((index % 5, 0),),
        confidence={"closeness": round(rng.random(), 3)},
        verbalized=round(rng.random(), 1),
        boundary=rng.random() < 0.8,
        verdict=Verdict.model_validate({"status": status, "updated_claim": updated}),
    )


def _labels(answer: Answer) -> Iterator[Label]:
    rng = random.Random(answer.question_id)
    texts = {text for claim in answer.claims for text in (claim.text, claim.updated_text)}
    for text in sorted(texts):
        value = rng.choice(["true", "true", "false", "undecided"])
        fields = {"question_id": answer.question_id, "claim_hash": claim_hash(text), "text": text}
        yield Label.model_validate({**fields, "label": value})


def _final(name: str, seed: int) -> FinalClaims:
    texts = tuple(claim.updated_text for claim in _answer(name, seed).claims[:5])
    return FinalClaims(question_id=name, line=LINE, claims=texts)
