"""Prefect's server for one project, on 127.0.0.1, by Prefect's own command and settings.

``simulrag ui`` starts it in the background and ``simulrag ui --stop`` ends it; stages only look
whether it answers. Pages of other origins may neither read its replies (CORS) nor change anything
(CSRF).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from flows.files import check_folder
from simulrag.errors import EnvironmentFault, InputError

SAID = "simulrag.said"
"""The logger of what a run says on the terminal."""
START_S = 120.0


def configure(root: Path) -> None:
    """Set Prefect's environment before it is imported; what the user has set stays."""
    defaults = {
        "PREFECT_HOME": str(root / ".prefect"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_EXTRA_LOGGERS": SAID,
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
        "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
        "PREFECT_SERVER_EPHEMERAL_ENABLED": "false",
        "PREFECT_CLIENT_MAX_RETRIES": "2",  # a busy SQLite answers 503
        "PREFECT_API_REQUEST_TIMEOUT": "10",
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def find(root: Path) -> str | None:
    """Find the API to tell, where one answers: the user's own, else this project's."""
    url = os.environ.get("PREFECT_API_URL") or _own(root).get("url")
    return str(url) if url and _answers(str(url)) else None


def start(root: Path, port: int) -> str:
    """Start the project's server; its API's URL. Raises InputError for a port in use."""
    running = _own(root).get("url")
    if running and _answers(str(running)):
        return str(running)
    if _answers(f"http://127.0.0.1:{port}"):
        raise InputError(
            f"port {port} of 127.0.0.1 is in use; choose another: simulrag ui --port 4201"
        )
    if find_spec("prefect") is None:
        raise ModuleNotFoundError("prefect is not installed", name="prefect")
    configure(root)
    home = _home(root)
    check_folder(home)
    here = ("--host", "127.0.0.1", "--port", str(port))
    command = [sys.executable, "-m", "prefect", "server", "start", *here]
    settings = {
        # Prefect's UI asks port 4200 whatever port it is on.
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"http://127.0.0.1:{port},http://localhost:{port}",
        **os.environ,
    }
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    sys.stderr.write(f"starting Prefect's server on port {port}; it may take half a minute\n")
    url = f"http://127.0.0.1:{port}/api"
    state = {"url": url, "pid": process.pid}
    (home / "server.json").write_text(json.dumps(state))
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        if _answers(url):
            return url
        time.sleep(0.1)
    raise EnvironmentFault(f"the Prefect server did not come up; see {home / 'server.log'}")


def stop(root: Path) -> bool:
    """End the project's server; False where none runs (a pid on file may be anybody's by now)."""
    state = _own(root)
    if not state or not _answers(str(state["url"])) or not _serves(str(state["pid"])):
        return False
    os.kill(int(str(state["pid"])), signal.SIGTERM)
    deadline = time.monotonic() + START_S
    while _answers(str(state["url"])) and time.monotonic() < deadline:
        time.sleep(0.1)
    (_home(root) / "server.json").unlink(missing_ok=True)
    return True


def _own(root: Path) -> dict[str, object]:
    try:
        state = json.loads((_home(root) / "server.json").read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return state if isinstance(state, dict) and {"url", "pid"} <= state.keys() else {}


def _serves(pid: str) -> bool:
    """Tell whether a process is our server: another's may answer at the port of a dead one."""
    with suppress(OSError):
        if Path("/proc/self").is_dir():
            return b"prefect\0server\0start" in Path(f"/proc/{pid}/cmdline").read_bytes()
        listed = subprocess.run(["ps", "-o", "args=", "-p", pid], capture_output=True, check=False)
        return b"prefect server start" in listed.stdout
    return False


def _home(root: Path) -> Path:
    return Path(os.environ.get("PREFECT_HOME", root / ".prefect"))


def _answers(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=1):
            return True
    except (OSError, ValueError):  # ValueError: its port is not a number
        return False
