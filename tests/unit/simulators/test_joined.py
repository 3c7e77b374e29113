"""Two sources as one: tools, handbooks, and whose run a run is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.params import load_params, params_class
from simulators.base import ArgumentError, Guided, Joined, Simulator, handbook_with_guide
from simulators.conformance import check
from simulators.joined import JoinedSimulator
from simulators.library.builder import build_corpus
from simulators.registry import load
from simulrag.calls import CallCache
from simulrag.method.simulation import Simulations
from tests.unit.simulators import reservoir
from tests.unit.simulators.library.conftest import PAGES, write_jsonl

ROOT = Path(__file__).resolve().parents[3]
OSLO = ("query_lat_and_lon", {"city_name": "Oslo"})
ICE = ("query_rag", {"query": "ice"})


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    build_corpus(tmp_path / "corpus", [write_jsonl(tmp_path / "a.jsonl", PAGES)])
    return tmp_path / "corpus"


def joined(corpus: Path, **settings: Any) -> JoinedSimulator:
    library = {"name": "library", "settings": {"corpus": str(corpus), **settings}}
    return JoinedSimulator(["climate", library])


def test_tools_and_handbooks_are_united(corpus: Path) -> None:
    both = joined(corpus)
    climate, library = both.sources
    assert isinstance(both, Simulator)
    assert isinstance(both, Joined)
    assert list(both.tools) == [*climate.tools, "query_rag"]
    assert both.handbook() == f"{climate.handbook()}\n{library.handbook()}"
    assert both.source_of("query_rag") is library
    assert set(both.examples()) == set(both.tools)
    assert isinstance(climate, Guided)
    assert climate.guide().strip() in handbook_with_guide(both)
    with pytest.raises(ArgumentError, match="joined has no tool 'fly'"):
        both.source_of("fly")


async def test_a_run_paid_for_alone_is_a_hit_when_joined(corpus: Path, tmp_path: Path) -> None:
    with CallCache(tmp_path / "calls", stage="test") as cache:
        alone = Simulations(load("climate"), cache)
        first = await alone.run(*OSLO, seed=0)
        together = Simulations(joined(corpus), cache)
        assert await together.run(*OSLO, seed=0) == first
        assert (alone.runs, together.runs) == (1, 0)
        passages = await together.run(*ICE, seed=0)
        assert (passages.simulator, together.runs) == ("library", 1)


async def test_a_new_corpus_repays_no_run_of_the_simulator(corpus: Path, tmp_path: Path) -> None:
    with CallCache(tmp_path / "calls", stage="test") as cache:
        before = Simulations(joined(corpus), cache)
        for call in (OSLO, ICE):
            await before.run(*call, seed=0)
        build_corpus(corpus, [write_jsonl(tmp_path / "a.jsonl", {"ice": "Ice is cold."})])
        after = Simulations(joined(corpus), cache)
        assert before.simulator.fingerprint() != after.simulator.fingerprint()
        await after.run(*OSLO, seed=0)
        assert after.runs == 0
        evidence = await after.run(*ICE, seed=0)
        assert after.runs == 1
        assert "Ice is cold." in evidence.text


def test_it_keeps_the_protocol(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservoir.install(tmp_path, monkeypatch, reservoir.source())
    library = {"name": "library", "settings": {"corpus": str(corpus)}}
    findings = check("joined", {"sources": ["reservoir", library]})
    assert {finding.what: finding.problems for finding in findings if not finding.passed} == {}


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        (["climate"], "at least two sources"),
        ("climate", "at least two sources"),
        (["climate", "climate"], "'climate' and 'climate' both have a tool"),
        (["climate", "joined"], "cannot be joined again"),
        (["climate", "nobody"], "no simulator 'nobody' is registered"),
        (["climate", {"name": "library", "folder": "x"}], "a source of joined is a name, or"),
        (["climate", {"settings": {}}], "a source of joined is a name, or"),
        (["climate", {"name": "library", "settings": {"folder": "x"}}], "do not fit"),
    ],
)
def test_what_cannot_be_joined_is_named(sources: Any, reason: str) -> None:
    with pytest.raises(ArgumentError, match=reason):
        JoinedSimulator(sources)


def test_published_evidence_is_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text('{"text": "Why?", "evidence": [{"text": "So."}]}\n')
    replay = {"name": "replay", "settings": {"benchmark": str(path), "domain": "climate"}}
    with pytest.raises(ArgumentError, match="'replay' holds evidence by question"):
        JoinedSimulator(["climate", replay])


def test_sources_are_other_domains_of_the_parameters() -> None:
    params = load_params(ROOT / "params.yaml").model_dump()
    books = {"name": "library", "settings": {"corpus": "corpus/climate"}}
    inline = {"name": "library", "settings": {"corpus": "corpus/more"}}
    params["simulators"]["books"] = books
    for sources in (["climate", "books"], ["climate", inline], ["fair", "books"]):
        params["simulators"]["both"] = {"name": "joined", "settings": {"sources": sources}}
        name, settings = params_class().model_validate(params).chosen("both", Path("/project"))
        assert name == "joined"
        first, second = settings["sources"]  # type: ignore[misc]
        climate = {"name": "climate", "settings": {"backend": "physics"}}
        assert first == (climate if sources[0] == "climate" else "fair")
        place = "/project/corpus/more" if sources[1] is inline else "/project/corpus/climate"
        assert second == {"name": "library", "settings": {"corpus": place}}
