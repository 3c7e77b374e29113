"""The plan before anything is spent, and the stop where there is no budget."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from simulrag.testing.loopback import LoopbackServer, canned
from tests.integration.projects import copy_project, run

SAMPLES = 2
QUESTIONS = 3


@pytest.fixture(scope="module")
def server() -> Any:
    with LoopbackServer(canned({})) as listening:
        yield listening


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, server: LoopbackServer) -> Path:
    """A project whose benchmark is made and whose answers would cost money."""
    model = {"provider": "openai", "model": "gpt-5-mini", "base_url": server.url, "paid": True}
    folder = copy_project(
        tmp_path_factory.mktemp("plan") / "project",
        **{
            "operations.prefect": "off",
            "llm.answer": model,
            "benchmark.questions": QUESTIONS,
            "benchmark.templates": 2,
            "answer.samples": SAMPLES,
            "domains": ["urban"],
        },
    )
    run(folder, sys.executable, "-m", "flows.stages.benchmark", "--domain", "urban")
    return folder


def planned(project: Path) -> dict[str, Any]:
    done = run(project, sys.executable, "-m", "flows.cli.app", "plan", "--json")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def by_task(plan: dict[str, Any], stage: str) -> dict[str, dict[str, Any]]:
    return {row["task"]: row for row in plan["tasks"] if row["stage"] == f"{stage}@urban"}


def test_the_first_level_is_known_and_later_ones_are_estimated(project: Path) -> None:
    plan = planned(project)
    answer = by_task(plan, "answer")
    for task, calls in (("tool_calls", QUESTIONS), ("closed_book", QUESTIONS * SAMPLES)):
        assert answer[task]["calls"] == answer[task]["known"] == calls
    assert answer["decompose"]["calls"] == QUESTIONS * SAMPLES * 3  # and both RAG baselines' texts
    assert answer["decompose"]["known"] == 0
    assert answer["final"]["calls"] == QUESTIONS * 5  # ours, three baselines at m, ours at m = 1
    cached = by_task(plan, "benchmark")
    assert all(row["calls"] == 0 and row["cached"] > 0 for row in cached.values())
    price_in, price_out = 0.25, 2.00  # of gpt-5-mini in prices.yaml
    for row in answer.values():
        money = (row["input_tokens"] * price_in + row["output_tokens"] * price_out) / 1e6
        assert row["usd"] == pytest.approx(money)
    assert plan["usd"] == pytest.approx(sum(row["usd"] for row in answer.values()))
    assert plan["paid_calls"] == sum(row["calls"] for row in answer.values())
    assert all(row["usd"] == 0 for row in by_task(plan, "label").values())


@pytest.mark.parametrize(
    "command",
    [
        ("flows.stages.answer", "--domain", "urban"),
        ("flows.cli.app", "run"),
    ],
)
def test_without_a_budget_the_plan_is_printed_and_no_call_made(
    project: Path, server: LoopbackServer, command: tuple[str, ...]
) -> None:
    done = run(project, sys.executable, "-m", *command, check=False)
    assert done.returncode == 2, done.stderr
    assert "answer@urban (openai:gpt-5-mini): about" in done.stdout
    assert " USD; 0 cached" in done.stdout
    assert "operations.budget" in done.stderr
    assert "Traceback" not in done.stderr
    assert not server.requests


@pytest.mark.slow
def test_work_that_is_stored_is_no_longer_planned(tmp_path: Path) -> None:
    folder = copy_project(
        tmp_path / "project",
        **{
            "operations.prefect": "off",
            "benchmark.questions": 2,
            "benchmark.templates": 2,
            "answer.samples": SAMPLES,
            "domains": ["urban"],
        },
    )
    run(folder, sys.executable, "-m", "flows.stages.benchmark", "--domain", "urban")
    before = by_task(planned(folder), "answer")
    run(folder, sys.executable, "-m", "flows.stages.answer", "--domain", "urban")
    plan = planned(folder)
    after = by_task(plan, "answer")
    assert all(row["calls"] == 0 for row in after.values())
    # Those that do not hang on the number of claims were foretold, save for texts that came twice.
    for task in ("closed_book", "decompose", "merge", "input_rag", "output_rag", "final"):
        assert 0.6 * before[task]["calls"] <= after[task]["cached"] <= before[task]["calls"]
    finals = before["final"]["calls"] + 2 * 3  # and a sample and both RAGs at m = 1 of 2 questions
    label = by_task(plan, "label")
    assert label["evaluation_decompose"]["calls"] <= finals
    assert label["evaluation_decompose"]["known"] > 4
    run(folder, sys.executable, "-m", "flows.stages.label", "--domain", "urban")
    assert sum(row["calls"] for row in planned(folder)["tasks"]) == 0
