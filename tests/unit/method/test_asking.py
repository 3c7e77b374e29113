"""Claims in batches: who is asked together, whose reply is whose, and what a reply lacks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from simulrag.calls import CallCache
from simulrag.errors import CacheError, ModelUnavailable, ReplyInvalid
from simulrag.method.asking import batches
from simulrag.method.claims import MergedClaim, support_matrix
from simulrag.method.verification import (
    BOUNDARY_BATCH,
    BoundaryBatch,
    NumberedBoundary,
    assess_boundaries,
    verbalized_confidences,
    verify_claims,
)
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import packaged_prompts
from simulrag.models.settings import ModelSettings
from simulrag.testing import ScriptedModel
from simulrag.testing.scripted import SETTINGS as SCRIPTED

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
    reply = BoundaryBatch.model_validate(
        {"claims": [{"index": number, "tool_confidence": 1} for number in numbers]}
    )
    assert re.search(words, reply.problem(3))
    whole = reply.of(reversed([NumberedBoundary(index=n, tool_confidence=1) for n in range(3)]))
    assert (whole.problem(3), list(whole.by_claim(3))) == ("", [0, 1, 2])


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


WRONG = {"is_included": True, "should_update": True, "updated_claim": "better"}
CLAIMS = list("abcde")


def of(*numbers: int, **more: object) -> dict[str, object]:
    """A reply about the claims of these numbers."""
    return {"claims": [{"index": number, **ALIGNED, **more} for number in numbers]}


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        (of(0, 1, 2, 3, 4), []),
        (of(0, 1, 3, 4), ["c"]),
        (of(0, 4), ["bcd"]),
        (of(), ["ab", "cde"]),
        # Which claims these mean is open:
        (of(0, 1, 2, 3, 3), ["ab", "cde"]),
        (of(1, 2, 3, 4, 5), ["ab", "cde"]),
        (of(1, 2, 3, 4), ["ab", "cde"]),
        (of(0, 1, 2, 3), ["ab", "cde"]),
    ],
    ids=[
        *("whole", "in the middle", "most", "all", "doubled", "unknown"),
        *("counted from 1", "passed one over and counted on"),
    ],
)
async def test_what_a_batch_lacks_is_asked_for_alone(
    first: dict[str, object], asked: list[str]
) -> None:
    replies = iter([first])
    ask = ScriptedModel(
        by_task=lambda _, shown: next(replies, of(*range(len(cast("list[str]", shown["claims"])))))
    )
    verdicts = await verify_claims("q", CLAIMS, "evidence", ask, claims_per_call=9)
    assert [verdict.status for verdict in verdicts] == ["aligned"] * 5
    assert ["".join(cast("list[str]", one["claims"])) for one in ask.asked] == ["abcde", *asked]
    assert {one["context"] for one in ask.asked} == {"evidence"}


async def test_what_is_lacking_again_is_asked_for_one_by_one_and_keeps_its_place() -> None:
    def reply(_: str, shown: dict[str, Any]) -> object:
        last = len(shown["claims"]) - 1
        return of(0, last) if last else of(0, **WRONG)

    ask = ScriptedModel(by_task=reply)
    verdicts = await verify_claims("q", CLAIMS, "evidence", ask, claims_per_call=5)
    assert [verdict.status == "contradicted" for verdict in verdicts] == [c == "c" for c in CLAIMS]
    assert ["".join(one["claims"]) for one in ask.asked] == ["abcde", "bcd", "c"]


@pytest.mark.parametrize("task", ["verify_batch", "boundary_batch", "verbalized_batch"])
async def test_a_claim_that_no_reply_speaks_of_is_an_error_after_three_asks(task: str) -> None:
    ask = ScriptedModel(by_task=lambda *_: {"claims": []})
    asking = {
        "verify_batch": lambda: verify_claims("q", ["a"], "e", ask, claims_per_call=9),
        "boundary_batch": lambda: assess_boundaries("q", ["a"], "h", ask, claims_per_call=9),
        "verbalized_batch": lambda: verbalized_confidences("q", ["a"], ask, claims_per_call=9),
    }
    with pytest.raises(ReplyInvalid, match="missing: 0"):
        await asking[task]()
    assert [one["task"] for one in ask.asked] == [task] * 3


@pytest.mark.parametrize(
    ("given", "asked"), [(2, ["abc", "a", "bc"]), (3, ["abc"]), (4, ["abc", "a", "bc"])]
)
async def test_booleans_of_another_number_are_nobodys(given: int, asked: list[str]) -> None:
    """Without numbers each stands for its place, so that one too few leaves none."""
    replies = iter([{"supported": [True] * given}])
    ask = ScriptedModel(
        by_task=lambda _, shown: next(
            replies, {"supported": [text == "c" for text in cast("list[str]", shown["claims"])]}
        )
    )
    claims = tuple(MergedClaim(text, ()) for text in "abc")
    (row,) = await support_matrix(("answer",), claims, ask)
    assert row == ([True] * 3 if given == 3 else [False, False, True])
    assert ["".join(cast("list[str]", one["claims"])) for one in ask.asked] == asked


def said(*pairs: tuple[object, object]) -> str:
    return json.dumps({"claims": [{"index": n, "tool_confidence": value} for n, value in pairs]})


LACKS, WHOLE, ALONE = said((0, 1), (2, 1)), said((0, 1), (1, 0), (2, 1)), said((0, 0))
BOTH = [said((0, 1)), said((0, 0), (1, 1))]


@pytest.mark.parametrize(
    ("replies", "sent"),
    [
        ([LACKS, WHOLE], 2),
        ([said((0, 1)), LACKS, ALONE], 3),
        ([LACKS, "I cannot say.", ALONE], 3),  # the fuller one is kept
        ([LACKS, said((0, 1), (1, 2), (2, 1)), ALONE], 3),  # an item that is none
        (['{"claims": [', "", *BOTH], 4),
        ([f'{{"claims": [{{"index": {"9" * 5000}}}]}}', "", *BOTH], 4),
        ([LACKS, LACKS, said(), said((5, 1)), ALONE], 5),
        # One of a doubled number, or one of no number, is no item: which claim it meant is open.
        ([said((0, 1), (1, 1), (1, 5), (2, 1))] * 2 + BOTH, 4),
        ([said((0, 1), ("1", 0), (2, 1))] * 2 + BOTH, 4),
        # Counted from 1 with the last malformed, or a first item that is none.
        ([said((0, 1), (2, 1), (3, 5))] * 2 + BOTH, 4),
        ([said((-1, 5), (0, 1), (2, 1))] * 2 + BOTH, 4),
    ],
    ids=[
        *("mended", "one lacks", "prose", "one is none", "nothing", "5,000 digits"),
        *("alone lacks too", "doubled", "no number", "one beyond", "one before"),
    ],
)
async def test_what_was_kept_is_stored_and_replayed_without_a_call(
    tmp_path: Path, replies: list[str], sent: int
) -> None:
    async def ask(*say: str, replay: bool = False) -> tuple[list[bool], ScriptedModel, Gateway]:
        model = ScriptedModel(*say)
        settings = ModelSettings(provider="scripted", model="scripted", replay=replay)
        with CallCache(tmp_path / "calls", stage="test") as cache:
            gateway = Gateway(model, settings, cache, packaged_prompts())
            found = await assess_boundaries("q", list("abc"), "h", gateway, claims_per_call=9)
        return found, model, gateway

    found, model, gateway = await ask(*replies)
    assert (found, len(model.sent), model.replies) == ([True, False, True], sent, [])
    completed = {2: 0}.get(sent, 1)
    assert gateway.batches[False] == completed
    again, _, replayed = await ask(replay=True)
    assert again == found
    assert replayed.batches == gateway.batches
    assert replayed.usage == {"boundary_batch": gateway.usage["boundary_batch"]}


async def test_a_model_that_lists_nothing_is_asked_ten_times_and_no_more(tmp_path: Path) -> None:
    model = ScriptedModel(*["I cannot say."] * 99)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        gateway = Gateway(model, SCRIPTED, cache, packaged_prompts())
        with pytest.raises(ReplyInvalid, match="no JSON object"):
            await assess_boundaries("q", list("abcdefgh"), "h", gateway, claims_per_call=20)
    assert len(model.sent) == 10


async def test_what_is_kept_of_a_reply_outlives_a_repair_that_fails(tmp_path: Path) -> None:
    model = ScriptedModel(LACKS, ModelUnavailable("too busy"), ALONE)
    with CallCache(tmp_path / "calls", stage="test") as cache:
        gateway = Gateway(model, SCRIPTED, cache, packaged_prompts())
        found = await assess_boundaries("q", list("abc"), "h", gateway, claims_per_call=9)
    assert (found, len(model.sent), model.replies) == ([True, False, True], 3, [])
    assert gateway.usage["boundary_batch"].calls == 2


async def test_a_stored_reply_that_lacks_a_claim_and_was_not_kept_is_a_cache_error(
    tmp_path: Path,
) -> None:
    """Whoever took an item out of a stored reply is told, and the call is not completed."""
    with CallCache(tmp_path / "calls", stage="test") as cache:
        gateway = Gateway(ScriptedModel(said((0, 1))), SCRIPTED, cache, packaged_prompts())
        values = {"handbook": "h", "question": "q", "claims": ["a", "b"]}
        await gateway.ask(BOUNDARY_BATCH, **values)
        with pytest.raises(CacheError, match="missing: 1"):
            await assess_boundaries("q", ["a", "b"], "h", gateway, claims_per_call=9)


async def test_no_claims_cost_no_call() -> None:
    ask = ScriptedModel()
    assert await verify_claims("q", [], "evidence", ask, claims_per_call=9) == []
    assert await assess_boundaries("q", [], "h", ask, claims_per_call=9) == []
