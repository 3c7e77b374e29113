"""What routing will cost is counted before it is spent."""

from __future__ import annotations

from pathlib import Path

from tests.rooms.planning import PAID, planned, to_plan_in


def test_routing_is_planned_where_it_is_asked_for(tmp_path: Path) -> None:
    """Of known questions the calls are known; those of near misses nobody has written are not."""
    wanted = {"llm.answer": PAID, "routing": {"domains": ["urban"], "near_misses": 4}}
    found = planned(to_plan_in(tmp_path, "data/recorded", "data/routing", **wanted), "routing")
    assert {task: (one.calls, one.known) for (_, task), one in found.items()} == {
        "near_misses": (1, 1),
        "route": (15 + 10 + 4, 15 + 10),
    }
    assert found["routing@urban", "route"].input_tokens > 29 * 1000  # a handbook each
