"""Answers by subject with a model on 127.0.0.1: what ``simulrag ask`` shows, and the tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flows.project import Project
from flows.running.runner import execute
from flows.stages import answer, benchmark, label, metrics, report
from simulrag.metrics.table import read_table, select
from simulrag.models.base import Message
from simulrag.testing import LoopbackServer
from simulrag.testing.traffic import traffic
from simulrag.testing.wires import Body, messages, schema_name, section
from tests.integration.projects import copy_project, stub_roles


def answers() -> Any:
    """Real volume, and nothing that the claims leave uncovered."""
    usual = traffic()

    def reply(body: Body) -> str:
        said = [Message.model_validate(message) for message in messages(body)]
        uncovered = section(said, "answer") is None and schema_name(body) == "Decomposition"
        return json.dumps({"claims": []}) if uncovered else usual(body)

    return reply


@pytest.mark.slow
def test_the_tables_have_both_methods_with_kappa_and_without(tmp_path: Path) -> None:
    with LoopbackServer(answers()) as server:
        changes = {
            "answer.method": "reconciled",
            "answer.pool": "question",
            "answer.without_kappa": True,
            "answer.complete": True,
            "label.subjects": True,
            "benchmark.questions": 3,
            "benchmark.templates": 2,
            **stub_roles(server.url),
        }
        made = Project(copy_project(tmp_path / "project", **changes))
        for stage in (benchmark, answer, label, metrics):
            execute(stage.STAGE, made, "urban")
    execute(report.STAGE, made)
    assert "SimulRAG reconciled, completed" in made.results.report.read_text()
    table = read_table(made.results.metrics / "urban.csv")
    finals = select(table, family="answers", undecided="excluded", failures="excluded")
    lines = select(finals, metric="factuality").select("method", "budget_percent", "samples")
    counted = Counter(lines.iter_rows())
    for method in ("SimulRAG", "SimulRAG reconciled"):
        assert counted[method, 25.0, 5] == counted[method, 100.0, 5] == 2, "with kappa and without"
    assert counted["SimulRAG reconciled, completed", 100.0, 5] == 1
    assert set(select(finals, metric="contradictions")["n"]) == {3}
    assert select(finals, metric="completeness")["value"].is_not_null().all()
    # What excludes one another was settled or spoke with one voice; the paper has no such aim.
    held = select(finals, metric="contradictions", budget_percent=100.0, samples=5)
    assert {n for method, n in held.select("method", "value").iter_rows() if "rec" in method} == {0}
    for family in ("claims", "subjects"):
        assert "votes" in set(select(table, family=family)["centrality"])
