"""Questions to a project's own Prefect server."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any


def ask(root: Path, path: str, **body: object) -> Any:
    """What the API of ``root``'s server answers to a POST."""
    url = json.loads((root / ".prefect/server.json").read_text())["url"]
    request = urllib.request.Request(
        f"{url}/{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.loads(reply.read())
