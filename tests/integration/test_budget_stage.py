"""A stage whose budget ends in the middle, and the same command again with a larger one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from simulrag.calls import cache_stats
from simulrag.testing import LoopbackServer, traffic
from simulrag.testing.loopback import fails
from tests.integration.projects import copy_project, simulrag, write_questions

KEY = "sk-planted-4f1d9b7c2e"


def set_budget(folder: Path, **limits: float) -> None:
    file = folder / "params.yaml"
    params = yaml.safe_load(file.read_text())
    params["operations"]["budget"] = limits
    file.write_text(yaml.safe_dump(params, sort_keys=False))


@pytest.mark.slow
def test_the_stage_stops_keeps_and_goes_on(tmp_path: Path) -> None:
    # The server quotes the key in an error, as some do.
    with LoopbackServer(traffic(), [fails(500, f"no luck with {KEY}")]) as server:
        folder = copy_project(
            tmp_path / "project",
            **{
                "operations.prefect": "off",
                "answer.samples": 2,
                "llm.answer": {
                    "provider": "openai",
                    "model": "gpt-5-mini",
                    "base_url": server.url,
                    "api_key_env": "PLANTED_KEY",
                    "paid": True,
                    "sampling": {"max_output_tokens": 500, "seed": 0},
                },
            },
        )
        shutil.rmtree(folder / "data/recorded")  # so that all that is stored was paid for here
        file = write_questions(
            folder, "What happens to average travel time if the speed limit falls by 20 percent?"
        )
        command = ("stage", "answer", "-d", "urban", "--benchmark", str(file), "--out", "out")
        set_budget(folder, usd=1.0, tokens=12_000)
        done = simulrag(folder, *command, PLANTED_KEY=KEY)
        assert done.returncode == 1, done.stderr
        (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert "the budget of 1.00 USD and 12,000 tokens would be passed: spent 0.00" in error
        assert "operations.budget" in error
        assert not (folder / "out/answers/urban.jsonl").exists()
        paid = len(server.requests) - 1
        assert cache_stats(folder / ".cache/calls").by_kind["model"] == paid > 2

        set_budget(folder, usd=1.0)
        again = simulrag(folder, *command, check=True, PLANTED_KEY=KEY)
        assert (folder / "out/answers/urban.jsonl").exists()
        calls = cache_stats(folder / ".cache/calls").by_kind["model"]
        assert calls == len(server.requests) - 1 > paid  # nothing was paid for twice
        assert KEY not in done.stdout + done.stderr + again.stdout + again.stderr
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
