"""Prefect's server for one project, on 127.0.0.1.

``simulrag ui`` starts it in the background and ``simulrag ui --stop`` ends it; stages only look
whether it answers. Prefect's own command answers whoever reaches the port, and every web page that
the user has open reaches loopback: one that made its name point to 127.0.0.1 (DNS rebinding) could
read runs and start a refresh. A browser says in ``Host`` by what name it asks and in ``Origin``
whose page asks; a page can forge neither, so both must be of this machine.
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
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flows.files import check_folder
from simulrag.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

SAID = "simulrag.said"
"""The logger of what a run says on the terminal."""
REPORTS = ("data/report", "reports")
"""Folders of a project that its server shows beside Prefect's UI."""
START_S = 120.0
HERE = ("127.0.0.1", "localhost")


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
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def find(root: Path) -> str | None:
    """The API to tell, where one answers: the user's own, else this project's; one connection."""
    url = os.environ.get("PREFECT_API_URL") or _own(root).get("url")
    return str(url) if url and _answers(str(url)) else None


def link(root: Path, page: Path) -> str:
    """Where a page can be opened, as Markdown for an artifact.

    A page of ``REPORTS`` has a path of this project's own server, since a browser opens no file
    from a page that came over HTTP.
    """
    text = f"`{page}` on {socket.gethostname()}"
    state = _own(root)
    shown = any(page.is_relative_to(root / place) for place in REPORTS)
    if shown and (state.get("root"), state.get("url")) == (str(root), find(root)):
        return f"[Open the report](/{page.relative_to(root).as_posix()}): {text}"
    return f"The report is {text}"


def start(root: Path, port: int) -> str:
    """The API's URL once the project's server answers. Raises InputError for a port in use."""
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
    command = [sys.executable, "-m", "flows.watch.server", str(root), str(port)]
    # Prefect's UI asks port 4200 whatever port it is on.
    settings = {"PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api", **os.environ}
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
    state = {"url": url, "pid": process.pid, "root": str(root)}
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
    """Whether a process is a server of ours: another's may answer at the port of a dead one."""
    with suppress(OSError):
        if Path("/proc/self").is_dir():
            return b"flows.watch.server" in Path(f"/proc/{pid}/cmdline").read_bytes()
        listed = subprocess.run(["ps", "-o", "args=", "-p", pid], capture_output=True, check=False)
        return b"flows.watch.server" in listed.stdout
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


def is_own(host: str, origin: str | None) -> bool:
    """Whether a request by this ``Host`` and ``Origin`` (None: none was sent) may be answered."""
    try:
        asked = urlsplit(f"//{host}")
        page = asked if origin is None else urlsplit(origin)
        return asked.hostname in HERE and page.hostname in HERE and page.port == asked.port
    except ValueError:  # the port is not a number
        return False


class Guard:
    """ASGI middleware: a request that is not ``is_own`` ends with 403."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse
        from starlette.websockets import WebSocketClose

        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            if not is_own(headers.get("host", ""), headers.get("origin")):
                closed = WebSocketClose()
                refused = PlainTextResponse("Only this machine's own pages.\n", status_code=403)
                end = closed if scope["type"] == "websocket" else refused
                await end(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _serve(root: Path, port: int) -> None:
    """The server itself, in the environment that ``start`` makes."""
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.settings import get_current_settings
    from starlette.routing import Mount

    from flows.watch.pages import Pages

    app = create_app(final=True)
    app.routes[:0] = [Mount(f"/{place}", Pages(root / place)) for place in REPORTS]
    settings = get_current_settings().server
    uvicorn.run(
        Guard(app),
        host="127.0.0.1",
        port=port,
        timeout_keep_alive=settings.api.keepalive_timeout,
        log_level=settings.logging_level.lower(),
    )


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
