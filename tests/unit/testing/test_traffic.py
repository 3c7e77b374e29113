"""The test double's replies: one for every task, and whole benchmarks that pass their check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.errors import ReplyInvalid
from simulrag.method.simulation import Simulations
from simulrag.models.base import Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.replies import Reply
from simulrag.models.settings import ModelSettings
from simulrag.questions.open.generation import generate
from simulrag.questions.open.templates import draw_templates
from simulrag.registry import PACKAGE
from simulrag.task import tasks
from simulrag.testing import LoopbackServer, traffic
from simulrag.testing.traffic import _REPLIES, SET_UP


def replies(of: type[Reply] = Reply) -> Iterator[type[Reply]]:
    """Every class of replies that is imported."""
    for found in of.__subclasses__():
        yield found
        yield from replies(found)


def test_every_reply_of_the_tasks_is_answered() -> None:
    """Free text is: by what the prompt shows."""
    asked = {task.reply for task in tasks().values() if task.reply is not None}
    core = {one.__name__ for one in asked if not one.__module__.startswith(PACKAGE)}
    assert core - set(_REPLIES) == set()
    # What a task is asked with `replying` besides says so too.
    named = {
        one.__name__
        for one in replies()
        if (one.__doc__ or "").startswith("Reply to ") and not one.__module__.startswith(PACKAGE)
    }
    assert named == set(_REPLIES)


@pytest.mark.parametrize(
    ("name", "set_up", "tools"),
    [
        ("urban", True, {"run_scenario", "compare_with_baseline"}),
        # Its tools refuse a call without a place, which is given once they have.
        (
            "climate",
            True,
            {"history_temperature", "future_temperature", "diy_greenhouse", "is_land_or_sea"},
        ),
        ("simulators.starter:Starter", True, {"draw_down", "storage"}),
        ("simulators.starter:Starter", False, {"draw_down", "storage"}),
    ],
)
async def test_a_benchmark_is_written_by_a_handbook_and_passes_its_check(
    tmp_path: Path, name: str, set_up: bool, tools: set[str]
) -> None:
    simulator = load(name)
    with (
        LoopbackServer(traffic()) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        settings = ModelSettings(
            provider="openai", model="m", base_url=server.url, sampling=Sampling(seed=0)
        )
        gateway = Gateway(make_provider(settings), settings, cache, packaged_prompts())
        templates, questions, summary = await generate(
            gateway,
            Simulations(simulator, cache),
            "own",
            n=3,
            seed=1,
            template_count=10,
            set_up=set_up,
        )
        if name == "urban":
            with pytest.raises(ReplyInvalid, match="at least 1 item"):
                await draw_templates(gateway, load("epidemiology"), 10)
        await gateway.close()
    assert {run.tool for template in templates for run in template.runs} == tools
    assert len(questions) == 3, summary.rejections
    sources = {claim.source for question in questions for claim in question.reference_claims}
    assert sources == ({"evidence", "open"} if set_up else {"evidence"})
    assert all((SET_UP in question.text) == set_up for question in questions)
    assert gateway.failures == {}
