"""``python -m simulrag.testing``: stand-ins behind a port."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from simulrag.calls import CallCache
from simulrag.method.verification import VERBALIZED, Verbalized
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.providers.registry import make_provider, model_settings

pytestmark = pytest.mark.slow
COMMAND = (sys.executable, "-m", "simulrag.testing", "--port")


async def asked(url: str, cache_folder: Path) -> Verbalized:
    settings = model_settings(f"{url}#stub")
    with CallCache(cache_folder, stage="test") as cache:
        gateway = Gateway(make_provider(settings), settings, cache, packaged_prompts())
        done = await gateway.ask(VERBALIZED, question="Q", claim="C")
        await gateway.close()
    parsed: Verbalized = done.parsed
    return parsed


def test_it_answers_and_names_a_port_in_use(tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            assert 0 <= asyncio.run(asked(url, tmp_path / "cache")).probability <= 1
            port = url.removesuffix("/v1").rpartition(":")[2]
            second = subprocess.run([*COMMAND, port], capture_output=True, text=True, check=False)
            assert second.returncode == 2
            assert f"port {port} cannot be used" in second.stderr
        finally:
            process.terminate()
