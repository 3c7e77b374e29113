"""What is said of a call that is not recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulrag.calls import CallCache, CallResult
from simulrag.calls.inspection import explain_miss


async def paid() -> CallResult:
    return CallResult("an answer")


def _sheet(text: str, model: str = "m", **more: Any) -> Any:
    messages = [{"role": "system", "content": "Split it."}, {"role": "user", "content": text}]
    schema = {"title": "Claims", "type": "object"}
    return {"model": model, "messages": messages, "schema": schema, "sample_index": 0, **more}


async def test_a_miss_is_explained_by_the_nearest_recorded_call(tmp_path: Path) -> None:
    with CallCache(tmp_path, stage="a") as cache:
        for text in ("The limit falls to 40 km/h.", "The limit rises."):
            await cache.get_or_call("model", _sheet(text), paid)
        await cache.get_or_call("simulator", {"tool": "t"}, paid)
    told = explain_miss(tmp_path, _sheet("The limit falls to 30 km/h."))
    assert "('Claims') differs: its messages, from character 29 on:" in told
    assert "40 km/h.' there" in told
    assert "30 km/h.' here" in told
    told = explain_miss(tmp_path, _sheet("The limit rises.", "other", sampling={"top_p": 0.5}))
    assert told.endswith(
        'differs: model is "m" there and "other" here; sampling is null there and {"top_p":0.5} '
        "here."
    )
    free = _sheet("?") | {"schema": None}
    assert explain_miss(tmp_path, free) == "No call like it is recorded ('Split it.')."
    assert explain_miss(tmp_path / "none", free).startswith("No call like it")
