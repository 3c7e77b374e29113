"""``simulrag models check``: one tiny call a model, and each failure beside the others."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from simulrag.testing.loopback import Act, LoopbackServer, canned
from tests.integration.projects import copy_project, run

KEY = "sk-planted-4f1d9b7c2e"
ANSWERS = canned({"Verbalized": '{"probability": 1.0}'})
REFUSED = Act(
    kind="status",
    status=400,
    body={
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "`temperature` is deprecated for this model.",
        },
    },
)


def checked(folder: Path, code: int, **environment: str) -> tuple[list[dict[str, Any]], str]:
    command = (sys.executable, "-m", "flows.cli.app", "models", "check", "--json")
    done = run(folder, *command, check=False, **environment)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows, done.stdout


def test_each_model_once_and_each_failure_beside_the_others(tmp_path: Path) -> None:
    with LoopbackServer(ANSWERS) as good, LoopbackServer(ANSWERS, [REFUSED] * 9) as strict:
        folder = copy_project(
            tmp_path / "project",
            **{
                "llm.benchmark": {
                    "provider": "openai",
                    "model": "gpt-5-mini",
                    "base_url": good.url,
                    "paid": True,
                    "api_key_env": "PLANTED_KEY",
                },
                "llm.answer": {
                    "provider": "anthropic",
                    "model": "claude-sonnet-5",
                    "base_url": strict.url,
                    "sampling": {"temperature": 0.0},
                },
                "llm.judge": {"provider": "openai", "model": "gpt-5"},
            },
        )
        rows, _ = checked(folder, 1, PLANTED_KEY=KEY, OPENAI_API_KEY="")
        assert (len(good.requests), len(strict.requests)) == (1, 1)
        again, _ = checked(folder, 1, PLANTED_KEY=KEY, OPENAI_API_KEY="")
        assert len(good.requests) == 2  # always a call of its own
    first, second, third = rows
    assert first["works"]
    assert first["roles"] == ["benchmark"]
    assert first["key"] == "PLANTED_KEY is set"
    assert first["price"].startswith("known as of 20")
    assert first["structured"]
    assert first["input_tokens"] > 0
    assert not second["works"]
    assert second["reached"]
    assert second["sampling_accepted"] is False
    assert "temperature" in second["problem"]
    assert third["key"] == "OPENAI_API_KEY is not set"
    assert "OPENAI_API_KEY" in third["problem"]
    assert [row["works"] for row in again] == [True, False, False]
    stored = (folder / ".cache/calls/cache.db").read_bytes()
    assert KEY.encode() not in stored


@pytest.mark.parametrize("answer", ["perhaps", '{"probability": "high"}'])
def test_a_server_without_structured_output_is_found_out(tmp_path: Path, answer: str) -> None:
    with LoopbackServer(canned({"Verbalized": answer})) as server:
        model = {"provider": "openai", "model": "m", "base_url": server.url}
        roles = dict.fromkeys(("llm.benchmark", "llm.answer", "llm.judge"), model)
        folder = copy_project(tmp_path / "project", **roles)
        (row,), _ = checked(folder, 1)
    assert row["roles"] == ["benchmark", "answer", "judge"]
    assert row["reached"]
    assert row["structured"] is False
    assert row["price"] == "free"


def test_the_offline_models_work(tmp_path: Path) -> None:
    rows, _ = checked(copy_project(tmp_path / "project"), 0)
    assert all(row["works"] and row["key"] == "none needed" for row in rows)
