"""The share of evidence that is known to decide: planted among that of other questions."""

from __future__ import annotations

import pytest

from rooms.attribution.planted import plantable, planted
from simulrag.errors import ModelUnavailable
from simulrag.records import Question, ReferenceClaim
from simulrag.testing import ScriptedModel
from tests import making


def asked(number: int, scenario: str = "") -> Question:
    run = making.evidence(f"Run {number} says so.", {}, tool="sound", simulator="lake")
    claims = [ReferenceClaim(text=f"It is {number}.", kind="quantitative")]
    claims.append(ReferenceClaim(text="It rises.", kind="qualitative"))
    return making.question(
        f"q{number}",
        scenario or f"s{number}",
        evidence=(run,),
        reference_claims=tuple(claims),
    )


def reading(_: str, values: dict[str, object]) -> object:
    chance = 0.9 if "Run 1 says" in str(values["context"]) else 0.2
    return {"claims": [{"index": 0, "probability": chance}]}


async def test_the_planted_evidence_gets_the_share_and_no_other_does() -> None:
    model, others = ScriptedModel(by_task=reading), [asked(n) for n in range(1, 9)]
    found = await planted(others[0], others, model, seed=7)
    (claim,) = found.claims
    assert (claim.text, claim.none, claim.all) == ("It is 1.", 0.2, 0.9)
    assert len(claim.left_out) == 5
    shares = dict(enumerate(claim.left_out))
    assert shares.pop(found.place) == pytest.approx(0.7)
    assert set(shares.values()) == {0.0}
    assert len(model.asked) == 7  # none, all, and without each


async def test_evidence_of_the_same_scenario_is_no_other() -> None:
    model, one = ScriptedModel(by_task=reading), asked(1)
    found = await planted(one, [one, asked(2, "s1"), asked(3)], model, seed=7)
    assert len(found.claims[0].left_out) == 2
    assert all("Run 2" not in str(call["context"]) for call in model.asked)


async def test_what_cannot_be_planted_is_left_out_and_a_failed_call_is_said() -> None:
    bare = asked(1).model_copy(update={"evidence": ()})
    vague = asked(2).model_copy(update={"reference_claims": asked(2).reference_claims[1:]})
    assert plantable([bare, vague, asked(3)]) == [asked(3)]
    found = await planted(asked(1), [asked(2)], ScriptedModel(ModelUnavailable("down")), seed=7)
    assert (found.failure, found.claims) == ("down", ())
