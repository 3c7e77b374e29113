"""Accuracy and confusion of routing, what the report says of them, and questions out of reach."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flows.report.blocks import Table
from rooms.routing.page import SECTION, RoutingScores, routing_scores
from rooms.routing.route import AskedOf, Fit, Route, Routed
from simulrag.metrics.intervals import Estimate
from tests.unit.report.made import run_of

FILE = Path(__file__).resolve().parents[3] / "data" / "routing" / "none.jsonl"


def sent(right: str | None, to: str | None, kind: AskedOf = "own", scenario: str = "s") -> Routed:
    fits = (Fit(source=to, fit="fits"),) if to else ()
    asked = Routed.of("q", "?", kind, right, scenario)
    return asked.model_copy(update={"route": Route(fits=fits)})


def test_scores_by_hand() -> None:
    lost = sent("urban", None).model_copy(update={"route": None, "failure": "x"})
    scores = routing_scores(
        [
            sent("urban", "urban", scenario="1"),
            sent("urban", "climate", scenario="2"),
            sent("climate", None, scenario="3"),
            sent(None, None, "none", "4"),
            sent(None, "urban", "none", "5"),
            lost,
        ]
    )
    assert {kind: one.value for kind, one in scores.accuracy.items()} == {
        "all": 0.4,
        "own": pytest.approx(1 / 3),
        "none": 0.5,
        "out_of_range": None,
        "not_returned": None,
    }
    assert scores.counts == {"all": 5, "own": 3, "none": 2, "out_of_range": 0, "not_returned": 0}
    assert [scores.wrong[kind] for kind in ("all", "own", "none", "out_of_range")] == [3, 2, 1, 0]
    assert scores.confusion[("climate", "none")] == scores.confusion[("urban", "climate")] == 1
    assert scores.failed == 1
    low, high = scores.accuracy["all"].lower_95, scores.accuracy["all"].upper_95
    assert low is not None
    assert high is not None
    assert low <= 0.4 <= high
    assert scores.accuracy["not_returned"].reason == "no such question"


def test_questions_of_one_scenario_are_drawn_together() -> None:
    """Two scenarios, one all right and one all wrong: a draw is 0, a half or 1."""
    found = [sent("a", to, scenario=str(to)) for to in ("a", "b") for _ in range(50)]
    share = routing_scores(found).accuracy["own"]
    assert (share.lower_95, share.value, share.upper_95) == (0, 0.5, 1)
    alone = routing_scores(found[:50]).accuracy["own"]
    assert (alone.value, alone.lower_95) == (1, None)


def test_the_questions_that_no_simulator_answers_are_thirty_different_ones() -> None:
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert len({row["text"] for row in rows}) == len({row["question_id"] for row in rows}) == 30
    assert {row["near"] for row in rows} == {"urban", "climate", "epidemiology"}
    assert all(row["why"] and row["text"].endswith("?") for row in rows)


def test_what_was_sent_where_is_counted() -> None:
    scores = RoutingScores(
        accuracy={
            "all": Estimate(0.75, 0.5, 1.0),
            "own": Estimate(1.0, 1.0, 1.0),
            "none": Estimate(0.5, reason="no interval: one scenario only"),
            "out_of_range": Estimate(None, reason="no such question"),
            "not_returned": Estimate(1.0, 1.0, 1.0),
        },
        counts={"all": 4, "own": 2, "none": 2, "out_of_range": 0, "not_returned": 1},
        wrong={"all": 1, "own": 0, "none": 1, "out_of_range": 0, "not_returned": 0},
        confusion={("none", "none"): 1, ("none", "urban"): 1, ("urban", "urban"): 2},
        failed=1,
    )
    run = replace(run_of(), rooms={"routing": scores})
    shares, confusion = (one for one in SECTION.blocks(run) if isinstance(one, Table))
    assert [row[1:] for row in shares.rows] == [
        ("0.75 [0.50, 1.00]", "1", "4"),
        ("1.000 [1.000, 1.000]", "0", "2"),
        ("0.500", "1", "2"),
        ("—", "0", "0"),
        ("1.000 [1.000, 1.000]", "0", "1"),
    ]
    assert "1 questions failed" in shares.notes[1]
    assert shares.notes[-1].endswith("no such question.")
    assert confusion.columns == ("Right", "none", "urban")
    assert confusion.rows == (("none", "1", "1"), ("urban", "—", "2"))
