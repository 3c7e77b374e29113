"""Retrieval by the question itself, alone and beside tool calls."""

from __future__ import annotations

from pathlib import Path

from simulators.joined import JoinedSimulator
from simulators.library import LibrarySimulator
from simulators.library.builder import build_corpus
from simulrag.calls import CallCache
from simulrag.method.retrieval import retrieve
from simulrag.method.simulation import Simulations
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


async def test_a_model_writes_the_queries_of_a_library(tmp_path: Path) -> None:
    query = {"calls": [{"tool": "query_rag", "arguments": {"query": "ice albedo"}}]}
    ask = ScriptedModel(query)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        source = LibrarySimulator(corpus(tmp_path))
        found = await retrieve(QUESTION, ask, Simulations(source, cache))
    assert found.status == "retrieved"
    assert PAGES["albedo"] in found.context


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
