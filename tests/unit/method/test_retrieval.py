"""Step 1: attempts at valid tool calls."""

from __future__ import annotations

from pathlib import Path

from simulators.climate import ClimateSimulator
from simulrag.calls import CallCache
from simulrag.method.retrieval import retrieve
from simulrag.method.simulation import Simulations
from simulrag.testing import ScriptedModel


def calls(city: str) -> dict[str, object]:
    return {"calls": [{"tool": "query_lat_and_lon", "arguments": {"city_name": city}}]}


async def test_an_attempt_that_failed_alike_is_asked_anew(tmp_path: Path) -> None:
    ask = ScriptedModel(calls("Nowhere at all"), calls("Nowhere at all"), calls("Oslo"))
    with CallCache(tmp_path / "calls", stage="test") as cache:
        found = await retrieve("q?", ask, Simulations(ClimateSimulator(), cache), max_attempts=3)
    assert (found.status, found.attempts) == ("retrieved", 3)
    first, second, third = ask.asked
    assert not first["problems"]
    assert second["problems"] == third["problems"] != []
    assert [attempt["sample_index"] for attempt in ask.asked] == [0, 0, 1]
