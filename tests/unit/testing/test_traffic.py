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
from simulrag.testing.handbook_texts import own_claim, own_templates, own_verdict
from simulrag.testing.traffic import _REPLIES, SET_UP
from tests.unit.simulators import reservoir


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


@pytest.mark.parametrize("set_up", [False, True])
async def test_a_benchmark_is_written_and_passes_its_check(tmp_path: Path, set_up: bool) -> None:
    simulator = load("urban")
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
            "urban",
            n=3,
            seed=1,
            template_count=10,
            set_up=set_up,
        )
        with pytest.raises(ReplyInvalid, match="at least 1 item"):
            await draw_templates(gateway, load("climate"), 10)
        await gateway.close()
    assert len(templates) == 3
    assert summary.rejected == 0, summary.rejections
    assert {len(question.calls) for question in questions} == {1, 2}
    sources = {claim.source for question in questions for claim in question.reference_claims}
    assert sources == ({"evidence", "open"} if set_up else {"evidence"})
    assert all((SET_UP in question.text) == set_up for question in questions)
    assert gateway.failures == {}


async def test_of_another_simulator_it_writes_what_the_handbook_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source())
    simulator = load("reservoir")
    with (
        LoopbackServer(traffic()) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        settings = ModelSettings(provider="openai", model="m", base_url=server.url)
        gateway = Gateway(make_provider(settings), settings, cache, packaged_prompts())
        runs = Simulations(simulator, cache)
        made = await generate(
            gateway, runs, "reservoir", n=3, seed=1, template_count=10, set_up=True
        )
        await gateway.close()
    assert [template.template_id for template in made.templates] == ["own-draw-down"]
    assert made.summary.rejected == 0, made.summary.rejections
    days = [question.evidence[0].outputs["days_until_empty"] for question in made.questions]
    assert [question.reference_answer for question in made.questions] == [
        f"The days until empty is {one}." for one in days
    ]
    assert len(set(days)) == 3
    assert own_templates(load("epidemiology").handbook()) == []  # its tool needs words too


@pytest.mark.parametrize(
    ("stated", "updated"), [("101.00", ""), ("200.00", "The days until empty is 100.0.")]
)
def test_a_claim_on_another_simulator_is_mended_to_its_evidence(stated: str, updated: str) -> None:
    claim = own_claim(f"The days until empty is about {stated}.")
    assert claim is not None
    said = "At 1.2 times the demand and 20000.0 m3/day, the time until it is empty is 100.0 days."
    verdict = own_verdict(claim, said)
    assert verdict == {
        "is_included": True,
        "should_update": bool(updated),
        "updated_claim": updated,
    }
    assert not own_verdict(claim, "Nothing was run.")["is_included"]
