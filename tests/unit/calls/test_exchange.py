"""Exports and imports."""

from __future__ import annotations

import asyncio
import io
import json
import os
from pathlib import Path

import polars
import pytest

from simulrag.calls import (
    CallCache,
    CallResult,
    ImportReport,
    asked_for,
    cache_stats,
    call_key,
    copy_cache,
    exchange,
    export_cache,
    import_cache,
    read_calls,
    verify_cache,
)
from simulrag.errors import EnvironmentFault, InputError
from simulrag.records import Usage

RECORDED = Path(__file__).resolve().parents[3] / "data/recorded"


def request(n: int) -> dict[str, object]:
    return {"provider": "p", "endpoint": "e", "model": "m", "sample_index": n, "t": n / 2}


async def fill(folder: Path, numbers: list[int], export: Path | None = None) -> int:
    """Ask for these calls, the odd ones for one task; the number of those that were made."""
    made = 0

    async def call() -> CallResult:
        nonlocal made
        made += 1
        return CallResult({"text": "größer", "x": 1.0}, {"output_tokens": 2}, "v1")

    with CallCache(folder, stage="answer") as cache:
        for n in numbers:
            task = "verify" if n % 2 else "final"
            await cache.get_or_call("model", request(n), call, task=task)  # type: ignore[arg-type]
        if export is not None:
            assert cache.export(export) == len(set(numbers))
    return made


async def test_an_import_replaces_every_call_and_exports_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "deep" / "er" / "one.parquet", tmp_path / "two.parquet"
    await fill(tmp_path / "a", [3, 1, 2, 1], one)  # asked for in another order
    with CallCache(tmp_path / "b", stage="answer") as cache:
        assert cache.import_calls(one) == ImportReport(imported=3)
        assert cache.import_calls(one) == ImportReport(present=3)
    assert await fill(tmp_path / "b", [1, 2, 3], two) == 0
    assert one.read_bytes() == two.read_bytes()
    assert [path.name for path in one.parent.iterdir()] == ["one.parquet"]


async def test_a_file_of_several_groups_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups are written and read one at a time; a file of one group is as it ever was."""
    numbers = list(range(25))
    whole, parted = tmp_path / "whole.parquet", tmp_path / "parted.parquet"
    await fill(tmp_path / "a", numbers, whole)
    content = io.BytesIO()
    polars.read_parquet(whole).write_parquet(content, compression="zstd")
    assert content.getvalue() == whole.read_bytes()
    monkeypatch.setattr(exchange, "ROWS_PER_GROUP", 10)
    monkeypatch.setattr(exchange, "ROWS_PER_TRANSACTION", 4)
    await fill(tmp_path / "a", numbers, parted)
    assert polars.read_parquet(parted).equals(polars.read_parquet(whole))
    with CallCache(tmp_path / "b", stage="answer") as cache:
        assert cache.import_calls(parted) == ImportReport(imported=25)
    assert await fill(tmp_path / "b", numbers) == 0


async def test_an_export_holds_this_runs_calls_with_their_tasks_and_without_time(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.parquet"
    await fill(tmp_path / "c", [1, 2, 3])
    await fill(tmp_path / "c", [5, 2], path)  # one miss, one hit
    frame = polars.read_parquet(path)
    columns = ["key", "kind", "request", "response", "usage", "model_version"]
    columns += ["context", "task", "questions"]
    assert frame.columns == columns
    assert frame["key"].to_list() == sorted(frame["key"])
    requests = [json.loads(text) for text in frame["request"]]
    assert {request["sample_index"] for request in requests} == {2, 5}
    assert all("task" not in request for request in requests)
    named = dict(zip((r["sample_index"] for r in requests), frame["task"], strict=True))
    assert named == {2: "final", 5: "verify"}
    assert set(frame["response"]) == {'{"text":"größer","x":1.0}'}
    assert set(frame["usage"]) == {'{"output_tokens":2}'}


async def test_a_file_that_does_not_tell_the_writers_is_imported(tmp_path: Path) -> None:
    whole, old = tmp_path / "whole.parquet", tmp_path / "old.parquet"
    await fill(tmp_path / "a", [1, 2], whole)
    frame = polars.read_parquet(whole)
    assert frame["context"].to_list() == [None, None]
    frame.drop("context", "task", "questions").write_parquet(old)
    with CallCache(tmp_path / "b", stage="answer") as cache:
        assert cache.import_calls(old) == ImportReport(imported=2)
    assert {row.context for row in read_calls(tmp_path / "b")} == {""}


def test_a_run_without_calls_exports_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    with CallCache(tmp_path / "c", stage="a") as cache:
        assert cache.export(path) == 0
        assert cache.import_calls(path) == ImportReport()


async def test_a_row_whose_key_is_not_its_requests_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    await fill(tmp_path / "a", [1, 2, 3, 4, 5], path)
    frame = polars.read_parquet(path)
    lines = frame.to_dicts()
    lines[0]["request"] = lines[0]["request"].replace('"model":"m"', '"model":"dear"')
    lines[1]["response"] = "NaN"
    lines[2]["usage"] = None
    lines[3]["request"] = lines[3]["request"].replace(",", ", ")
    polars.DataFrame(lines, schema=frame.schema).write_parquet(path)
    report = import_cache(tmp_path / "b", path)
    assert (report.imported, report.present) == (1, 0)
    assert [text.partition(":")[0] for text in report.refused] == frame["key"].to_list()[:4]
    assert "does not belong to its request" in report.refused[0]
    assert cache_stats(tmp_path / "b").entries == 1
    assert verify_cache(tmp_path / "b").problems == ()


async def test_an_import_never_overwrites_and_refresh_imports_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    await fill(tmp_path / "a", [1], path)
    lines = polars.read_parquet(path).with_columns(response=polars.lit('"forged"'))
    lines.write_parquet(path)
    with CallCache(tmp_path / "a", stage="answer") as cache:
        assert cache.import_calls(path) == ImportReport(present=1)
    assert export_cache(tmp_path / "a", tmp_path / "all.parquet") == 1
    assert "forged" not in polars.read_parquet(tmp_path / "all.parquet")["response"][0]
    with CallCache(tmp_path / "b", stage="answer", mode="refresh") as cache:
        assert cache.import_calls(path) == ImportReport()
    assert cache_stats(tmp_path / "b").entries == 0


def test_what_is_no_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no export at .*nowhere"):
        import_cache(tmp_path / "c", tmp_path / "nowhere.parquet")
    text = tmp_path / "text.parquet"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"text\.parquet cannot be read as Parquet"):
        import_cache(tmp_path / "c", text)
    other = tmp_path / "other.parquet"
    polars.DataFrame({"key": [1], "kind": ["model"]}).write_parquet(other)
    with pytest.raises(InputError, match="lacks the text columns key, request, response"):
        import_cache(tmp_path / "c", other)


def test_an_unwritable_export_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    asyncio.run(fill(tmp_path / "c", [1]))
    os.mkfifo(tmp_path / "pipe")
    there = (tmp_path / "file" / "x.parquet", tmp_path / "folder", tmp_path / "pipe")
    for path in (*there, Path(), Path("/")):
        with pytest.raises(EnvironmentFault, match=r"cannot be exported to .*still in the cache"):
            export_cache(tmp_path / "c", path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "file", "folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


async def test_a_copy_holds_all_and_may_be_repeated(tmp_path: Path) -> None:
    one, two = tmp_path / "a", tmp_path / "b"
    await fill(one, [1, 2, 3])
    with CallCache(one, stage="label") as cache:
        cache.ledger().note(("p", "e", "m"), Usage(calls=1, input_tokens=7), "batch")
    assert copy_cache(one, two) == ImportReport(imported=6)  # calls, stages, what was paid
    assert copy_cache(one, two) == ImportReport(present=6)
    assert list(read_calls(two)) == list(read_calls(one))
    assert cache_stats(two).stages == cache_stats(one).stages
    with CallCache(two, stage="look") as cache:
        (spent,) = cache.ledger().news()
    assert (spent.name, spent.usage.input_tokens, spent.service) == (("p", "e", "m"), 7, "batch")
    with pytest.raises(InputError, match="no call cache at"):
        copy_cache(tmp_path / "nowhere", two)


async def test_an_export_names_a_calls_first_task_and_all_its_questions(tmp_path: Path) -> None:
    async def call() -> CallResult:
        return CallResult("once")

    async def ask(question: str, task: str) -> None:
        with asked_for(question):
            await cache.get_or_call("model", {"model": "m"}, call, task=task)

    with CallCache(tmp_path / "c", stage="answer") as cache:
        await ask("urban-2", "boundary")
        await asyncio.gather(*(ask(question, "verify") for question in ("urban-1", "urban-2")))
        await cache.get_or_call("model", {"model": "of none"}, call)
        assert cache.export(tmp_path / "x.parquet") == 2
    named = polars.read_parquet(tmp_path / "x.parquet").select("task", "questions")
    assert sorted(named.iter_rows()) == [("", ""), ("boundary", "urban-1 urban-2")]


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*-urban.parquet")), ids=lambda p: p.stem)
def test_recorded_calls_keep_their_keys_and_come_back_as_they_were(
    tmp_path: Path, path: Path
) -> None:
    rows = polars.read_parquet(path)
    assert import_cache(tmp_path / "a", path) == ImportReport(imported=rows.height)
    assert export_cache(tmp_path / "a", tmp_path / "again.parquet") == rows.height
    again = polars.read_parquet(tmp_path / "again.parquet")
    assert set(again["task"]) == {""}  # a whole cache knows of no task
    again = again.drop("task", "questions")
    if "context" not in rows.columns:  # recorded before it was told
        again = again.filter(polars.col("context").is_null()).drop("context")
    assert again.equals(rows.select(again.columns))
    for kind, request, key in rows.select("kind", "request", "key").head(20).iter_rows():
        assert call_key(kind, json.loads(request)) == key
