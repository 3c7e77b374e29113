"""Accuracy and confusion of routing, and the questions that nothing of ours can answer."""

from __future__ import annotations

import json
from pathlib import Path

from simulrag.metrics.routing import routing_scores

FILE = Path(__file__).resolve().parents[3] / "data" / "routing" / "none.jsonl"


def test_scores_by_hand() -> None:
    pairs = [
        ("urban", "urban"),
        ("urban", "climate"),
        ("climate", None),
        (None, None),
        (None, "urban"),
    ]
    scores = routing_scores(pairs)
    assert (scores.count, scores.accuracy, scores.answered, scores.refused) == (5, 0.4, 1 / 3, 0.5)
    assert scores.confusion[("climate", "none")] == 1
    assert scores.confusion[("urban", "climate")] == 1


def test_without_questions_there_is_no_share() -> None:
    assert routing_scores([]).accuracy is None
    assert routing_scores([("urban", "urban")]).refused is None


def test_the_questions_that_no_simulator_answers_are_thirty_different_ones() -> None:
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    assert len({row["text"] for row in rows}) == len({row["question_id"] for row in rows}) == 30
    assert {row["near"] for row in rows} == {"urban", "climate", "epidemiology"}
    assert all(row["why"] and row["text"].endswith("?") for row in rows)
