"""What the report says of the evidence that claims stand on."""

from __future__ import annotations

from dataclasses import replace

from simulrag.metrics.intervals import Estimate
from simulrag.report.blocks import Table
from simulrag.rooms.attribution.page import SECTION, Attributed
from tests.unit.report.made import run_of


def test_what_claims_stand_on_is_counted_and_beside_it_how_many_are_true() -> None:
    held = Attributed(
        estimator="rerun",
        chances="verdicts",
        threshold=0.2,
        sources=("urban", "library"),
        questions=4,
        failed=1,
        claims={"simulator": (6, 4, 1), "against": (3, 0, 0), None: (1, 0, 0)},
        shares={"simulator": Estimate(0.25, -0.1, 0.5), "documents": Estimate(None, reason="no")},
        items={"urban.run": (0.5, 0.0, None)},
    )
    run = replace(run_of(), rooms={"attribution": {"urban": held}})
    classes, items = (one for one in SECTION.blocks(run) if isinstance(one, Table))
    rows = {row[0]: row[1:] for row in classes.rows}
    assert rows["simulator"] == ("6", "60.0 %", "80.0 %", "5")
    assert rows["against"] == ("3", "30.0 %", "—", "0")
    assert rows["failed"][0] == "1"
    assert rows["both"][0] == "0"
    assert "1 of 4 questions failed" in classes.notes[0]
    assert "the simulator adds +0.25 [-0.10, +0.50] on average" in classes.notes[1]
    assert items.rows == (("urban.run", "+0.250", "50.0 %", "2", "1"),)
    assert list(SECTION.blocks(run_of())) == []
