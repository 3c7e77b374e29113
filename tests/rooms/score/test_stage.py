"""Scores of the recorded answers by a scripted model: the stage, the report, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.files import read_records
from flows.plan import make_plan
from flows.project import Project
from rooms.score.records import ScoredAnswer
from simulrag.testing import LoopbackServer, stand_in
from tests.integration.projects import change_params, copy_finished, simulrag

pytestmark = pytest.mark.slow


def test_the_stage_waits_for_batches_and_scores_every_method(
    finished: Path, tmp_path: Path
) -> None:
    with LoopbackServer(stand_in()) as server:
        project = copy_finished(finished, tmp_path / "project")
        model = {"provider": "openai", "model": "stub", "base_url": server.url, "api": "chat"}
        methods = ["closed_book", "rag_looks", "grounded"]
        settings = {
            "domains": ["urban"],
            "variants": 1,
            "samples": 2,
            "methods": methods,
            "varied": methods[1:],
        }
        few = {"answer.samples": 1, "answer.beside": ["rag"]}
        change_params(project, score=settings, **few)
        change_params(project, **{"llm.judge": model, "llm.answer": model})
        tasks = {task.task: task for task in make_plan(Project(project)).tasks}
        # Two votes of closed book and of RAG, and of what mending makes another text.
        assert 15 * 2 * 2 <= tasks["score_details"].calls < 15 * 3 * 2
        assert tasks["score_paraphrase"].calls == 1
        answers = project / "data/answers/urban.jsonl"
        two = answers.read_text().splitlines(keepends=True)[:2]
        answers.unlink()  # a link to the shared one
        answers.write_text("".join(two))
        change_params(project, **{"operations.mode": "deferred"})
        stage = ("stage", "score", "--domain", "urban")
        waits = simulrag(project, *stage)
        assert waits.returncode == 75, waits.stderr
        assert "calls pending" in waits.stderr
        assert not (project / "data/score/urban.jsonl").exists()
        simulrag(project, "batch", "submit", check=True)
        simulrag(project, "batch", "import", check=True)
        change_params(project, **{"operations.mode": "normal"})
        simulrag(project, *stage, check=True)
        found = read_records(project / "data/score/urban.jsonl", ScoredAnswer)
        methods = list(dict.fromkeys(one.given.method for one in found))
        assert sorted(methods) == ["closed_book", "grounded", "rag_looks"]
        assert [one.given.method for one in found] == methods * 2
        by_method = {one.given.method: one for one in found[: len(methods)]}
        first, second = by_method["grounded"], found[len(methods)]
        assert len(first.votes) == 2
        assert by_method["rag_looks"].given.paraphrased is not None
        assert by_method["closed_book"].given.paraphrased is None
        assert first.given.perturbed is not None
        assert first.given.perturbed.failure is None
        assert {"same_calls", "same_claims", "moved"} <= first.values.keys()
        assert not {"same_calls", "moved", "context_use"} & second.values.keys()
        simulrag(project, "stage", "report", check=True)
        page = (project / "data/report/methods.html").read_text()
        assert "Scores without a reference" in page
        table = (project / "data/report/tables/urban-score.csv").read_text()
        assert "Moved as simulated" in table


def test_answers_from_anywhere(finished: Path, tmp_path: Path) -> None:
    project = copy_finished(finished, tmp_path / "project")
    lines = [
        {
            "question": f"How deep is lake {i}?",
            "answer": "It is 12.5 m deep.",
            "evidence": ["Depth: 12.5 m."],
        }
        for i in range(3)
    ]
    file = project / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with LoopbackServer(stand_in()) as server:
        model = f"{server.url}#stub"
        done = simulrag(project, "score", str(file), "--model", model, check=True)
    assert "Evidence used | 1.000" in done.stdout
    assert {"scores.jsonl", "table.csv", "answers-score-specificity.svg"} <= {
        path.name for path in (project / "scores").iterdir()
    }
    for bad, said in (('{"answer": 1}', "answers.jsonl:1"), ("", "answers.jsonl")):
        file.write_text(bad)
        refused = simulrag(project, "score", str(file), "--model", model)
        assert refused.returncode == 2, refused.stdout
        assert said in refused.stderr
    ours = simulrag(project, "score", "data/answers/urban.jsonl", "--model", model)
    assert (ours.returncode, "name their --domain" in ours.stderr) == (2, True)
