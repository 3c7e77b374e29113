"""Statistics, verification, and what is said of a call that is not recorded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simulrag.calls import (
    CallCache,
    CallResult,
    cache_stats,
    verify_cache,
)
from simulrag.calls.inspection import CacheStats, VerifyReport, explain_miss
from simulrag.errors import CacheError, NotStored
from tests.unit.calls.conftest import Paid


async def test_statistics_count_entries_stages_and_versions(place: Path) -> None:
    call = Paid()

    async def other_version() -> CallResult:
        return CallResult("x", model_version="rules-2")

    def request(n: int) -> Any:
        return {"provider": "p", "endpoint": "e", "model": "m", "n": n}

    with CallCache(place, stage="answer-urban") as cache:
        await cache.get_or_call("model", request(1), call)
        await cache.get_or_call("model", request(2), other_version)
        await cache.get_or_call("simulator", {"tool": "t"}, call)
        await cache.get_or_call("simulator", {"tool": "t"}, call)
    with CallCache(place, stage="label-urban", mode="replay") as cache:
        await cache.get_or_call("model", request(1), call)
        with pytest.raises(NotStored):
            await cache.get_or_call("model", request(3), call)
    stats = cache_stats(place)
    assert stats.entries == 3
    assert stats.by_kind == {"model": 2, "simulator": 1}
    assert stats.size_bytes > 1000
    answer = stats.stages["answer-urban"]
    assert (answer.hits, answer.misses, answer.model_misses) == (1, 3, 2)
    assert (answer.simulator_hits, answer.simulator_misses) == (1, 1)
    assert stats.stages["label-urban"].model_dump() == {
        "mode": "replay",
        "hits": 1,
        "misses": 0,
        "missing": 1,
        "model_hits": 1,
        "model_misses": 0,
        "model_missing": 1,
        "simulator_hits": 0,
        "simulator_misses": 0,
        "simulator_missing": 0,
    }
    assert stats.versions == {"p/e/m": {"rules-1": 1, "rules-2": 1}}
    assert [(row.name, row.calls) for row in stats.times] == [("None.t", 1), ("p/e/m", 2)]
    assert all(0 < row.median_s <= row.slowest_s <= row.total_s for row in stats.times)


async def test_imported_calls_have_no_times(place: Path, tmp_path: Path) -> None:
    file = tmp_path / "calls.parquet"
    with CallCache(place, stage="answer") as cache:
        await cache.get_or_call("model", {"n": 1}, Paid())
        cache.export(file)
    with CallCache(tmp_path / "other", stage="answer") as other:
        other.import_calls(file)
    stats = cache_stats(tmp_path / "other")
    assert (stats.entries, stats.times) == (1, ())


def test_no_cache_is_an_empty_one(place: Path) -> None:
    assert cache_stats(place) == CacheStats()
    assert verify_cache(place) == VerifyReport(rows=0, problems=())
    assert not place.exists()


async def test_verification_names_each_bad_row(place: Path) -> None:
    with CallCache(place, stage="a") as cache:
        for n in range(5):
            await cache.get_or_call("model", {"n": n}, Paid())
    assert verify_cache(place) == VerifyReport(rows=6, problems=())
    with closing(sqlite3.connect(place / "cache.db")) as database, database:
        keys = [key for (key,) in database.execute("SELECT key FROM Cache WHERE key GLOB 'call/*'")]
        statements = ("expire_time = 1", "raw = 0", "mode = 4", "key = x'00'", "key = 'what/ever'")
        for key, statement in zip(keys, statements, strict=True):
            database.execute(f"UPDATE Cache SET {statement} WHERE key = ?", (key,))
        database.execute("UPDATE Cache SET value = '{\"hits\":\"x\"}' WHERE key = 'stage/a'")
    report = verify_cache(place)
    assert report.rows == 6
    assert {problem.key for problem in report.problems} == {
        *keys[:3],
        "b'\\x00'",
        "what/ever",
        "stage/a",
    }


def test_a_file_that_is_no_database_is_a_problem_and_no_crash(place: Path) -> None:
    place.mkdir()
    (place / "cache.db").write_bytes(b"no database, just text " * 1000)
    (problem,) = verify_cache(place).problems
    assert problem.key == str(place)
    assert "not a database" in problem.what
    with pytest.raises(CacheError, match="Move the folder away"):
        cache_stats(place)


async def paid() -> CallResult:
    return CallResult("an answer")


def _sheet(text: str, model: str = "m", **more: Any) -> Any:
    messages = [{"role": "system", "content": "Split it."}, {"role": "user", "content": text}]
    schema = {"title": "Claims", "type": "object"}
    return {"model": model, "messages": messages, "schema": schema, "sample_index": 0, **more}


async def test_a_miss_is_explained_by_the_nearest_recorded_call(tmp_path: Path) -> None:
    with CallCache(tmp_path, stage="a") as cache:
        for text in ("The limit falls to 40 km/h.", "The limit rises."):
            await cache.get_or_call("model", _sheet(text), paid)
        await cache.get_or_call("simulator", {"tool": "t"}, paid)
    told = explain_miss(tmp_path, _sheet("The limit falls to 30 km/h."))
    assert "('Claims') differs: its messages, from character 29 on:" in told
    assert "40 km/h.' there" in told
    assert "30 km/h.' here" in told
    told = explain_miss(tmp_path, _sheet("The limit rises.", "other", sampling={"top_p": 0.5}))
    assert told.endswith(
        'differs: model is "m" there and "other" here; sampling is null there and {"top_p":0.5} '
        "here."
    )
    free = _sheet("?") | {"schema": None}
    assert explain_miss(tmp_path, free) == "No call like it is recorded ('Split it.')."
    assert explain_miss(tmp_path / "none", free).startswith("No call like it")
