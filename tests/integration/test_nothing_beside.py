"""A run with ``answer.beside: []``, from the answers to the report: a grounded answer alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import copy_project, simulrag, stub_model

STAGES = ("benchmark", "answer", "label", "metrics")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "project"
    with LoopbackServer(stand_in()) as server:
        model = stub_model(server.url)
        own = {"llm.answer": model, "llm.judge": model, "metrics.bootstrap": 100}
        copy_project(folder, **own, **{"answer.beside": []})
        simulrag(folder, "stage", "simulators", check=True)
        for stage in STAGES:
            simulrag(folder, "stage", stage, "--domain", "urban", check=True)
        simulrag(folder, "stage", "report", check=True)
    return folder


def test_an_answer_takes_three_calls_where_nothing_is_wrong_or_open(project: Path) -> None:
    lines = (project / "data/answers/urban.jsonl").read_text().splitlines()
    answers = [json.loads(line) for line in lines]
    assert len(answers) == 15
    usual, more = {"audit", "input_rag"}, {"mend", "second_look", "verify_batch"}
    used = [{*one["usage"]} for one in answers]
    assert {"plan", *usual} in used
    assert all({"plan", *usual} <= one <= {"plan", *usual, *more} for one in used)
    assert all(usual <= {*one["final"]["usage"]} <= usual | more for one in answers)
    assert not any(one["claims"] or one["closed_book"] or one["baselines"] for one in answers)


def test_the_one_recipe_is_measured(project: Path) -> None:
    with (project / "data/metrics/urban.csv").open() as file:
        found = list(csv.DictReader(file))
    assert {one["method"] for one in found} == {"", "grounded"}
    of = {"metric": "calls", "level": "answer", "step": "all"}
    (calls,) = (float(one["value"]) for one in found if one | of == one)
    assert 3 <= calls < 4
    shares = [
        float(one["value"]) for one in found if one["metric"] == "factuality" and one["value"]
    ]
    assert shares
    assert all(0 <= share <= 1 for share in shares)
    assert {"standings", "retrieval", "coverage"} <= {one["family"] for one in found}
    (unknown,) = (one["value"] for one in found if one["metric"] == "labels_unknown")
    assert float(unknown) == 0


def test_the_report_shows_it_and_nothing_of_what_was_not_asked(project: Path) -> None:
    pages = (project / "data/report" / name for name in ("index.html", "methods.html"))
    shown = "".join(page.read_text(encoding="utf-8").partition("<script")[0] for page in pages)
    assert "What a reader can rely on" in shown
    assert "15 urban questions were answered by openai: stub" in shown
    for absent in ("claims after verification", "UE+SBA minus", "confidence before verification"):
        assert absent not in shown
