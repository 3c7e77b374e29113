"""The two places a call cache can lie in, as fixtures: tests of the contract run over both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.calls import CachePlace, parse_place
from tests.servers.redis_server import RedisProgram, needs_redis


@pytest.fixture(scope="session")
def redis_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProgram]:
    """One server for all tests of a process that only keep rows in it."""
    needs_redis()
    with RedisProgram(tmp_path_factory.mktemp("redis")) as program:
        yield program


@pytest.fixture
def redis_place(redis_program: RedisProgram) -> CachePlace:
    """An empty database."""
    redis_program.forget_all()
    return parse_place(redis_program.place())


@pytest.fixture(params=["diskcache", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CachePlace:
    """An empty cache, of each kind in turn."""
    if request.param == "diskcache":
        return tmp_path / "cache"
    redis: CachePlace = request.getfixturevalue("redis_place")
    return redis
