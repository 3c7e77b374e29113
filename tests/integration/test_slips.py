"""A model of whose replies many lack an item loses no question, at calls that can be paid."""

from __future__ import annotations

import pytest

from benchmarks import slips

pytestmark = pytest.mark.slow


def test_replies_that_lack_an_item_lose_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slips, "PERCENT", (0, 30))
    found = {name: value for name, value, _, _ in slips.slips()}
    assert found["slips_0_labelled"] == slips.QUESTIONS
    assert found["slips_30_replies_that_slipped"] > 100
    assert found["slips_30_replies_completed"] > 0
    assert found["slips_30_labelled"] >= slips.QUESTIONS - 1
    assert found["slips_30_more_calls"] <= 20
