"""The method over stub traffic and the official SDK: how many calls, and the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.calls import longest_chain
from benchmarks.stub_runs import PER_CLAIM, answer, method
from simulrag.records import Answer
from simulrag.testing.loopback import LoopbackServer
from simulrag.testing.traffic import traffic
from simulrag.testing.wires import Body, schema_name

QUESTIONS = 3


async def answers(folder: Path, **changes: Any) -> tuple[list[Answer], float]:
    """The answers without what they cost, and the calls a question."""
    with LoopbackServer(traffic()) as server:
        found, _ = await answer(QUESTIONS, server.url, folder, method(**changes))
    calls = len(server.requests) / QUESTIONS
    return [item.model_copy(update={"usage": {}}) for item in found], calls


async def test_the_same_answers_from_a_third_of_the_calls(tmp_path: Path) -> None:
    batched, few = await answers(tmp_path / "a", verify="selected")
    alone, many = await answers(tmp_path / "b", verify="selected", claims_per_call=PER_CLAIM)
    tree, _ = await answers(tmp_path / "c", verify="selected", merging="tree")
    assert batched == alone == tree
    assert all(len(item.claims) == 34 and item.verified for item in batched)
    assert few <= 25
    assert many > 60


async def test_all_verdicts_or_the_selected_ones_give_one_answer(tmp_path: Path) -> None:
    """A verdict depends on the claim and the evidence, not on who selected it."""
    some, _ = await answers(tmp_path / "a", verify="selected")
    every, calls = await answers(tmp_path / "b", verify="all")
    assert calls <= 25
    for one, other in zip(some, every, strict=True):
        assert (one.selected, one.kept, one.final) == (other.selected, other.kept, other.final)
        assert all(claim.verdict is not None for claim in other.claims)
        assert sum(claim.verdict is not None for claim in one.claims) == len(one.selected)


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


async def test_a_question_whose_entailment_fails_ends_alone(tmp_path: Path) -> None:
    """Its claims have no confidence, which must not stop the others' selection and synthesis."""
    stub = traffic()

    def reply(body: Body) -> str:
        first_question = "changes by about 0.00 percent" in str(body)
        return "{}" if schema_name(body) == "Entailment" and first_question else stub(body)

    with LoopbackServer(reply) as server, pytest.raises(RuntimeError, match="step='score'"):
        await answer(QUESTIONS, server.url, tmp_path, method(verify="selected"))
    finals = [r for r in server.requests if r.schema_name is None and "<claims>" in str(r.body)]
    assert len(finals) == QUESTIONS - 1
