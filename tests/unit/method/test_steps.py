"""The steps' own logic, with replies scripted by the test: indices, caps, failures."""

from __future__ import annotations

import pytest

from simulrag.errors import ModelError
from simulrag.method.answering import closed_book_answers
from simulrag.method.decomposition import decompose, distinct_texts
from simulrag.method.entailment import support_matrix
from simulrag.method.merging import MergedClaim, Merging, merge_claims
from simulrag.method.verification import read_verdict, verify_claim
from simulrag.models.counting import Counted
from simulrag.models.replies import Verification
from simulrag.records import Usage
from tests.unit.method.scripted import Scripted


async def test_m_answers_are_m_calls_with_sample_indices() -> None:
    ask = Scripted("one", "two", "three")
    assert await closed_book_answers("q", ask, 3) == ("one", "two", "three")
    assert [call["sample_index"] for call in ask.asked] == [0, 1, 2]


async def test_decomposition_keeps_order_and_drops_repetitions() -> None:
    ask = Scripted({"claims": [{"claim": "A  is 1."}, {"claim": "B is 2."}, {"claim": "a is 1."}]})
    assert await decompose("q", "text", ask, limit=12) == ("A is 1.", "B is 2.")


async def test_more_claims_than_allowed_are_refused() -> None:
    ask = Scripted({"claims": [{"claim": "A."}, {"claim": "B."}]})
    with pytest.raises(ModelError, match="at most 1"):
        await decompose("q", "text", ask, limit=1)


async def test_merging_keeps_the_first_wording_and_every_source() -> None:
    ask = Scripted({"pairs": [[0, 1]]}, {"pairs": [[2, 0], [0, 1]]})
    merged = await merge_claims((("up", "ten"), ("green", "rises"), ("verdant", "goes up")), ask)
    assert merged == (
        MergedClaim("up", ((0, 0), (1, 1), (2, 1))),
        MergedClaim("ten", ((0, 1),)),
        MergedClaim("green", ((1, 0), (2, 0))),
    )


@pytest.mark.parametrize("merging", ["chain", "tree"])
async def test_the_first_set_and_empty_sets_cost_no_call(merging: Merging) -> None:
    ask = Scripted()
    assert len(await merge_claims(((), ("a", "b"), ()), ask, merging)) == 2
    assert await merge_claims(((), ()), ask, merging) == ()
    assert ask.asked == []


async def test_a_tree_merges_in_pairs_and_keeps_every_source() -> None:
    sets = (("up", "ten"), ("rises",), ("up", "green"), ("ten", "big"), ("verdant",))
    ask = Scripted(
        {"pairs": [[0, 0]]},  # up = rises
        {"pairs": []},
        {"pairs": [[0, 0], [1, 2]]},  # {up, ten} and {up, green, ten, big}
        {"pairs": [[2, 0]]},  # green = verdant
    )
    merged = await merge_claims(sets, ask, "tree")
    assert [(call["existing"], call["new"]) for call in ask.asked] == [
        (["up", "ten"], ["rises"]),
        (["up", "green"], ["ten", "big"]),
        (["up", "ten"], ["up", "green", "ten", "big"]),
        (["up", "ten", "green", "big"], ["verdant"]),
    ]
    assert merged == (
        MergedClaim("up", ((0, 0), (1, 0), (2, 0))),
        MergedClaim("ten", ((0, 1), (3, 0))),
        MergedClaim("green", ((2, 1), (4, 0))),
        MergedClaim("big", ((3, 1),)),
    )


@pytest.mark.parametrize("pair", [[5, 0], [0, 5], [-1, 0]])
async def test_a_pair_out_of_range_is_refused(pair: list[int]) -> None:
    with pytest.raises(ModelError, match="outside"):
        await merge_claims((("a",), ("b",)), Scripted({"pairs": [pair]}))


async def test_support_of_a_claims_own_answer_is_true_and_not_asked() -> None:
    claims = (
        MergedClaim("a", ((0, 0),)),
        MergedClaim("b", ((1, 0),)),
        MergedClaim("c", ((0, 1), (1, 1))),
        MergedClaim("d", ((1, 2),)),
    )
    ask = Scripted({"supported": [False, True]}, {"supported": [False]})
    assert await support_matrix(("x", "y"), claims, ask) == [
        [True, False, True, True],
        [False, True, True, True],
    ]
    assert [(call["answer"], call["claims"]) for call in ask.asked] == [
        ("x", ["b", "d"]),
        ("y", ["a"]),
    ]


async def test_an_answer_that_all_claims_came_from_costs_no_call() -> None:
    ask = Scripted()
    assert await support_matrix(("x",), (MergedClaim("a", ((0, 0),)),), ask) == [[True]]
    assert await support_matrix(("x", "y"), (), ask) == [[], []]
    assert ask.asked == []


async def test_a_wrong_number_of_booleans_is_refused() -> None:
    claims = (MergedClaim("a", ((1, 0),)),)
    with pytest.raises(ModelError, match="2 booleans for 1 claims"):
        await support_matrix(("x",), claims, Scripted({"supported": [True, False]}))


@pytest.mark.parametrize(
    ("included", "update", "text", "status"),
    [
        (False, False, "c", "indeterminate"),
        (False, True, "other", "indeterminate"),
        (True, False, "c", "aligned"),
        (True, False, "other", "aligned"),
        (True, True, "other", "contradicted"),
        (True, True, "", "error"),
        (True, True, " C ", "error"),
    ],
)
def test_verdicts(included: bool, update: bool, text: str, status: str) -> None:
    reply = Verification(is_included=included, should_update=update, updated_claim=text)
    verdict = read_verdict("c", reply)
    assert verdict.status == status
    assert (verdict.updated_claim == text) is (status == "contradicted")


async def test_a_failed_verification_is_an_error_verdict_with_its_reason() -> None:
    verdict = await verify_claim("q", "c", "context", Scripted(ModelError("no reply")))
    assert (verdict.status, verdict.reason) == ("error", "no reply")


async def test_usage_is_summed_by_task() -> None:
    counted = Counted(Scripted("a", "b"))
    await closed_book_answers("q", counted, 2)
    assert counted.usage["closed_book"] == Usage(calls=2, input_tokens=20)


def test_distinct_texts() -> None:
    assert distinct_texts(["a", " ", "A", "b "]) == ("a", "b")
