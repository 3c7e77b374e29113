"""Claims in batches: who is asked together, whose reply is whose, and what a bad reply costs."""

from __future__ import annotations

import pytest

from simulrag.errors import ReplyInvalid
from simulrag.method.asking import batches
from simulrag.method.verification import assess_boundaries, verify_claims
from simulrag.models.replies import Numbered, in_order
from simulrag.testing import ScriptedModel

ALIGNED = {"is_included": True, "should_update": False, "updated_claim": ""}


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [(0, 5, []), (1, 5, [1]), (5, 5, [5]), (6, 5, [3, 3]), (34, 20, [17, 17]), (7, 3, [2, 2, 3])],
)
def test_batches_are_few_even_and_in_order(count: int, size: int, lengths: list[int]) -> None:
    parts = list(batches(range(count), size))
    assert [len(part) for part in parts] == lengths
    assert [item for part in parts for item in part] == list(range(count))


def test_a_batch_holds_something() -> None:
    with pytest.raises(ValueError, match="at least one"):
        list(batches("ab", 0))


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([0, 1], "missing: 2$"),
        ([0, 1, 1], "missing: 2; repeated: 1"),
        ([0, 1, 2, 2], "repeated: 2$"),
        ([1, 2, 3], "missing: 0; unknown: 3"),
        ([0, 1, 2, -1], "unknown: -1"),
    ],
)
def test_each_number_is_there_exactly_once(numbers: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        in_order([Numbered(index=number) for number in numbers], 3)


async def test_replies_go_by_number_and_not_by_place() -> None:
    ask = ScriptedModel(
        {"claims": [{"index": 0, "tool_confidence": 1}]},
        {"claims": [{"index": 1, "tool_confidence": 1}, {"index": 0, "tool_confidence": 0}]},
    )
    found = await assess_boundaries("q", ["a", "b", "c"], "h", ask, claims_per_call=2)
    assert [call["claims"] for call in ask.asked] == [["a"], ["b", "c"]]
    assert found == [True, False, True]


async def test_verdicts_of_a_batch_go_by_number() -> None:
    other = {"is_included": True, "should_update": True, "updated_claim": "better"}
    silent = {"is_included": True, "should_update": True, "updated_claim": ""}
    ask = ScriptedModel(
        {"claims": [{"index": 2, **ALIGNED}, {"index": 0, **other}, {"index": 1, **silent}]}
    )
    verdicts = await verify_claims("q", ["a", "b", "c"], "evidence", ask, claims_per_call=9)
    # A contradictory item is that claim's error and leaves the others alone.
    assert [verdict.status for verdict in verdicts] == ["contradicted", "error", "aligned"]
    assert verdicts[0].updated_claim == "better"


async def test_claims_one_by_one_fail_one_by_one() -> None:
    ask = ScriptedModel(ALIGNED, ReplyInvalid("no reply"))
    verdicts = await verify_claims("q", ["a", "b"], "evidence", ask, claims_per_call=1)
    assert [verdict.status for verdict in verdicts] == ["aligned", "error"]
    assert verdicts[1].reason == "no reply"


async def test_a_batch_that_leaves_a_claim_out_fails_as_a_whole() -> None:
    ask = ScriptedModel({"claims": [{"index": 0, **ALIGNED}]})
    with pytest.raises(ReplyInvalid, match="missing: 1"):
        await verify_claims("q", ["a", "b"], "evidence", ask, claims_per_call=9)


async def test_no_claims_cost_no_call() -> None:
    ask = ScriptedModel()
    assert await verify_claims("q", [], "evidence", ask, claims_per_call=9) == []
    assert await assess_boundaries("q", [], "h", ask, claims_per_call=9) == []
