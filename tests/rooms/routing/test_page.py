"""What the report says of routing."""

from __future__ import annotations

from dataclasses import replace

from simulrag.metrics.intervals import Estimate
from simulrag.report.blocks import Table
from simulrag.rooms.routing.page import SECTION, RoutingScores
from tests.unit.report.made import run_of


def test_what_was_sent_where_is_counted() -> None:
    scores = RoutingScores(
        accuracy={
            "all": Estimate(0.75, 0.5, 1.0),
            "own": Estimate(1.0, 1.0, 1.0),
            "none": Estimate(0.5, reason="no interval: one scenario only"),
            "near_miss": Estimate(None, reason="no such question"),
        },
        counts={"all": 4, "own": 2, "none": 2, "near_miss": 0},
        confusion={("none", "none"): 1, ("none", "urban"): 1, ("urban", "urban"): 2},
        failed=1,
    )
    run = replace(run_of(), rooms={"routing": scores})
    shares, confusion = (one for one in SECTION.blocks(run) if isinstance(one, Table))
    assert [row[1:] for row in shares.rows] == [
        ("0.750 [0.500, 1.000]", "4"),
        ("1.000 [1.000, 1.000]", "2"),
        ("0.500", "2"),
        ("—", "0"),
    ]
    assert "1 questions failed" in shares.notes[1]
    assert shares.notes[-1].endswith("no such question.")
    assert confusion.columns == ("Right", "none", "urban")
    assert confusion.rows == (("none", "1", "1"), ("urban", "—", "2"))
