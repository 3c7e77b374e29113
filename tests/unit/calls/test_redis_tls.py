"""A Redis that speaks TLS alone, with a certificate that no authority of the system knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulrag.calls import CallCache, CallResult, cache_stats, parse_place, verify_cache
from simulrag.calls.places import CERTIFICATES_VARIABLE
from simulrag.errors import EnvironmentFault
from tests.servers.redis_server import RedisProgram, needs_redis

REQUEST = {"provider": "p", "model": "m"}


async def _answer() -> CallResult:
    return CallResult("the answer", {"calls": 1})


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProgram]:
    needs_redis()
    pytest.importorskip("cryptography", reason="needs the extra 'cluster'")
    try:
        running = RedisProgram(tmp_path_factory.mktemp("redis") / "server", tls=True)
        running.start()
    except RuntimeError as error:
        pytest.skip(f"this redis-server was built without TLS: {str(error)[-200:]}")
    yield running
    running.stop()


async def test_a_server_with_a_trusted_certificate_keeps_calls(
    program: RedisProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CERTIFICATES_VARIABLE, str(program.folder / "tls.pem"))
    place = parse_place(program.place())
    for hit in (False, True):
        with CallCache(place, stage="a") as cache:
            found = await cache.get_or_call("model", REQUEST, _answer)
            assert (found.call.response, found.hit) == ("the answer", hit)
    assert cache_stats(place).entries == 1
    assert verify_cache(place).problems == ()


def test_an_unknown_certificate_is_refused(
    program: RedisProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CERTIFICATES_VARIABLE, raising=False)
    with pytest.raises(EnvironmentFault, match=r"rediss://127.*Nobody vouches.*REDIS_CA"):
        CallCache(parse_place(program.place()), stage="a")


def test_another_servers_certificate_is_refused(
    program: RedisProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is for 127.0.0.1, and nobody else may show it."""
    monkeypatch.setenv(CERTIFICATES_VARIABLE, str(program.folder / "tls.pem"))
    place = parse_place(f"rediss://localhost:{program.port}/0")
    with pytest.raises(EnvironmentFault, match=r"Nobody vouches.*name that it was made for"):
        CallCache(place, stage="a")


def test_a_missing_file_of_certificates_is_named(
    program: RedisProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "none.pem"
    monkeypatch.setenv(CERTIFICATES_VARIABLE, str(missing))
    with pytest.raises(EnvironmentFault, match=f"REDIS_CA.*{missing}"):
        CallCache(parse_place(program.place()), stage="a")


def test_a_plain_address_does_not_reach_it(program: RedisProgram) -> None:
    with pytest.raises(EnvironmentFault, match=r"redis://127.*cannot be reached"):
        CallCache(parse_place(f"redis://127.0.0.1:{program.port}/0"), stage="a")
