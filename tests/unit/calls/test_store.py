"""Where a call cache may lie; a folder is data: whatever is planted in it, no code runs."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from diskcache import Cache

from simulrag.calls import (
    CallCache,
    CallResult,
    RedisPlace,
    cache_stats,
    call_key,
    parse_place,
    verify_cache,
)
from simulrag.calls.store import FolderStore, pending_place
from simulrag.errors import CacheError, InputError

REQUEST = {"provider": "p", "model": "m"}
KEY = call_key("model", REQUEST)


class Bomb:
    """Unpickling it writes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.mark, "boom")


async def _stored(place: Path) -> None:
    async def call() -> CallResult:
        return CallResult("the answer")

    with CallCache(place, stage="a") as cache:
        await cache.get_or_call("model", REQUEST, call)


def _tamper(place: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(place / "cache.db")) as database, database:
        done = database.execute(
            f"UPDATE Cache SET {statement} WHERE key = ?", (*values, f"call/{KEY}")
        )
        assert done.rowcount == 1


async def _never() -> CallResult:
    raise AssertionError("a call was repaid behind the user's back")


async def test_a_planted_pickle_is_refused_and_not_run(place: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    bomb = pickle.dumps(Bomb(mark))
    await _stored(place)
    _tamper(place, "mode = 4, value = ?", bomb)
    with (
        CallCache(place, stage="a") as cache,
        pytest.raises(CacheError, match=rf"call/{KEY}.*not inline text.*cache verify"),
    ):
        await cache.get_or_call("model", REQUEST, _never)
    assert len(verify_cache(place).problems) == 1
    with pytest.raises(CacheError, match="tampered"):
        cache_stats(place)
    assert not mark.exists()
    with Cache(str(place)) as plain:  # the same row does run code in diskcache itself
        plain.get(f"call/{KEY}")
    assert mark.exists()


async def test_a_pickle_in_a_file_is_refused_and_the_file_left_alone(
    place: Path, tmp_path: Path
) -> None:
    mark, outside = tmp_path / "mark", tmp_path / "outside"
    outside.write_bytes(pickle.dumps(Bomb(mark)))
    await _stored(place)
    _tamper(place, "mode = 4, value = NULL, filename = ?", str(outside))
    with (
        CallCache(place, stage="a") as cache,
        pytest.raises(CacheError, match="not inline text"),
    ):
        await cache.get_or_call("model", REQUEST, _never)

    async def call() -> CallResult:
        return CallResult("fresh")

    with CallCache(place, stage="a", mode="refresh") as cache:  # overwrites the row
        await cache.get_or_call("model", REQUEST, call)
    assert outside.exists()
    assert not mark.exists()
    assert verify_cache(place).problems == ()


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("mode = 2, filename = ?", "cache.db"),
        ("mode = 3, filename = ?", "missing.val"),
        ("mode = 9, value = ?", "{}"),
        ("value = ?", b"bytes"),
        ("value = ?", 7),
        ("value = ?", None),
        ("value = CAST(? AS TEXT)", b"\xff\xfe"),
        ("value = ?", ""),
        ("value = ?", "{"),
        ("value = ?", "[" * 100_000),
        ("value = ?", "NaN"),
        ("value = ?", '{"key":"x"}'),
        ("value = replace(value, 'the answer', ?)", '"'),
        ("value = replace(value, '\"m\"', ?)", '"other model"'),
        ("value = replace(value, '\"request\":{', ?)", '"request":{"x":1,'),
        ('value = replace(value, \'"kind":"model"\', ?)', '"kind":"simulator"'),
        ("value = replace(value, '\"usage\":{}', ?)", '"usage":{"calls":-1}'),
        ("value = replace(value, '\"usage\":{}', ?)", '"usage":{"steps":1}'),
        ("value = replace(value, '\"usage\":{}', ?)", '"usage":[1]'),
    ],
)
async def test_every_tampered_row_is_an_error(place: Path, statement: str, value: object) -> None:
    await _stored(place)
    _tamper(place, statement, value)
    with (
        CallCache(place, stage="a") as cache,
        pytest.raises(CacheError, match=rf"call/{KEY}.*simulrag cache verify"),
    ):
        await cache.get_or_call("model", REQUEST, _never)
    assert [problem.key for problem in verify_cache(place).problems] == [f"call/{KEY}"]


OTHER = f"call/{'0' * 64}"


@pytest.mark.parametrize(
    ("statement", "value", "named"),
    [
        ("expire_time = ?", 1.0, f"call/{KEY}"),
        ("expire_time = ?", 0, f"call/{KEY}"),
        ("raw = ?", 0, f"call/{KEY}"),
        ("key = ?", OTHER, OTHER),
        ("key = ?", f"stage/{KEY}", f"stage/{KEY}"),
        ("key = ?", f"call/{KEY} ", f"call/{KEY} "),
        ("key = CAST(? AS BLOB)", f"call/{KEY}", f"call/{KEY}"),
        ("key = ?", pickle.dumps(("call", KEY)), "call"),
        ("key = ?", None, "None"),
    ],
)
async def test_a_row_that_would_not_be_found_is_not_paid_again(
    place: Path, statement: str, value: object, named: str
) -> None:
    await _stored(place)
    _tamper(place, statement, value)
    for mode in ("normal", "deferred", "replay"):
        with (
            CallCache(place, stage="a", mode=mode) as cache,
            pytest.raises(CacheError, match=rf"cache row .*{named}.*cache verify.*refresh"),
        ):
            await cache.get_or_call("model", REQUEST, _never)
    assert verify_cache(place).problems

    async def call() -> CallResult:
        return CallResult("fresh")

    with CallCache(place, stage="a", mode="refresh") as cache:  # the way on that is told
        await cache.get_or_call("model", REQUEST, call)
    with CallCache(place, stage="a") as cache:
        assert (await cache.get_or_call("model", REQUEST, _never)).call.response == "fresh"


async def test_other_calls_are_made_beside_a_row_of_another_name(place: Path) -> None:
    await _stored(place)
    _tamper(place, "key = ?", OTHER)

    async def call() -> CallResult:
        return CallResult("new")

    with CallCache(place, stage="a") as cache:
        other = {**REQUEST, "model": "another"}
        assert not (await cache.get_or_call("model", other, call)).hit


async def test_a_row_that_holds_another_call_is_an_error(place: Path) -> None:
    await _stored(place)
    other = call_key("model", {"provider": "p", "model": "other"})
    _tamper(place, "key = ?", f"call/{other}")
    with (
        CallCache(place, stage="a") as cache,
        pytest.raises(CacheError, match="holds another call"),
    ):
        await cache.get_or_call("model", {"provider": "p", "model": "other"}, _never)


def test_a_setting_that_is_none_of_diskcaches_is_an_error(place: Path) -> None:
    FolderStore(place).close()
    with closing(sqlite3.connect(place / "cache.db")) as database, database:
        database.execute("INSERT INTO Settings VALUES ('disk_opens', 'doors')")
    with pytest.raises(CacheError, match="corrupt"):
        FolderStore(place)


@pytest.mark.parametrize("value", [b"bytes", 1, 1.5, ["list"], Path()])
def test_only_text_is_written(place: Path, value: Any) -> None:
    store = FolderStore(place)
    with pytest.raises(TypeError, match="text"):
        store.put({"stage/b": "text", "stage/a": value})
    assert (store.get("stage/a"), store.get("stage/b")) == (None, None)


def test_only_text_is_a_key(place: Path) -> None:
    store: Any = FolderStore(place)
    with pytest.raises(TypeError, match="keys are text, not tuple"):
        store.get(("a", 1))
    with pytest.raises(TypeError, match="keys are text, not tuple"):
        store.put({("a", 1): "text"})


def test_a_folder_name_with_a_variable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "x"))
    with pytest.raises(Exception, match="choose a folder without"):
        FolderStore(tmp_path / "$ELSEWHERE")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (".cache/calls", Path("/project/.cache/calls")),
        ("diskcache:.cache/calls", Path("/project/.cache/calls")),
        ("diskcache:/scratch/calls", Path("/scratch/calls")),
        ("/scratch/a:b", Path("/scratch/a:b")),
        ("redis://node17", RedisPlace("node17")),
        ("redis://node17:6380/3", RedisPlace("node17", 6380, 3)),
        ("redis://worker@node17/1", RedisPlace("node17", database=1, username="worker")),
        ("redis://[::1]:6380/0", RedisPlace("::1", 6380)),
        ("rediss://worker@node17/1", RedisPlace("node17", 6379, 1, "worker", tls=True)),
    ],
)
def test_a_place_is_a_folder_or_a_redis_database(text: str, place: object) -> None:
    assert parse_place(text, Path("/project")) == place


@pytest.mark.parametrize(
    "text", ["redis://node17:6380/3", "rediss://w@h:6379/0", "redis://[::1]:1/0"]
)
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_place(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "diskcache:",
        "redis:",
        "redis://",
        "redis:///0",
        "redis://h:port/0",
        "redis://h:99999999/0",
        "redis://h/zero",
        "redis://h/-1",
        "redis://h/0?password=secret",
        "redis://h/0#secret",
        "redis://secret@[half/0",
        "http://h/0",
        "redisss://h/0",
    ],
)
def test_everything_else_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InputError, match=r"call cache .*(DIR|/DB)") as caught:
        parse_place(text)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("text", ["redis://:secret@h/0", "redis://user:secret@h:1/0"])
def test_a_password_belongs_into_the_environment(text: str) -> None:
    with pytest.raises(InputError, match="REDIS_PASSWORD") as caught:
        parse_place(text)
    assert "secret" not in str(caught.value)


def test_pending_calls_lie_beside_the_cache() -> None:
    assert pending_place(Path("/a/calls")) == Path("/a/calls/pending")
    redis = pending_place(RedisPlace("h", database=2))
    assert redis == RedisPlace("h", database=2, space="simulrag-pending")
    assert str(redis) == "redis://h:6379/2"
