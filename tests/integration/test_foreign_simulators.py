"""Simulators of users' own on the offline model: the guide's reservoir and a drug in the body."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.integration.projects import ROOT, copy_project, run

pytestmark = pytest.mark.slow
DOMAINS = ("reservoir", "dose")
QUESTIONS = 8


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both domains, from benchmark to metrics."""
    folder = tmp_path_factory.mktemp("foreign")
    package = _package(folder / "package")
    small = {"questions": QUESTIONS, "templates": QUESTIONS}
    project = copy_project(
        folder / "project",
        **{f"benchmark.{name}": value for name, value in small.items()},
        **{"metrics.bootstrap": 100, "metrics.random_seeds": 5, "operations.prefect": "off"},
    )
    params = yaml.safe_load((project / "params.yaml").read_text())
    params["domains"] = list(DOMAINS)
    params["simulators"] |= {name: {"name": name} for name in DOMAINS}
    (project / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))

    def stage(name: str, *arguments: str) -> None:
        command = (sys.executable, "-m", f"flows.{name}", *arguments)
        run(project, *command, PYTHONPATH=f"{project}:{package}")

    stage("lineage")
    for domain in DOMAINS:
        for name in ("simulator", "benchmark", "answer", "label"):
            stage(name, "--domain", domain)
    stage("metrics")
    return project


def _package(folder: Path) -> Path:
    """An installed package with both simulators, as a folder of the import path."""
    page = (ROOT / "docs" / "bring-your-own-simulator.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    information = folder / "foreign-0.1.dist-info"
    information.mkdir(parents=True)
    (folder / "reservoir_plugin.py").write_text(code[1])
    shutil.copy(Path(__file__).parent / "dose.py", folder / "dose_plugin.py")
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 0.1\n")
    (information / "entry_points.txt").write_text(
        "[simulrag.simulators]\nreservoir = reservoir_plugin:Reservoir\ndose = dose_plugin:Dose\n"
    )
    return folder


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("domain", DOMAINS)
def test_most_questions_get_evidence_and_a_verified_claim(project: Path, domain: str) -> None:
    answers = _lines(project / f"data/answers/{domain}.jsonl")
    assert len(answers) == QUESTIONS
    assert all(answer["retrieval"]["status"] == "retrieved" for answer in answers)
    verified = [
        any(claim["verdict"]["status"] != "indeterminate" for claim in answer["claims"])
        for answer in answers
    ]
    assert sum(verified) >= 0.75 * QUESTIONS


@pytest.mark.parametrize("domain", DOMAINS)
def test_questions_come_of_every_tool(project: Path, domain: str) -> None:
    asked = {
        call["tool"]
        for question in _lines(project / f"data/benchmark/{domain}.jsonl")
        for call in question["calls"]
    }
    tools = {"reservoir": {"draw_down"}, "dose": {"single_dose", "clearance_effect"}}
    assert asked == tools[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_verification_at_a_quarter_of_the_budget_tells(project: Path, domain: str) -> None:
    frame = pl.read_csv(project / "data/metrics/claim_level.csv", infer_schema_length=None)
    own = frame.filter(
        (pl.col("domain") == domain)
        & (pl.col("metric") == "true_share")
        & (pl.col("undecided") == "excluded")
    )
    before, after = (
        own.filter((pl.col("method") == method) & (pl.col("budget_percent") == budget))["value"][0]
        for method, budget in (("no-RAG", 0), ("UE+SBA", 25))
    )
    assert after >= before + 0.1
