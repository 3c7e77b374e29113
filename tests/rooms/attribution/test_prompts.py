"""The prompt as a model gets it: rendered, sent to a real server and validated."""

from __future__ import annotations

from pathlib import Path

from flows.hooks import prompts_of
from rooms.attribution.attribute import attribute
from rooms.attribution.settings import AttributionParams
from simulrag.calls import CallCache
from simulrag.models.gateway import Gateway
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Claim
from simulrag.testing import LoopbackServer, stand_in
from tests.recorded import ROOT
from tests.rooms.attribution.test_attribute import answer, documents, run_of


async def test_over_a_server_and_a_second_time_from_the_cache(tmp_path: Path) -> None:
    claims = [Claim(text="The idling time changes by about 3.00 percent."), Claim(text="Odd.")]
    told = answer(*claims, evidence=(run_of("It rains."), documents("It is dry.")))
    stated = AttributionParams(chances="stated")
    with (
        LoopbackServer(stand_in()) as server,
        CallCache(tmp_path / "cache", stage="test") as cache,
    ):
        settings = ModelSettings(provider="openai", model="m", base_url=server.url)
        gateway = Gateway(make_provider(settings), settings, cache, prompts_of(ROOT / "prompts"))
        support = await attribute("q?", told, gateway, stated)
        made = cache.counts()["misses"]
        assert await attribute("q?", told, gateway, stated) == support
        await gateway.close()
    assert cache.counts()["misses"] == made
    assert set(gateway.usage) == {"chance_shown"}
    assert support.failure is None


def test_without_evidence_the_prompt_says_so() -> None:
    message = prompts_of(ROOT / "prompts").render(
        "chance_shown", question="Q?", context="", claims=["A."]
    )[1]
    assert "<evidence>\nNo evidence is shown.\n</evidence>" in message.content
