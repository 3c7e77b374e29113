"""Where a project's files lie. A project is a folder with params.yaml, prompts/ and data/."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from simulrag.errors import InputError


@dataclass(frozen=True)
class Results:
    """Where stages keep what they made, below one folder (``data`` in a project)."""

    data: Path

    def benchmark(self, domain: str) -> Path:
        return self.data / "benchmark" / f"{domain}.jsonl"

    def imported(self, domain: str) -> Path:
        return self.data / "imported" / f"{domain}.jsonl"

    def templates(self, domain: str) -> Path:
        return self.data / "benchmark" / f"{domain}-templates.json"

    def benchmark_summary(self, domain: str) -> Path:
        return self.data / "benchmark" / f"{domain}-summary.json"

    def simulator(self, domain: str) -> Path:
        return self.data / "simulators" / f"{domain}.json"

    def answers(self, domain: str) -> Path:
        return self.data / "answers" / f"{domain}.jsonl"

    def labels(self, domain: str) -> Path:
        return self.data / "labels" / f"{domain}.parquet"

    def final_claims(self, domain: str) -> Path:
        return self.data / "labels" / f"{domain}-final-claims.jsonl"

    @property
    def human_labels(self) -> Path:
        return self.data / "labels" / "human.jsonl"

    @property
    def label_studio(self) -> Path:
        return self.data / "labels" / "label-studio"

    def calls(self, stage: str) -> Path:
        """Return the calls of ``answer-urban``."""
        return self.data / "calls" / f"{stage}.parquet"

    @property
    def metrics(self) -> Path:
        return self.data / "metrics"

    def metrics_table(self, domain: str) -> Path:
        return self.metrics / f"{domain}.csv"

    def headline(self, domain: str) -> Path:
        return self.metrics / f"{domain}.json"

    def metrics_claims(self, domain: str) -> Path:
        return self.metrics / f"{domain}-claims.parquet"

    def metrics_finals(self, domain: str) -> Path:
        return self.metrics / f"{domain}-finals.parquet"

    @property
    def report(self) -> Path:
        return self.data / "report" / "index.html"


def out(path: Callable[[Results, str], Path]) -> str:
    """Return a path of ``Results`` as a stage declares it: ``data/answers/{item}.jsonl``."""
    return path(Results(Path("data")), "{item}").as_posix()


@dataclass(frozen=True)
class Project:
    """A project's own files, and its results: in ``data`` unless ``made`` says where."""

    root: Path
    made: Path | None = None

    @property
    def params(self) -> Path:
        return self.root / "params.yaml"

    @property
    def prompts(self) -> Path:
        return self.root / "prompts"

    @property
    def prices(self) -> Path:
        return self.root / "prices.yaml"

    @property
    def recorded(self) -> Path:
        """The calls of the recorded default run, which git keeps."""
        return self.root / "data" / "recorded"

    @property
    def published(self) -> Path:
        return self.root / "data" / "published"

    def runs(self, questions: Path) -> Path:
        """Say where the outs of a folder of imported questions lie, unless another is named."""
        return self.root / "data" / "runs" / questions.resolve().name

    @property
    def results(self) -> Results:
        return Results(self.made or self.root / "data")

    def kept_report(self, period: str) -> Path:
        """Return the report of a refresh, which outlives the next one's."""
        return self.root / "reports" / period / "index.html"


def find_project(start: Path | None = None) -> Project:
    """Find the nearest folder at or above ``start`` (the working directory) with params.yaml."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file():
            return Project(folder)
    raise InputError(
        f"no params.yaml in {here} or above it; run inside a SimulRAG project (a clone of it)"
    )
