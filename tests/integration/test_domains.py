"""Climate and epidemiology through every stage, small: questions, answers, labels and metrics."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from flows.files import read_records, read_table
from simulrag.questions.published import read_questions
from simulrag.records import Answer, Label, ToolCall
from tests.integration.projects import copy_project, run

STAGES = ("simulator", "benchmark", "answer", "label")


def canonical(calls: Iterable[ToolCall]) -> list[str]:
    """The calls in an order of their own, whatever order their arguments were written in."""
    return sorted(json.dumps(call.model_dump(mode="json"), sort_keys=True) for call in calls)


@pytest.mark.parametrize(("domain", "questions"), [("climate", 6), ("epidemiology", 3)])
def test_a_domain_goes_through_every_stage(tmp_path: Path, domain: str, questions: int) -> None:
    project = copy_project(
        tmp_path / domain,
        **{"domains": [domain], "benchmark.questions": questions, "operations.prefect": "off"},
    )
    for stage in STAGES:
        run(project, sys.executable, "-m", f"flows.{stage}", "--domain", domain)
    run(project, sys.executable, "-m", "flows.stages.metrics")

    data = project / "data"
    asked = {item.question_id: item for item in read_questions(data / f"benchmark/{domain}.jsonl")}
    answers = read_records(data / f"answers/{domain}.jsonl", Answer)
    assert len(asked) == len(answers) == questions
    assert any(len(question.calls) > 1 for question in asked.values())
    for answer in answers:
        assert answer.failure is None
        assert answer.retrieval is not None
        found = [item.call for item in answer.retrieval.evidence]
        assert canonical(found) == canonical(asked[answer.question_id].calls)
    labels = read_table(data / f"labels/{domain}.parquet", Label)
    assert {item.failure for item in labels} == {None}
    summary = json.loads((data / "benchmark" / f"{domain}-summary.json").read_text())
    assert summary["accepted"] == questions
