"""The method over stand-ins and the official SDK: how many calls, one result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.calls import longest_chain
from benchmarks.stub_runs import PER_CLAIM, answer, method
from simulrag.records import Answer
from simulrag.testing import LoopbackServer, stand_in

QUESTIONS = 2


async def answers(folder: Path, **changes: Any) -> tuple[list[Answer], float]:
    """The answers without what they cost, and the calls a question."""
    with LoopbackServer(stand_in()) as server:
        found, _ = await answer(QUESTIONS, server.url, folder, method(**changes))
    calls = len(server.requests) / QUESTIONS
    return [item.model_copy(update={"usage": {}}) for item in found], calls


async def test_the_same_answers_from_a_third_of_the_calls(tmp_path: Path) -> None:
    paper = {"verify": "selected", "method": "paper"}
    batched, few = await answers(tmp_path / "a", **paper)
    single, many = await answers(tmp_path / "b", **paper, claims_per_call=PER_CLAIM)
    assert batched == single
    assert all(len(item.claims) > 20 and item.verified for item in batched)
    assert few <= 25
    assert many > 50


@pytest.mark.parametrize(
    ("spans", "length"),
    [
        ([], 0),
        ([(0, 1), (0, 1), (0, 2)], 1),
        ([(0, 1), (1, 2), (0, 2), (2, 3)], 3),
        ([(0, 5), (1, 2), (2.5, 3), (5, 6)], 3),
    ],
)
def test_the_longest_chain_of_calls(spans: list[tuple[float, float]], length: int) -> None:
    assert longest_chain(spans) == length
