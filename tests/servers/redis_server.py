"""A real Redis on loopback, in a folder of its own: started, killed and started again."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from simulrag.calls import CachePlace, parse_place
from tests.servers.certificates import write_certificate

PROGRAM = shutil.which("redis-server")
DATABASES = 16
STARTS_IN_S = 20.0

SAFE = {"appendonly": "yes", "appendfsync": "always", "save": '""'}
"""What the call cache asks of a server."""


def needs_redis() -> None:
    """Skip where the server or its client is absent."""
    pytest.importorskip("redis", reason="the package redis (extra [cluster]) is not installed")
    if PROGRAM is None:
        pytest.skip("no program redis-server (Debian: apt-get install redis-server)")


class RedisProgram:
    """The server as a context manager. ``settings``: lines of redis.conf in place of ``SAFE``.

    ``tls``: encrypted connections alone; ``folder/tls.pem`` is the certificate, of its own making.
    """

    def __init__(self, folder: Path, *, tls: bool = False, **settings: str) -> None:
        self.folder = folder
        self.tls = tls
        self.settings = {**SAFE, **{k.replace("_", "-"): v for k, v in settings.items()}}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def place(self, database: int = 0) -> str:
        return f"redis{'s' if self.tls else ''}://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, on the same port and file each time, and wait until it answers."""
        assert PROGRAM is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        options = {
            "bind": "127.0.0.1",
            "port": "0" if self.tls else str(self.port),
            **(self._tls_settings() if self.tls else {}),
            "dir": str(self.folder),
            "databases": str(DATABASES),
            "daemonize": "no",
            **self.settings,
        }
        written = self.folder / "redis.conf"
        written.write_text("".join(f"{name} {value}\n" for name, value in options.items()))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([PROGRAM, written], stdout=log, stderr=log)
        last = time.monotonic() + STARTS_IN_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > last:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.01)

    def forget_all(self) -> None:
        """Empty every database."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(64) == b"+OK\r\n"

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _tls_settings(self) -> dict[str, str]:
        file = self.folder / "tls.pem"
        if not file.exists():
            write_certificate(file)
        made = {
            "tls-cert-file": str(file),
            "tls-key-file": str(file),
            "tls-ca-cert-file": str(file),
        }
        return {**made, "tls-port": str(self.port), "tls-auth-clients": "no"}

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                if self.tls:
                    return True  # it listens; only a client that trusts it can say more
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False


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
