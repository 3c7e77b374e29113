"""Which source fits, from handbooks; and an answer where none does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.hooks import prompts_of
from flows.params import check_params
from rooms.routing.route import Fit, Route, Routed, near_misses, route, routed
from simulators.base import ArgumentError, Simulator
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.errors import InputError, ModelUnavailable, ReplyInvalid
from simulrag.method.simulation import NoSource, Simulations
from simulrag.testing.scripted import ScriptedModel
from tests.recorded import ROOT


@pytest.fixture(scope="module")
def sources() -> dict[str, Simulator]:
    return {"city": load("urban"), "earth": load("climate", {"backend": "physics"})}


def fit(source: str, fit: str, tool: str = "", covers: str = "") -> dict[str, str]:
    return {"source": source, "fit": fit, "covers": covers, "tool": tool}


CITY = fit("city", "partly", "run_scenario", "the travel time")


def test_a_domain_that_does_not_run_is_refused() -> None:
    text = (ROOT / "params.yaml").read_text()
    wrong = text.replace("routing:\n  domains: [", "routing:\n  domains: [atlantis, eden, ")
    said = (
        r"routing\.domains: 'atlantis', 'eden' not among the domains that run; `simulrag domains u"
    )
    with pytest.raises(InputError, match=said):
        check_params(wrong, "params.yaml")


async def test_all_sources_are_asked_about_in_one_call(sources: dict[str, Simulator]) -> None:
    model = ScriptedModel({"sources": [fit("earth", "not"), CITY]})
    found = await route("How long is the ride?", sources, model)
    assert [one.source for one in found.fits] == ["city", "earth"]
    assert found.chosen == "city"
    (asked,) = model.asked
    assert asked["task"] == "route"
    system, user = prompts_of(ROOT / "prompts").render(
        "route", **{k: asked[k] for k in ("sources", "question")}
    )
    assert "# Source: earth" in system.content
    assert "| speed_factor |" in system.content
    assert "How long is the ride?" in user.content


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ([CITY], "give source 'earth' exactly once"),
        ([CITY, CITY, fit("earth", "not")], "give source 'city' exactly once"),
        ([CITY, fit("earth", "not"), fit("sea", "not")], "there is no source 'sea'"),
        ([fit("city", "fits", "fly"), fit("earth", "not")], "there is no tool 'fly'"),
        ([fit("city", "not", covers="all"), fit("earth", "not")], "leave covers and tool empty"),
    ],
)
async def test_a_reply_that_names_what_is_not_there_is_refused(
    sources: dict[str, Simulator], reply: list[Any], words: str
) -> None:
    with pytest.raises(ReplyInvalid, match=words):
        await route("How long?", sources, ScriptedModel({"sources": reply}))


def test_a_source_that_fits_comes_before_one_that_does_partly() -> None:
    city, earth = Fit(source="city", fit="partly"), Fit(source="earth", fit="fits")
    assert Route(fits=(city, earth)).chosen == "earth"
    assert Route(fits=(city, Fit(source="earth", fit="partly"))).chosen == "city"
    assert Route(fits=(Fit(source="city", fit="not"),)).chosen is None


async def test_a_question_of_a_test_keeps_what_failed(sources: dict[str, Simulator]) -> None:
    asked = Routed.of("q", "How?", "own", "city")
    reply = {"sources": [CITY, fit("earth", "not")]}
    found = await routed(asked, sources, ScriptedModel(reply))
    assert found.route is not None
    assert (found.route.chosen, found.failure) == ("city", None)
    found = await routed(asked, sources, ScriptedModel(ModelUnavailable("down")))
    assert (found.route, found.failure) == (None, "down")


def outside(question: str = "How long with four lanes?", **changes: Any) -> dict[str, Any]:
    call = {"tool": "run_scenario", "arguments": [{"argument": "lanes", "value": 4}]}
    said = {"question": question, "missing": "four lanes", "argument": "lanes", "inside": 3}
    return {**call, **said, **changes}


def beside(question: str = "How loud is it?", **changes: Any) -> dict[str, Any]:
    call = {"tool": "run_scenario", "arguments": [{"argument": "lanes", "value": 1}]}
    return {**call, "question": question, "missing": "noise", "nearest": "co2_mg", **changes}


def written(*outside: Any, near: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {"out_of_range": list(outside), "not_returned": list(near)}


@pytest.fixture
def runs(sources: dict[str, Simulator], tmp_path: Path) -> Iterator[Simulations]:
    with CallCache(tmp_path, stage="test") as cache:
        yield Simulations(sources["city"], cache)


async def test_near_misses_are_proven_by_a_refusal_or_a_run(
    sources: dict[str, Simulator], runs: Simulations
) -> None:
    model = ScriptedModel(written(outside(), near=(beside(),)))
    found = await near_misses("city", sources, model, runs, 0, 2)
    assert [(one.question_id, one.kind, one.right) for one in found] == [
        ("near-city-1", "out_of_range", None),
        ("near-city-2", "not_returned", None),
    ]
    assert "refuses its arguments: lanes" in found[0].proof
    assert found[0].proof.endswith("with lanes 3 it runs")
    assert "runs and returns travel_time_s" in found[1].proof
    assert runs.runs == 2
    values = {name: model.asked[0][name] for name in ("name", "sources", "count")}
    system, user = prompts_of(ROOT / "prompts").render("near_misses", **values)
    assert "# Source: earth" in system.content
    assert user.content.endswith('2 questions in all that seem made for source "city".')
    assert await near_misses("city", sources, model, runs, 0, 0) == []


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (written(outside()), "give 2 different questions, not 1"),
        (written(outside("How?"), outside("how?  ")), "give 2 different questions, not 1"),
        (written(outside(), outside("And 3?", inside=5)), "with lanes inside"),
        (written(outside(), outside("And 3?", argument="limit")), "do not hold 'limit'"),
        (
            written(outside(), outside("A?", arguments=[{"argument": "lanes", "value": 2}])),
            "takes these arguments, so lanes is not out of range",
        ),
        (written(outside(), near=(beside(nearest="noise_db"),)), "nearest is one of travel_time_s"),
        (written(outside(), near=(beside(tool="fly"),)), "has no tool 'fly'"),
    ],
)
async def test_a_near_miss_that_its_call_does_not_show_is_refused(
    sources: dict[str, Simulator], runs: Simulations, reply: Any, words: str
) -> None:
    with pytest.raises(ReplyInvalid, match=words):
        await near_misses("city", sources, ScriptedModel(reply), runs, 0, 2)


async def test_without_sources_nobody_is_asked() -> None:
    model = ScriptedModel()
    assert (await route("How long?", {}, model)).chosen is None
    assert model.asked == []


def test_nothing_can_be_run_without_a_source() -> None:
    assert isinstance(NoSource(), Simulator)
    with pytest.raises(ArgumentError, match="no source fits"):
        NoSource().run("a", {}, 0)
