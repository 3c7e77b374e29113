"""The provider that CONTRIBUTING shows works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from simulrag.calls import CallCache
from simulrag.method.answering import CLOSED_BOOK
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


async def test_the_provider_of_the_example_works(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"```python\n(# simulrag/models/providers/echo.py\n.*?)```",
        CONTRIBUTING.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    names: dict[str, Any] = {}
    exec(compile(block, str(CONTRIBUTING), "exec"), names)
    settings = ModelSettings(provider="echo", model="parrot")
    with CallCache(tmp_path / "cache", stage="test") as cache:
        provider = names["EchoProvider"](settings)
        gateway = Gateway(provider, settings, cache, packaged_prompts())
        completion = await gateway.ask(CLOSED_BOOK, question="What happens?")
        await gateway.close()
    assert "What happens?" in completion.text
    assert completion.model_version == "echo-1"
