"""What the report says of the evidence that claims stand on, from the tables of both stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flows.report.blocks import Table, Text
from rooms.attribution.game import Shares, Support
from rooms.attribution.page import SECTION, Attributed
from rooms.attribution.records import (
    Attribution,
    ClaimSupport,
    ItemValue,
    Planted,
    PlantedClaim,
    attribution_rows,
    planted_rows,
)
from simulrag.metrics.settings import MetricSettings
from simulrag.metrics.table import Measurement, only, read_table, write_table
from simulrag.records import Standing
from tests.unit.report.made import run_of

SETTINGS = MetricSettings(bootstrap=100)


def planted(
    question: str, place: int, *claims: PlantedClaim, failure: str | None = None
) -> Planted:
    return Planted(
        question_id=question, scenario_id=question, place=place, claims=claims, failure=failure
    )


PLANTED = (
    planted("q1", 1, PlantedClaim(text="a", none=0.2, all=0.8, left_out=(0.0, 0.6))),
    planted("q2", 0, PlantedClaim(text="b", none=0.2, all=0.4, left_out=(0.0, 0.2))),
    planted("q3", 0, failure="no reply"),
)


def claim(
    support: Support | None,
    *values: float | None,
    gain: float = 0.0,
    standing: Standing | None = None,
) -> ClaimSupport:
    return ClaimSupport(
        claim_hash="0",
        text="c",
        support=support,
        standing=standing,
        shares=None if support is None else Shares(simulator=gain, documents=0.0),
        items=tuple(
            ItemValue(item=f"urban.run#{at}", value=value, left_out=0.3 if value == 0.5 else None)
            for at, value in enumerate(values)
        ),
    )


FOUND = (
    Attribution(
        question_id="q1",
        domain="urban",
        estimator="shapley",
        chances="stated",
        claims=(claim("simulator", 0.5, 0.0, gain=0.5), claim("neither", None)),
    ),
    Attribution(
        question_id="q2",
        domain="urban",
        estimator="shapley",
        chances="stated",
        claims=(claim("simulator", 0.1, gain=0.4), claim(None)),
    ),
)


HELD = Attributed(
    estimator="shapley",
    chances="verdicts",
    threshold=0.2,
    sources=("urban", "library"),
    questions=4,
    failed=1,
    claims={},
)


def test_the_rows_are_means_of_claims_with_how_many_there_were(tmp_path: Path) -> None:
    rows = attribution_rows(FOUND, {"q1": "s1", "q2": "s2"}, 0.2, SETTINGS, "urban")
    write_table(tmp_path / "urban.csv", rows)
    table = read_table(tmp_path / "urban.csv")
    assert only(table, metric="stands_on", level="simulator") == pytest.approx(2 / 3)
    assert only(table, metric="stands_on", level="against") == 0
    assert only(table, metric="gain", level="simulator") == pytest.approx(0.3)
    assert only(table, metric="item_value", tool="urban.run") == pytest.approx(0.2)
    assert only(table, metric="item_left_out") == pytest.approx(0.3)
    assert only(table, metric="item_supports") == pytest.approx(1 / 3)
    values = table.filter(metric="item_value")
    assert (values["n"][0], values["coverage"][0]) == (3, 0.75)
    gains = table.filter(metric="gain", level="simulator")
    assert (gains["lower_95"][0], gains["reason"][0]) == (None, "no interval: fewer than 5 answers")


def of_statements(number: int) -> Attribution:
    """A question whose corrected statement the chances take for right, with others as audited."""
    claims = (
        claim("simulator", gain=0.4 + number / 10, standing="checked"),
        claim("simulator", gain=0.3, standing="corrected"),
        claim("neither", standing="beyond"),
    )
    return FOUND[0].model_copy(update={"question_id": f"q{number}", "claims": claims})


def test_what_chances_say_stands_beside_what_the_audit_said() -> None:
    attributions = [of_statements(number) for number in range(5)]
    scenarios = {f"q{number}": f"s{number}" for number in range(5)}
    rows = tuple(attribution_rows(attributions, scenarios, 0.2, SETTINGS, "urban"))
    agrees = {row.text("standing"): row.value for row in rows if row.metric == "agrees"}
    assert agrees == {"checked": 1.0, "corrected": 0.0, "beyond": 1.0}
    held = replace(HELD, claims={"simulator": (10, 0, 0), "neither": (5, 0, 0)}, measured=rows)
    run = replace(run_of(), rooms={"attribution": {"urban": held}})
    about, table = list(SECTION.blocks(run))[:2]
    assert isinstance(about, Text)
    assert "audit's runs" in about.text
    assert isinstance(table, Table)
    assert table.columns[2:] == ("The simulator adds", "simulator", "neither", "Agree")
    checked, corrected, _ = table.rows
    assert checked[:2] == ("checked", "5")
    assert checked[2].startswith("+0.60 [")
    assert corrected == (
        "corrected",
        "5",
        "+0.300 [+0.300, +0.300]",
        "100.0 %",
        "0.0 %",
        "0.000 [0.000, 0.000]",
    )


def test_of_no_claim_the_rows_say_so() -> None:
    for row in (*attribution_rows((), {}, 0.2, SETTINGS, "urban"), *planted_rows((), SETTINGS, "")):
        assert (row.value, row.n, row.reason) == (None, 0, "no claim has it")


def test_what_claims_stand_on_is_counted_and_beside_it_how_many_are_true() -> None:
    held = replace(
        HELD,
        claims={"simulator": (6, 4, 1), "against": (3, 0, 0), None: (1, 0, 0)},
        measured=(
            Measurement(
                family="attribution",
                domain="urban",
                metric="gain",
                level="simulator",
                value=0.25,
                lower_95=-0.1,
                upper_95=0.5,
            ),
            *attribution_rows(FOUND[:1], {"q1": "s"}, 0.2, SETTINGS, "urban"),
        ),
        planted=tuple(planted_rows(PLANTED, SETTINGS, "urban")),
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
    assert items.rows == (("urban.run", "+0.250", "+0.300", "50.0 %", "2"),)
    assert shares.rows[0][0] == "2"
    assert [cell.partition(" ")[0] for cell in shares.rows[0][1:]] == [
        "+0.400",
        "+0.300",
        "+0.100",
        "50.0",
    ]
    assert shares.notes[0].endswith("Of the questions 66.7 % could be asked.")
    assert list(SECTION.blocks(run_of())) == []
