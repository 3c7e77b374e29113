"""Claims in batches: who is asked together, whose reply is whose, and what a bad reply costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue
from simulrag.models.offline import OfflineProvider

from simulators.urban import UrbanSimulator
from simulrag.calls import CallCache
from simulrag.errors import ModelError
from simulrag.method.batches import batches, in_order
from simulrag.method.boundary import assess_boundaries
from simulrag.method.verification import verify_claims
from simulrag.models.base import Message, ProviderReply, Sampling
from simulrag.models.gateway import Gateway
from simulrag.models.prompts import Prompts
from simulrag.models.replies import Numbered
from simulrag.models.settings import ModelSettings
from simulrag.records import Usage
from simulrag.testing import ScriptedModel as Scripted

PROMPTS = Prompts(Path(__file__).parents[3] / "prompts")
SETTINGS = ModelSettings(model="offline-rules-1")
HANDBOOK = UrbanSimulator().handbook()
QUESTION = (
    "A city lowers the speed limit on a corridor by 20 percent. How does the average travel time "
    "change: minor (below 5 percent), moderate (5 to 15 percent) or significant (15 percent or "
    "more)? And do CO2 emissions rise or fall?"
)
EVIDENCE = (
    "Compared with the baseline, the average travel time increases by 12.4 % and total CO2 "
    "emissions decrease by 3.1 %."
)
CLAIMS = (
    "The average travel time increases by 12.4 %.",
    "The average travel time increases by 20 %.",
    "The average travel time decreases.",
    "The change in average travel time is significant.",
    "Total CO2 emissions rise by 3 %.",
    "Total CO2 emissions fall.",
    "Residents welcome the quieter street.",
    "Total fuel consumption falls by 2 %.",
    "The measure improves public health.",
    "The change in average travel time is moderate.",
    "Average idling time grows by 4 %.",
)


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
    ask = Scripted(
        {"claims": [{"index": 0, "tool_confidence": 1}]},
        {"claims": [{"index": 1, "tool_confidence": 1}, {"index": 0, "tool_confidence": 0}]},
    )
    found = await assess_boundaries("q", ["a", "b", "c"], "h", ask, claims_per_call=2)
    assert [call["claims"] for call in ask.asked] == [["a"], ["b", "c"]]
    assert found == [True, False, True]


async def test_verdicts_of_a_batch_go_by_number() -> None:
    aligned = {"is_included": True, "should_update": False, "updated_claim": ""}
    other = {"is_included": True, "should_update": True, "updated_claim": "better"}
    silent = {"is_included": True, "should_update": True, "updated_claim": ""}
    ask = Scripted(
        {"claims": [{"index": 2, **aligned}, {"index": 0, **other}, {"index": 1, **silent}]}
    )
    verdicts = await verify_claims("q", ["a", "b", "c"], "evidence", ask, claims_per_call=9)
    # A contradictory item is that claim's error and leaves the others alone.
    assert [verdict.status for verdict in verdicts] == ["contradicted", "error", "aligned"]
    assert verdicts[0].updated_claim == "better"


async def test_no_claims_cost_no_call() -> None:
    ask = Scripted()
    assert await verify_claims("q", [], "evidence", ask, claims_per_call=9) == []
    assert await assess_boundaries("q", [], "h", ask, claims_per_call=9) == []


@pytest.mark.parametrize("size", [2, 4, 20])
async def test_the_offline_model_judges_alike_by_itself_and_in_batches(
    tmp_path: Path, size: int
) -> None:
    with CallCache(tmp_path / "cache", stage="test") as cache:
        gate = Gateway(OfflineProvider(), SETTINGS, cache, PROMPTS)
        alone = await verify_claims(QUESTION, CLAIMS, EVIDENCE, gate, claims_per_call=1)
        batched = await verify_claims(QUESTION, CLAIMS, EVIDENCE, gate, claims_per_call=size)
        near = await assess_boundaries(QUESTION, CLAIMS, HANDBOOK, gate, claims_per_call=1)
        far = await assess_boundaries(QUESTION, CLAIMS, HANDBOOK, gate, claims_per_call=size)
    assert batched == alone
    assert far == near
    assert {verdict.status for verdict in alone} == {"aligned", "contradicted", "indeterminate"}
    assert set(near) == {True, False}
    calls = -(-len(CLAIMS) // size)
    assert gate.usage["verify_batch"].calls == gate.usage["boundary_batch"].calls == calls


class Forgetful:
    """Says nothing about the last claim until it has been told ``mended_after`` times."""

    name = "forgetful"

    def __init__(self, mended_after: int) -> None:
        self.asked: list[Sequence[Message]] = []
        self.mended_after = mended_after

    async def call(
        self,
        messages: Sequence[Message],
        schema: dict[str, JsonValue] | None,
        sampling: Sampling,
        sample_index: int,
    ) -> ProviderReply:
        self.asked.append(messages)
        count = 3 if len(self.asked) > self.mended_after else 2
        claims = [{"index": i, "tool_confidence": 1} for i in range(count)]
        return ProviderReply(json.dumps({"claims": claims}), Usage(calls=1), "forgetful-1")

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_claim_left_out_is_asked_for_once_more_and_then_fails(tmp_path: Path) -> None:
    with CallCache(tmp_path / "cache", stage="test") as cache:
        model = Forgetful(mended_after=1)
        gate = Gateway(model, SETTINGS, cache, PROMPTS)
        found = await assess_boundaries("q", ["a", "b", "c"], "h", gate, claims_per_call=3)
        assert found == [True] * 3
        assert "missing: 2" in model.asked[1][-1].content
        worse = Forgetful(mended_after=9)
        gate = Gateway(worse, SETTINGS, cache, PROMPTS)
        with pytest.raises(ModelError, match="missing: 2") as caught:
            await assess_boundaries("q", ["d", "e", "f"], "h", gate, claims_per_call=3)
        assert caught.value.kind == "invalid_reply"
        assert len(worse.asked) == 2
