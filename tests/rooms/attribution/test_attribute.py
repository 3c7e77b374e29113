"""The claims of one question: what is asked, what is known already, what fails, and the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from flows.hooks import prompts_of
from rooms.attribution.attribute import attribute
from rooms.attribution.chances import context_of, items_of
from rooms.attribution.settings import AttributionParams
from simulrag.calls import CallCache
from simulrag.errors import ModelUnavailable
from simulrag.models.gateway import Gateway
from simulrag.models.providers.registry import make_provider
from simulrag.models.settings import ModelSettings
from simulrag.records import Answer, Claim, Evidence, Retrieval, Statement, Verdict
from simulrag.testing import LoopbackServer, ScriptedModel, stand_in
from tests import making
from tests.making import ALIGNED, SILENT, corrected
from tests.recorded import ROOT

WRONG = corrected("It is so.")


def run_of(text: str = "The run says alpha.") -> Evidence:
    return making.evidence(text, {}, tool="sound", simulator="lake")


def documents(*texts: str) -> Evidence:
    passages: list[JsonValue] = [{"text": text, "title": "A book"} for text in texts]
    told = {"passages": passages}
    return making.evidence("\n".join(texts), told, tool="query_rag", simulator="library")


def answer(*claims: Claim, evidence: tuple[Evidence, ...]) -> Answer:
    retrieval = Retrieval(status="retrieved" if evidence else "not_applicable", evidence=evidence)
    return making.answer("q", claims, "lake", retrieval=retrieval)


def reading(task: str, values: dict[str, object]) -> object:
    """A claim holds where its last word stands in the context, and not where "no word" does."""
    claims, context = values["claims"], str(values["context"])
    assert isinstance(claims, list)
    words = [str(claim).rstrip(".").rpartition(" ")[2] for claim in claims]
    if task == "chance_shown":
        chances = [0.9 if word in context else 0.1 for word in words]
        return {"claims": [{"index": i, "probability": p} for i, p in enumerate(chances)]}
    return {
        "claims": [
            {
                "index": i,
                "is_included": word in context,
                "should_update": f"no {word}" in context,
                "updated_claim": "Otherwise." if f"no {word}" in context else "",
            }
            for i, word in enumerate(words)
        ]
    }


def settings(**changes: Any) -> AttributionParams:
    return AttributionParams(**changes)


async def test_with_one_source_nothing_is_asked() -> None:
    """Its verdicts by all evidence are those by the simulator; without evidence all are silent."""
    ask = ScriptedModel()
    claims = [Claim(text=f"{i}", verdict=v) for i, v in enumerate((ALIGNED, WRONG, SILENT))]
    found = await attribute("q?", answer(*claims, evidence=(run_of(),)), ask, settings())
    assert [claim.support for claim in found.claims] == ["simulator", "against", "neither"]
    shares = [claim.shares.simulator for claim in found.claims if claim.shares]
    assert shares == [0.5, -0.5, 0.0]
    assert ask.asked == []
    assert found.usage == {}
    assert found.sources == ("lake",)


async def test_statements_are_held_as_they_were_drafted_and_the_audit_is_their_verdict() -> None:
    standings = ("checked", "corrected", "wrong", "added", "judgement", "not_run", "beyond")
    statements = [
        Statement(text=f"{at}", standing=standing, before="as drafted" if at == 1 else None)
        for at, standing in enumerate(standings)
    ]
    retrieval = Retrieval(status="retrieved", evidence=(run_of(),))
    told = making.answer(
        "q", [Claim(text="c")], "lake", retrieval=retrieval, final={"statements": statements}
    )
    ask = ScriptedModel()
    found = await attribute("q?", told, ask, settings())
    assert [claim.text for claim in found.claims] == ["0", "as drafted", *"23456"]
    assert [claim.support for claim in found.claims] == [
        *("simulator", "against", "against", "simulator"),
        *("neither", "neither", "neither"),
    ]
    assert ask.asked == []
    stated = await attribute(
        "q?", told, ScriptedModel(by_task=reading), settings(chances="stated", repeats=1)
    )
    assert [claim.standing for claim in stated.claims] == list(standings)
    assert {claim.support for claim in stated.claims} == {"neither"}


async def test_two_sources() -> None:
    evidence = (run_of("The run says alpha and beta."), documents("It says beta.", "And gamma."))
    claims = [Claim(text=f"It is {word}.") for word in ("alpha", "beta", "gamma", "delta")]
    ask = ScriptedModel(by_task=reading)
    found = await attribute("q?", answer(*claims, evidence=evidence), ask, settings())
    assert [claim.support for claim in found.claims] == [
        "simulator",
        "both",
        "documents",
        "neither",
    ]
    # Documents, simulator and both; nothing shown is no call.
    assert [call["task"] for call in ask.asked] == ["verify_batch"] * 3
    assert found.usage["verify_batch"].calls == 3


async def test_only_claims_without_a_verdict_are_asked_again() -> None:
    claims = [Claim(text="It is alpha.", verdict=ALIGNED), Claim(text="It is beta.")]
    ask = ScriptedModel(by_task=reading)
    await attribute("q?", answer(*claims, evidence=(run_of(),)), ask, settings())
    assert [call["claims"] for call in ask.asked] == [["It is beta."]]


async def test_no_evidence_supports_nothing() -> None:
    ask = ScriptedModel()
    found = await attribute("q?", answer(Claim(text="a"), evidence=()), ask, settings())
    assert (found.claims[0].support, found.claims[0].conditions) == ("neither", None)
    assert ask.asked == []


async def test_stated_chances_are_averaged_and_asked_without_evidence_too() -> None:
    ask = ScriptedModel(by_task=reading)
    told = answer(Claim(text="It is alpha.", verdict=WRONG), evidence=(run_of(),))
    found = await attribute("q?", told, ask, settings(chances="stated", repeats=3))
    (claim,) = found.claims
    assert claim.conditions is not None
    assert claim.conditions.none == pytest.approx(0.1)
    assert claim.conditions.both == pytest.approx(0.9)
    assert claim.support == "simulator"  # a verdict is another kind of chance and is not mixed in
    indices = [call["sample_index"] for call in ask.asked]
    assert [indices.count(index) for index in range(3)] == [2, 2, 2]


async def test_a_failed_verdict_is_no_value() -> None:
    failed = Verdict(status="error", reason="the server hung up")
    claims = [Claim(text="a", verdict=failed), Claim(text="b", verdict=ALIGNED)]
    told = answer(*claims, evidence=(run_of(),))
    found = await attribute("q?", told, ScriptedModel(), settings(estimator="leave_one_out"))
    assert (found.claims[0].support, found.claims[0].failure) == (None, "the server hung up")
    assert found.claims[0].items[0].value is None
    assert found.claims[1].support == "simulator"


async def test_a_failed_call_fails_the_question() -> None:
    ask = ScriptedModel(ModelUnavailable("down"))
    told = answer(Claim(text="a"), evidence=(run_of(),))
    found = await attribute("q?", told, ask, settings())
    assert (found.failure, found.claims) == ("down", ())


@pytest.mark.parametrize("estimator", ["shapley", "leave_one_out"])
async def test_items(estimator: str) -> None:
    evidence = (run_of("The run says alpha."), documents("alpha", "of no alpha at all", "moss"))
    told = answer(Claim(text="It is alpha."), evidence=evidence)
    ask = ScriptedModel(by_task=reading)
    found = await attribute("q?", told, ask, settings(estimator=estimator))
    values = {item.item: item.value for item in found.claims[0].items}
    assert list(values) == ["lake.sound#0", *(f"library.query_rag#1.{i}" for i in range(3))]
    assert values["library.query_rag#1.2"] == pytest.approx(0)  # moss
    if estimator == "shapley":
        assert sum(v for v in values.values() if v is not None) == pytest.approx(0.0 - 0.5)
        assert values["lake.sound#0"] == pytest.approx(values["library.query_rag#1.0"] or 0)
    if estimator == "leave_one_out":  # without the denial all that is left says so
        assert values["library.query_rag#1.1"] == -1.0


def test_a_context_of_everything_is_the_retrievals_own() -> None:
    evidence = (documents("one", "two"), run_of(), documents("three"))
    items = items_of(evidence)
    whole = Retrieval(status="retrieved", evidence=evidence).context
    assert context_of(evidence, items, frozenset(range(4))) == whole
    assert context_of(evidence, items, frozenset()) == ""
    assert context_of(evidence, items, frozenset({1, 2})) == "A book:\ntwo\n\nThe run says alpha."


def test_documents_in_an_unknown_form_are_one_item() -> None:
    odd = documents().model_copy(update={"outputs": {"hits": 3}, "text": "Something."})
    (item,) = items_of([odd])
    assert (item.kind, item.text) == ("passage", "Something.")


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
