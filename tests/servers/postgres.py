"""A real Postgres on loopback, in a folder of its own, with a password."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import pytest

USER, PASSWORD, DATABASE = "watcher", "a-password-of-postgres", "prefect"


def _programs() -> Path | None:
    """Where the server's programs are: on PATH, or where Debian puts them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


PROGRAMS = _programs()


def needs_postgres() -> None:
    """Skip where the server's programs are absent."""
    if PROGRAMS is None:
        pytest.skip("no program initdb (Debian: apt-get install postgresql)")


class PostgresProgram:
    """The server as a context manager. It refuses to be root's, so root starts it as nobody."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: its socket lies there
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    @property
    def url(self) -> str:
        """As Prefect wants it in PREFECT_SERVER_DATABASE_CONNECTION_URL."""
        return f"postgresql+asyncpg://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}"

    def query(self, sql: str) -> list[list[str]]:
        """The rows of a query, as text."""
        told = self._run("psql", *self._where(), "-d", DATABASE, "-AtF", "\t", "-c", sql)
        return [line.split("\t") for line in told.splitlines()]

    def __enter__(self) -> Self:
        data, word = self.folder / "data", self.folder / "word"
        word.write_text(PASSWORD)
        word.chmod(0o644)
        secret = ["-U", USER, "--pwfile", str(word), "--auth", "scram-sha-256"]
        self._run("initdb", "-D", str(data), "--no-sync", "-E", "UTF8", *secret)
        listens = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(data), "-w", "-l", log, "-o", listens, "start")
        self._run("createdb", *self._where(), DATABASE)
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _where(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", USER]

    def _run(self, program: str, *arguments: str) -> str:
        assert PROGRAMS is not None
        out = self.folder / "out"  # no pipe: the server would keep it open
        with out.open("w+") as said:
            done = subprocess.run(
                [PROGRAMS / program, *arguments],
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                check=False,
                **self._as,
            )
        text = out.read_text()
        assert done.returncode == 0, f"{program}: {text}"
        return text
