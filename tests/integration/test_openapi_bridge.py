"""A web service with an OpenAPI document as a simulator, by the bridge of the documentation."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simulators.remote.mcp import McpSimulator
from tests.integration.projects import ROOT

pytestmark = pytest.mark.slow
pytest.importorskip("fastmcp", reason="the bridge is not installed: pip install fastmcp")
SERVICE = '''
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI(title="Rivers", version="1")

class Level(BaseModel):
    level_m: float

@app.get("/level/{river}", operation_id="level")
def level(river: str, rain_mm: float = 0.0) -> Level:
    """The level of a river after rain."""
    return Level(level_m=1.5 + rain_mm / 100)
'''


def test_the_lines_of_the_page_serve_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "rivers.py").write_text(SERVICE)
    page = (ROOT / "docs/simulators-over-mcp.md").read_text()
    (bridge,) = re.findall(r"```python\n(import httpx2\n.*?)```", page, re.S)
    (tmp_path / "bridge.py").write_text(bridge.replace("8801", str(port)))
    command = (sys.executable, "-m", "uvicorn", "rivers:app", "--port", str(port))
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(300):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.1)
            simulator = McpSimulator([sys.executable, "bridge.py"], folder=str(tmp_path))
            assert "The level of a river after rain." in simulator.handbook()
            found = simulator.run("level", {"river": "Elbe", "rain_mm": 20.0}, 0)
            assert found["level_m"] == 1.7
            simulator.close()
        finally:
            process.kill()
