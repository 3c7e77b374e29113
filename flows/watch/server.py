"""A Prefect server on loopback that the stages of one ``dvc repro`` share.

It is started on first need in a process session of its own, found again through
``.prefect/server.json``, and ends after ten idle minutes. ``make ui`` runs the same thing in the
foreground on a fixed port. A server or a home that the user names (PREFECT_API_URL, PREFECT_HOME)
is used as it is. Its database is SQLite in ``.prefect/`` unless
PREFECT_SERVER_DATABASE_CONNECTION_URL names another. Telemetry is off.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IDLE_S = 600.0
START_S = 60.0
UI_PORT = 4200
_PR_SET_PDEATHSIG = 1
_OURS: set[str] = set()
"""URLs of shared servers that this process has put into PREFECT_API_URL itself."""


def configure(root: Path) -> None:
    """Set Prefect's environment before it is imported; what the user has set stays."""
    defaults = {
        "PREFECT_HOME": str(root / ".prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",  # nothing is logged that the artifacts lack
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
        "PREFECT_CLIENT_MAX_RETRIES": "2",  # a busy SQLite answers 503
        "PREFECT_API_REQUEST_TIMEOUT": "10",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def begin(root: Path) -> bool:
    """Start the shared server if none runs, without waiting. False: the user named an API."""
    if _named() is not None:
        return False
    with _lock(root):
        if _running(root) is None:
            _spawn(root)
    return True


def wait(root: Path, timeout_s: float = START_S) -> str:
    """The URL of the server's API once it answers. Raises TimeoutError with the log's place."""
    named = _named()
    if named is not None:
        return named
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        state = _running(root)
        if state is None:
            break
        if _answers(state["url"]):
            touch(root)
            _OURS.add(str(state["url"]))
            return str(state["url"])
        time.sleep(0.1)
    raise TimeoutError(f"the Prefect server did not come up; see {_home(root) / 'server.log'}")


def touch(root: Path) -> None:
    """Put off the idle shutdown."""
    (_home(root) / "last-used").touch()


def supervise(root: Path, port: int, idle_s: float | None) -> int:
    """Run Prefect's server on ``port`` of 127.0.0.1 until told to stop, or idle.

    This process holds the lock on ``server.alive`` for as long as it lives.
    """
    home = _home(root)
    command = [sys.executable, "-m", "flows.watch.guarded", "--port", str(port)]
    # Prefect's UI asks port 4200 whatever port it is on.
    settings = {"PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api", **os.environ}
    child = subprocess.Popen(command, env=settings, preexec_fn=_end_with_parent)  # noqa: PLW1509 no thread yet
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    _write_state(root, port, os.getpid())
    touch(root)
    used: float | None = None
    since = time.monotonic()
    try:
        while child.poll() is None:
            time.sleep(0.5)
            marked = _marked(home)
            if marked != used:  # by when it was seen: the time of day may jump
                used, since = marked, time.monotonic()
            if marked is None or (idle_s and time.monotonic() - since > idle_s):
                child.terminate()
    except KeyboardInterrupt:
        child.terminate()
    code = child.wait()
    return 0 if code in (0, -signal.SIGTERM, -signal.SIGINT) else code


def _marked(home: Path) -> float | None:
    """When the server was last used, by the file's time; None where the project is gone."""
    try:
        return (home / "last-used").stat().st_mtime
    except OSError:
        return None


def _end_with_parent() -> None:
    """Have Linux end this process when its parent is killed: nobody would see that it idles."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def stop(root: Path) -> None:
    """End the shared server, if one runs."""
    state = _running(root)
    if state is None:
        return
    os.kill(int(state["pid"]), signal.SIGTERM)
    for _ in range(100):
        if _running(root) is None:
            return
        time.sleep(0.1)


def _named() -> str | None:
    """The API that the user named, if any."""
    url = os.environ.get("PREFECT_API_URL")
    return url if url and url not in _OURS else None


def _spawn(root: Path) -> None:
    """Start the supervisor in a session of its own; it inherits the lock that says it lives."""
    home = _home(root)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "flows.watch.server", "--root", str(root), "--port", str(port)]
    command += ["--idle", str(IDLE_S)]
    with (home / "server.log").open("ab") as log, (home / "server.alive").open("w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)  # at once, but for another that is looking
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[alive.fileno()],
        )
    _write_state(root, port, process.pid)
    touch(root)


def _write_state(root: Path, port: int, pid: int) -> None:
    home = _home(root)
    state = {"url": f"http://127.0.0.1:{port}/api", "pid": pid}
    temporary = home / f"server.json.{os.getpid()}"
    temporary.write_text(json.dumps(state))
    temporary.replace(home / "server.json")


def _running(root: Path) -> dict[str, Any] | None:
    """The state of the server whose supervisor lives: its lock is held, whatever pids say."""
    with (_home(root) / "server.alive").open("a") as alive:
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(root)
    return None


def _read(root: Path) -> dict[str, Any] | None:
    try:
        state: dict[str, Any] = json.loads((_home(root) / "server.json").read_text())
    except (OSError, ValueError):
        return None
    return state


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as reply:  # noqa: S310 loopback
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _home(root: Path) -> Path:
    home = Path(os.environ.get("PREFECT_HOME", root / ".prefect"))
    home.mkdir(parents=True, exist_ok=True)
    return home


@contextmanager
def _lock(root: Path) -> Iterator[None]:
    with (_home(root) / "server.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main() -> int:
    """``python -m flows.watch.server``: the server of ``make ui``, or one in the background."""
    parser = argparse.ArgumentParser(description="A Prefect server on 127.0.0.1 for this project.")
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--port", type=int, default=UI_PORT, help=f"of the UI ({UI_PORT})")
    parser.add_argument("--idle", type=float, help="internal: end after so many idle seconds")
    parser.add_argument(
        "--background", action="store_true", help="start the stages' shared server ahead of them"
    )
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    configure(root)
    if arguments.idle is not None:
        return supervise(root, arguments.port, arguments.idle)
    if arguments.background:
        begin(root)
        return 0
    if not _is_free(arguments.port):
        sys.stderr.write(
            f"error: port {arguments.port} of 127.0.0.1 is in use; choose another: "
            "make ui UI_PORT=4201\n"
        )
        return 2
    stop(root)
    with (_home(root) / "server.alive").open("w") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        sys.stdout.write(f"Prefect UI: http://127.0.0.1:{arguments.port}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        return supervise(root, arguments.port, None)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
