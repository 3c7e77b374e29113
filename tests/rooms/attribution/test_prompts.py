"""The four prompts as a model gets them: rendered, sent to a real server and validated."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Claim
from simulrag.rooms.attribution.attribute import attribute
from simulrag.rooms.attribution.forecast import Article, Forecast, forecast_cil
from simulrag.rooms.attribution.settings import AttributionParams
from simulrag.testing import LoopbackServer, traffic
from tests.rooms.attribution.test_attribute import answer, documents, run_of


async def test_over_a_server_and_a_second_time_from_the_cache(tmp_path: Path) -> None:
    question = Forecast("Will the dam be built?", date(2024, 3, 1), truth=False)
    events = ("A court allows it.", "Money is found.", "Workers strike.")
    reports = [Article(text, date(2024, 1, 9 * i + 1)) for i, text in enumerate(events)]
    claims = [Claim(text="The idling time changes by about 3.00 percent."), Claim(text="Odd.")]
    told = answer(*claims, evidence=(run_of("It rains."), documents("It is dry.")))
    stated = AttributionParams(chances="stated")
    with (
        LoopbackServer(traffic()) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        settings = ModelSettings(provider="openai", model="m", base_url=server.url)
        gateway = Gateway(make_provider(settings), settings, cache, packaged_prompts())
        first = await forecast_cil(question, reports, gateway, nearest=1)
        support = await attribute("q?", told, gateway, stated)
        made = cache.counts()["misses"]
        again = await forecast_cil(question, reports, gateway, nearest=1)
        assert await attribute("q?", told, gateway, stated) == support
        await gateway.close()
    assert (again, cache.counts()["misses"]) == (first, made)
    assert set(gateway.usage) == {"relevance", "chance_given", "chance_joint", "chance_shown"}
    assert all(item.value is not None for item in first.items)
    assert support.failure is None


@pytest.mark.parametrize(("occurs", "words"), [(True, "happened:"), (False, "did not happen:")])
def test_the_situation_itself_comes_last(occurs: bool, words: str) -> None:
    message = packaged_prompts().render(
        "chance_given",
        question="Q?",
        background="",
        criteria="",
        happened=["It rained."],
        absent=["It snowed."],
        situation="It thawed.",
        occurs=occurs,
    )[1]
    assert f"this {words}\n<situation>\nIt thawed.\n</situation>" in message.content
    assert message.content.index("It rained.") < message.content.index("It snowed.")
    assert message.content.endswith("</situation>")


def test_without_evidence_the_prompt_says_so() -> None:
    message = packaged_prompts().render("chance_shown", question="Q?", context="", claims=["A."])[1]
    assert "<evidence>\nNo evidence is shown.\n</evidence>" in message.content
