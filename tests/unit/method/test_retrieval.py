"""Step 1: attempts at valid tool calls, and retrieval by the question itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulators.climate import ClimateSimulator
from simulators.joined import JoinedSimulator
from simulators.library import LibrarySimulator
from simulators.library.builder import build_corpus
from simulrag.calls import CallCache
from simulrag.method.retrieval import problems_of, retrieve
from simulrag.method.simulation import Simulations
from simulrag.models.prompts import packaged_prompts
from simulrag.records import Retrieval
from simulrag.testing import ScriptedModel
from tests.unit.simulators.library.conftest import PAGES, write_jsonl

QUESTION = "Why does less ice mean less reflection?"
OSLO = {"calls": [{"tool": "query_lat_and_lon", "arguments": {"city_name": "Oslo"}}]}
NOWHERE = {"calls": [{"tool": "query_lat_and_lon", "arguments": {"city_name": "Nowhere at all"}}]}


def corpus(tmp_path: Path) -> str:
    build_corpus(tmp_path / "corpus", [write_jsonl(tmp_path / "a.jsonl", PAGES)])
    return str(tmp_path / "corpus")


async def from_both(tmp_path: Path, *replies: object) -> tuple[Retrieval, ScriptedModel]:
    settings = {"corpus": corpus(tmp_path), "retrieves_by": "question"}
    source = JoinedSimulator(["climate", {"name": "library", "settings": settings}])
    ask = ScriptedModel(*replies)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        return await retrieve(QUESTION, ask, Simulations(source, cache), max_attempts=1), ask


async def test_plain_retrieval_asks_no_model(tmp_path: Path) -> None:
    source = LibrarySimulator(corpus(tmp_path), retrieves_by="question", top_k=1)
    ask = ScriptedModel()
    with CallCache(tmp_path / "calls", stage="test") as cache:
        found = await retrieve(QUESTION, ask, Simulations(source, cache))
    assert (found.status, ask.asked) == ("by_question", [])
    (evidence,) = found.evidence
    assert evidence.call.arguments == {"query": QUESTION, "top_k": 1}
    assert PAGES["albedo"] in found.context


def searching(query: str, **more: bool) -> dict[str, object]:
    return {"calls": [{"tool": "query_rag", "arguments": {"query": query, "top_k": 1}}], **more}


NOTHING: dict[str, object] = {"calls": []}
NO_MORE: dict[str, object] = {"calls": [], "more": False}


@pytest.mark.parametrize(
    ("replies", "found", "attempts"),
    [
        ([searching("ice albedo"), NO_MORE], ["albedo"], 2),
        ([searching("ice albedo"), searching("carbon", more=True)], ["albedo", "carbon"], 2),
        # The same once more is no more; where a call is refused what was found is not lost.
        ([searching("ice albedo"), searching("ice albedo", more=True)], ["albedo"], 2),
        ([searching("ice albedo"), searching("x" * 3000, more=True)], ["albedo"], 2),
        ([NOTHING], [], 1),
    ],
)
async def test_a_model_searches_a_library_and_sees_what_it_found(
    tmp_path: Path, replies: list[object], found: list[str], attempts: int
) -> None:
    ask = ScriptedModel(*replies)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        source = LibrarySimulator(corpus(tmp_path))
        result = await retrieve(QUESTION, ask, Simulations(source, cache), max_attempts=2)
    assert result.status == ("retrieved" if found else "not_applicable")
    assert [PAGES[name] in result.context for name in PAGES] == [name in found for name in PAGES]
    assert (result.attempts, len(ask.asked)) == (attempts, attempts)
    if attempts == 2:
        first, second = ask.asked
        assert (first["task"], second["task"]) == ("tool_calls", "more_calls")
        shown = ("handbook", "question", "problems", "evidence", "most")
        values = {key: second[key] for key in shown}
        *_, user = packaged_prompts().render("more_calls", **values)
        assert PAGES["albedo"] in user.content
        assert user.content.startswith(f"<question>\n{QUESTION}\n</question>")


def written(task: str, values: dict[str, object]) -> object:
    kind = str(values["kind"])
    names = ["ice", "Ice"] if kind == "entities" else ["a", "b", "c", "d", "e"]
    return {"queries": [f"{name} {kind}" for name in names[: 1 if kind == "entities" else 5]]}


async def test_queries_of_three_kinds_find_passages(tmp_path: Path) -> None:
    source = LibrarySimulator(corpus(tmp_path), retrieves_by="queries", top_k=2)
    ask = ScriptedModel(by_task=written)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        found = await retrieve(QUESTION, ask, Simulations(source, cache))
    assert [call["kind"] for call in ask.asked] == ["entities", "steps", "similar"]
    calls = [one.call.arguments for one in found.evidence]
    assert calls[:2] == [{"query": "ice entities", "top_k": 2}, {"query": "a steps", "top_k": 2}]
    assert (found.status, len(calls)) == ("retrieved", 11)
    for call in ask.asked:
        values = {key: call[key] for key in ("kind", "count", "words", "question")}
        system, _ = packaged_prompts().render("queries", **values)
        assert str(values["words"]) in system.content
    assert JoinedSimulator([source_of(tmp_path), "climate"]).by_queries


def source_of(tmp_path: Path) -> dict[str, object]:
    settings = {"corpus": str(tmp_path / "corpus"), "retrieves_by": "queries"}
    return {"name": "library", "settings": settings}


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("entities", ["a b c d e"], ""),
        ("entities", ["a b c d e f"], "more than 5 words"),
        ("entities", ["Paris 2015"], "holds a date"),
        ("entities", ["2024-08-01"], "holds a date"),
        ("entities", ["noon 12:30"], "holds a date"),
        ("entities", ["COVID-19", "G20", "sector 12"], ""),
        ("entities", list("abcdef"), "give 5 queries, not 6"),
        ("entities", ["ice", "Ice "], "give each query once"),
        ("steps", list("abcd"), "give 5 queries, not 4"),
        ("similar", ["in 2015", *"abcd"], ""),
    ],
)
def test_queries_that_do_not_fit_their_kind(kind: str, given: list[str], words: str) -> None:
    found = "; ".join(problems_of(kind, given))
    assert words in found
    assert bool(words) == bool(found)


async def test_passages_by_the_question_stand_beside_runs_by_a_model(tmp_path: Path) -> None:
    found, ask = await from_both(tmp_path, OSLO)
    assert found.status == "retrieved"
    assert [item.simulator for item in found.evidence] == ["library", "climate"]
    assert len(ask.asked) == 1


async def test_passages_stay_where_no_tool_applies(tmp_path: Path) -> None:
    found, _ = await from_both(tmp_path, {"calls": []})
    assert found.status == "by_question"
    assert [item.simulator for item in found.evidence] == ["library"]


async def test_calls_that_fail_are_a_failure_beside_passages_too(tmp_path: Path) -> None:
    found, _ = await from_both(tmp_path, NOWHERE)
    assert (found.status, found.evidence) == ("failed", ())
    assert "Nowhere" in found.problems[0]


async def test_an_attempt_that_failed_alike_is_asked_anew(tmp_path: Path) -> None:
    ask = ScriptedModel(NOWHERE, NOWHERE, OSLO)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        found = await retrieve("q?", ask, Simulations(ClimateSimulator(), cache), max_attempts=3)
    assert (found.status, found.attempts) == ("retrieved", 3)
    first, second, third = ask.asked
    assert not first["problems"]
    assert second["problems"] == third["problems"] != []
    assert [attempt["sample_index"] for attempt in ask.asked] == [0, 0, 1]
