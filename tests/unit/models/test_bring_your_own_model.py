"""The guide names every field of a model's settings, and its provider works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from simulrag.calls import CallCache
from simulrag.method.answering import CLOSED_BOOK
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "bring-your-own-model.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_guide_names_every_field() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    for field in ModelSettings.model_fields:
        assert f"| `{field}` |" in guide


async def test_the_provider_of_the_guide_works(tmp_path: Path) -> None:
    (block,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(block, str(GUIDE), "exec"), names)
    settings = ModelSettings(provider="echo", model="parrot")
    with CallCache(tmp_path / "cache", stage="test") as cache:
        gateway = Gateway(names["Echo"](settings), settings, cache, packaged_prompts())
        completion = await gateway.ask(CLOSED_BOOK, question="What happens?")
        await gateway.close()
    assert "What happens?" in completion.text
    assert completion.model_version == "parrot"
