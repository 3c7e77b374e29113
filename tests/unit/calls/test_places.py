"""Where a call cache may lie, and what is said of an address that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulrag.calls import RedisPlace, parse_place
from simulrag.calls.store import pending_place
from simulrag.errors import InputError


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
