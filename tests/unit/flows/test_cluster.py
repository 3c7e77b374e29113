"""Dask workers need a call cache that they can share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flows.params import Params, load_params
from flows.project import Project
from flows.running.cluster import BenchPlace, workers
from simulrag.errors import InputError
from simulrag.models.settings import ModelSettings

ROOT = Path(__file__).resolve().parents[3]
PAID = ModelSettings(provider="openai", model="gpt-5-mini", paid=True)


def dask(cluster: dict[str, Any] | None = None, **model: ModelSettings) -> Params:
    params = load_params(ROOT / "params.yaml")
    operations = params.operations.model_dump()
    changed = type(params.operations).model_validate(
        {**operations, "runner": "dask", "cluster": cluster or {}}
    )
    llm = params.llm.model_copy(update=model)
    return params.model_copy(update={"operations": changed, "llm": llm})


@pytest.mark.parametrize(
    ("params", "why"),
    [
        (dask(answer=PAID), "llm.answer costs money, and Redis holds the sum"),
        (
            dask({"address": "tcp://127.0.0.1:9"}),
            "workers on other machines share it through Redis",
        ),
    ],
)
async def test_a_folder_will_not_do_for_paid_calls_or_other_machines(
    params: Params, why: str
) -> None:
    place = BenchPlace(Project(ROOT), params, "answer-urban", "answer")
    with pytest.raises(InputError, match=f"{why}.*set operations.cache to redis://"):
        async with workers(place, None):  # type: ignore[arg-type]  # never reached
            pass
