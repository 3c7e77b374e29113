"""Generation through the real gateway and the offline model: all three stages, twice the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flows.files import write_records
from simulrag.benchmark.generate import generate
from simulrag.benchmark.published import read_questions
from simulrag.benchmark.templates import template_problems
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers import make_provider
from simulrag.models.settings import ModelSettings


async def generated(folder: Path, simulator: Any) -> tuple[Any, Gateway]:
    settings = ModelSettings(provider="offline", model="offline")
    with CallCache(folder / "cache", stage="benchmark") as cache:
        gateway = Gateway(make_provider(settings), settings, cache, Prompts(Path("prompts")))
        result = await generate(
            gateway, Simulations(simulator, cache), "urban", n=20, seed=4, template_count=6
        )
        await gateway.close()
    write_records(folder / "urban.jsonl", result[1])
    return result, gateway


async def test_the_offline_model_writes_a_checked_benchmark(tmp_path: Path, corridor: Any) -> None:
    (templates, questions, summary), gateway = await generated(tmp_path, corridor)
    assert len(templates) == 6
    assert template_problems(templates, corridor) == []
    assert summary.accepted == len(questions) == 20, summary.rejections
    assert len({question.template_id for question in questions}) == 6
    assert len({question.scenario_id for question in questions}) == 20
    for question in questions:
        assert len(re.findall(r"\?", question.text)) >= 3
        assert {claim.kind for claim in question.reference_claims} == {
            "quantitative",
            "qualitative",
        }
    assert read_questions(tmp_path / "urban.jsonl") == questions
    assert gateway.paid["benchmark_templates"].calls == 1
    assert gateway.paid["benchmark_question"].calls == summary.scenarios


async def test_a_second_run_pays_nothing_and_writes_the_same_bytes(
    tmp_path: Path, corridor: Any
) -> None:
    await generated(tmp_path, corridor)
    before = (tmp_path / "urban.jsonl").read_bytes()
    _, gateway = await generated(tmp_path, corridor)
    assert gateway.paid == {}
    assert (tmp_path / "urban.jsonl").read_bytes() == before
