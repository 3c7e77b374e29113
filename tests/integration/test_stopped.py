"""A paid stage that its budget stops in the middle: what was paid for is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import cache_stats
from simulrag.testing import LoopbackServer, stand_in
from simulrag.testing.loopback import fails
from tests.integration.projects import (
    change_params,
    copy_project,
    start_answers,
    stub_model,
    write_questions,
)

pytestmark = pytest.mark.slow
KEY = "sk-planted-4f1d9b7c2e"


def paying(folder: Path, url: str, **changes: Any) -> Path:
    """A project whose one question is answered by a model that costs money."""
    model = stub_model(url, model="gpt-5-mini", api_key_env="PLANTED_KEY", paid=True)
    model["sampling"] = {"max_output_tokens": 500, "seed": 0}
    project = copy_project(folder, **{"llm.answer": model, **changes})
    shutil.rmtree(project / "data/recorded")  # so that all that is stored was paid for here
    write_questions(
        project, "What happens to average travel time if the speed limit falls by 20 percent?"
    )
    return project


def paid_calls(project: Path) -> int:
    return cache_stats(project / ".cache/calls").by_kind["model"]


def nowhere(project: Path, *said: str) -> None:
    """The planted key is in no file of the project, and nothing said it."""
    assert KEY not in "".join(said)
    for path in project.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_budget_stops_it_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    # The server quotes the key in an error, as some do.
    with LoopbackServer(stand_in(), [fails(500, f"no luck with {KEY}")]) as server:
        limits = {"operations.budget": {"usd": 1.0, "tokens": 12_000}, "answer.samples": 2}
        project = paying(tmp_path / "project", server.url, **limits)
        stage = start_answers(project, PLANTED_KEY=KEY)
        out, errors = stage.communicate(timeout=120)
        assert stage.returncode == 1, errors
        (error,) = [line for line in errors.splitlines() if line.startswith("error: ")]
        assert "the budget of 1.00 USD and 12,000 tokens would be passed: spent 0.00" in error
        assert "operations.budget" in error
        assert not (project / "data/answers/urban.jsonl").exists()
        paid = len(server.requests) - 1
        assert paid_calls(project) == paid > 2

        change_params(project, **{"operations.budget": {"usd": 1.0}})
        again = start_answers(project, PLANTED_KEY=KEY)
        later = again.communicate(timeout=120)
        assert again.returncode == 0, later
        assert (project / "data/answers/urban.jsonl").exists()
        # Nothing was paid for twice.
        assert paid_calls(project) == len(server.requests) - 1 > paid
    nowhere(project, out, errors, *later)
