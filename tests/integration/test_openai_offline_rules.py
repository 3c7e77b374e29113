"""The offline rules behind a real server: the wire adds and loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from simulrag.calls import CallCache
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.providers import make_provider
from simulrag.models.replies import Decomposition, Entailment, Judgement, Verification
from simulrag.models.settings import ModelSettings
from tests.servers.loopback import LoopbackServer, offline_answers

PROMPTS = Path(__file__).parents[2] / "prompts"
QUESTION = (
    "A downtown corridor's speed limit is reduced by 20 percent. By how much does travel time "
    "change, and do CO2 emissions rise or fall?"
)
ANSWER = "Travel time increases by 12.0 %. CO2 emissions fall by 3.0 %."
CLAIM = "Travel time increases by 12.0 %."
EVIDENCE = "Compared with the baseline, travel time increases by 15.2 %."
ASKED: list[tuple[str, type[BaseModel] | None, dict[str, Any]]] = [
    ("closed_book", None, {"question": QUESTION}),
    ("decompose", Decomposition, {"question": QUESTION, "answer": ANSWER, "limit": 12}),
    ("entailment", Entailment, {"answer": ANSWER, "claims": [CLAIM, "Noise falls."]}),
    ("verify", Verification, {"question": QUESTION, "context": EVIDENCE, "claim": CLAIM}),
    (
        "label",
        Judgement,
        {"question": QUESTION, "reference": ANSWER, "claim": CLAIM, "tolerance": "rounding"},
    ),
]


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer(offline_answers()) as running:
        yield running


def opened(settings: ModelSettings, cache: CallCache) -> Gateway:
    return Gateway(make_provider(settings), settings, cache, Prompts(PROMPTS))


@pytest.mark.parametrize(("task", "schema", "values"), ASKED, ids=[row[0] for row in ASKED])
async def test_the_same_rules_on_both_sides_of_the_wire(
    server: LoopbackServer,
    tmp_path: Path,
    task: str,
    schema: type[BaseModel] | None,
    values: dict[str, Any],
) -> None:
    here = ModelSettings(provider="offline", model="offline-rules-1")
    there = ModelSettings.model_validate(
        {"provider": "openai", "model": "rules", "base_url": server.url, "sampling": {"seed": 0}}
    )
    with CallCache(tmp_path / "cache", stage="test") as cache:
        near, far = opened(here, cache), opened(there, cache)
        for index in (0, 1, 2):
            expected = await near.ask(task, schema, sample_index=index, **values)
            completion = await far.ask(task, schema, sample_index=index, **values)
            assert completion.text == expected.text
            assert completion.cached is False
        await far.close()
        await near.close()
