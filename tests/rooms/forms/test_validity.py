"""Questions out to people in the active order, and what their words come to."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from simulrag.errors import InputError
from simulrag.judging.people.label_studio import read_export, tasks
from simulrag.judging.people.labels import settle
from simulrag.records import HumanLabel
from simulrag.rooms.forms.records import Formed, Validity
from simulrag.rooms.forms.validity import (
    FEATURES,
    Decision,
    agreement,
    config,
    decide,
    estimate_validity,
    key,
    offered,
    valid_share,
)
from tests.rooms.forms.making import MAKER


def question(number: int, likely: float, seed: str | None = None) -> Formed:
    made = MAKER.freeform("base", f"What of {number}?", f"Answer {number}.")
    features = dict.fromkeys(FEATURES, 0.5) | {"zero_shot": likely}
    changes = {"valid": Validity(features=features), "scenario_id": seed or f"s{number}"}
    return made.model_copy(update=changes)


def said(questions: Sequence[Formed], valid: Sequence[bool], who: str = "ann") -> list[HumanLabel]:
    return [
        HumanLabel(
            question_id=one.question_id,
            claim_hash=key(one)[1],
            text=offered([one], [whole(one)])[0].text,
            label="true" if word else "false",
            annotator=who,
        )
        for one, word in zip(questions, valid, strict=True)
    ]


def whole(one: Formed) -> Decision:
    return Decision(question_id=one.question_id, pair_hash=key(one)[1], weight=1)


def test_the_least_certain_come_first_and_of_confident_ones_half_stand_for_all() -> None:
    asked = [question(i, i / 400) for i in range(401)]
    found = decide(asked, [], sample=None, seed=3)
    by_id = {one.question_id: one.valid.features["zero_shot"] for one in asked}
    distance = [abs(by_id[one.question_id] - 0.5) for one in found]
    assert distance == sorted(distance)
    sure = [one.weight for one, far in zip(found, distance, strict=True) if far > 0.35]
    assert set(sure) == {0, 2}
    assert 0.8 < sum(sure) / len(sure) < 1.2  # the weights undo the coin
    assert all(one.weight == 1 for one, far in zip(found, distance, strict=True) if far < 0.35)
    assert found == decide(asked[::-1], [], sample=None, seed=3)
    assert found != decide(asked, [], sample=None, seed=4)


def test_the_loop_goes_on_where_it_stopped() -> None:
    asked = [question(i, 0.5 + i / 40) for i in range(8)]
    first = decide(asked, [], sample=3, seed=0)
    assert [one.weight for one in first] == [1, 1, 1]
    rest = decide(asked, first, sample=None, seed=0)
    assert {one.question_id for one in rest}.isdisjoint(one.question_id for one in first)
    assert len(first) + len(rest) == len(asked)
    assert decide(asked, [*first, *rest], sample=None, seed=0) == []
    changed = asked[0].model_copy(update={"text": "What else?"})  # another pair: decided anew
    (again,) = decide([changed, *asked[1:]], [*first, *rest], sample=None, seed=0)
    assert again.question_id == changed.question_id


def test_tasks_go_to_label_studio_and_come_back() -> None:
    asked = [question(1, 0.5)]
    (task,) = tasks(offered(asked, [whole(asked[0])]))
    choices = {"from_name": "label", "value": {"choices": ["true"]}}
    task["annotations"] = [{"id": 1, "completed_by": 4, "result": [choices]}]
    (label,) = read_export(json.dumps([task]).encode(), "export.json")
    assert (label.question_id, label.claim_hash) == key(asked[0])
    assert 'alias="true"' in config()


def test_the_share_is_weighted_and_disputes_count_for_nothing() -> None:
    asked = [question(i, 0.5) for i in range(4)]
    labels = said(asked, [True, False, True, True]) + said(asked[3:], [False], "bob")
    decisions = [whole(one) for one in asked]
    decisions[0] = decisions[0].model_copy(update={"weight": 2})
    share, count = valid_share(asked, decisions, settle(labels))
    assert (share.value, count) == (pytest.approx(3 / 4), 3)
    assert share.lower_95 is not None
    assert valid_share(asked, decisions, {})[0].value is None
    assert agreement(settle(labels)) == (0, pytest.approx(-1), 1)
    assert agreement(settle(labels[:2])) is None


@pytest.mark.slow  # scikit-learn alone takes seconds to import
def test_an_estimate_is_out_of_fold_and_calibrated_on_the_whole() -> None:
    asked = [question(i, (i % 10) / 10, seed=f"s{i // 2}") for i in range(60)]
    valid = [one.valid.features["zero_shot"] > 0.4 for one in asked[:40]]
    found = estimate_validity(asked, settle(said(asked[:40], valid)))
    assert found.brier is not None
    assert found.brier_of_share is not None
    assert found.brier < 0.5 * found.brier_of_share
    chances = [one.valid.probability for one in found.questions]
    assert all(chance is not None for chance in chances)
    assert sum(filter(None, chances[40:])) / 20 == pytest.approx(0.5, abs=0.1)
    unknown = asked[0].model_copy(update={"valid": Validity(), "question_id": "imported"})
    last = estimate_validity([*asked, unknown], settle(said(asked[:40], valid))).questions[-1]
    assert last.valid.probability is None


@pytest.mark.parametrize("valid", [[True] * 5 + [False] * 4, [True] * 12, []])
def test_labels_that_do_not_do(valid: list[bool]) -> None:
    asked = [question(i, 0.5) for i in range(12)]
    with pytest.raises(InputError, match=f"{len(valid)} labels, {sum(valid)} of them valid"):
        estimate_validity(asked, settle(said(asked[: len(valid)], valid)))
