"""params.yaml is changed so that it can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.params import check_params
from flows.params_file import changed
from simulrag.models.specification import model_settings

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "model",
    [
        "openai:gpt-5-mini",
        "anthropic:claude-sonnet-4-5",
        "http://127.0.0.1:11434/v1#qwen3:8b",
        "local:C:/models/weights.gguf",
    ],
)
def test_every_form_of_a_model_can_be_written_and_read(model: str) -> None:
    settings = model_settings(model)
    section = settings.model_dump(mode="json", exclude_defaults=True)
    text = changed(ROOT / "params.yaml", {"llm.answer": section, "llm.judge": section})
    read = check_params(text, "params.yaml")
    assert (read.model("answer"), read.model("judge")) == (settings, settings)
    kept = {line for line in text.splitlines() if line.lstrip().startswith("#")}
    assert {
        line
        for line in (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith("#")
    } <= kept
