"""A project's own Prefect server: a port for it, and questions to it."""

from __future__ import annotations

import json
import socket
import urllib.request
from pathlib import Path
from typing import Any


def ask(root: Path, path: str, **body: object) -> Any:
    """What the API of ``root``'s server answers to a POST."""
    url = json.loads((root / ".prefect/server.json").read_text())["url"]
    with urllib.request.urlopen(f"{url}/csrf-token?client=tests", timeout=30) as reply:
        token = json.loads(reply.read())["token"]
    request = urllib.request.Request(
        f"{url}/{path}",
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Prefect-Csrf-Client": "tests",
            "Prefect-Csrf-Token": token,
        },
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.loads(reply.read())


def free_port() -> str:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
