"""What the report says of the evidence that claims stand on."""

from __future__ import annotations

from dataclasses import replace

from simulrag.metrics.intervals import Estimate
from simulrag.report.blocks import Table
from simulrag.rooms.attribution.page import SECTION, Attributed
from simulrag.rooms.attribution.planted import Planted, PlantedClaim
from tests.unit.report.made import run_of


def planted(
    question: str, place: int, *claims: PlantedClaim, failure: str | None = None
) -> Planted:
    return Planted(
        question_id=question, scenario_id=question, place=place, claims=claims, failure=failure
    )


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
        left_out={"urban.run": (0.4, 0.0)},
        planted=(
            planted("q1", 1, PlantedClaim(text="a", none=0.2, all=0.8, left_out=(0.0, 0.6))),
            planted("q2", 0, PlantedClaim(text="b", none=0.2, all=0.4, left_out=(0.0, 0.2))),
            planted("q3", 0, failure="no reply"),
        ),
    )
    run = replace(run_of(), rooms={"attribution": {"urban": held}})
    classes, items, shares = (one for one in SECTION.blocks(run) if isinstance(one, Table))
    rows = {row[0]: row[1:] for row in classes.rows}
    assert rows["simulator"] == ("6", "60.0 %", "80.0 %", "5")
    assert rows["against"] == ("3", "30.0 %", "—", "0")
    assert rows["failed"][0] == "1"
    assert rows["both"][0] == "0"
    assert "1 of 4 questions failed" in classes.notes[0]
    assert "the simulator adds +0.25 [-0.10, +0.50] on average" in classes.notes[1]
    assert items.rows == (("urban.run", "+0.250", "+0.200", "50.0 %", "2", "1"),)
    assert shares.rows == (("2", "+0.40", "+0.30", "+0.10", "50.0 %"),)
    assert shares.notes[0].endswith("1 of 3 questions failed.")
    assert list(SECTION.blocks(run_of())) == []
