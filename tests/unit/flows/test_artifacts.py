"""The table of a stage's cost."""

from __future__ import annotations

from flows.watch.artifacts import cost_rows
from simulrag.models.prices import Price
from simulrag.records import Usage


def test_a_line_a_task_and_their_sum() -> None:
    used = {"merge": Usage(calls=2, input_tokens=10), "entailment": Usage(calls=3, input_tokens=30)}
    rows = cost_rows(
        {"questions": (3, 4)},
        used,
        {"merge": Usage(calls=1)},
        None,
        seconds={"merge": 1.25, "entailment": 0.5},
        free=False,
    )
    assert rows[0]["what"] == "questions"
    assert rows[0]["count"] == "3 of 4 (75.0 %)"
    assert rows[0]["seconds"] is None
    shown = [(r["what"], r["count"], r["of them in this run"], r["seconds"]) for r in rows[1:]]
    assert shown == [("entailment", 3, 0, 0.5), ("merge", 2, 1, 1.25), ("all calls", 5, 1, 1.75)]
    assert {row["USD"] for row in rows} == {None}, "a model without a price"


def test_tokens_that_nobody_counted_are_empty_and_not_0() -> None:
    used = {"label": Usage(calls=3)}
    price = Price(provider="p", model="m", input=1, output=2, as_of="2026-11")
    rows = cost_rows({}, used, {}, price, seconds={}, free=False)
    assert [(row["count"], row["tokens in"], row["USD"]) for row in rows] == [(3, None, None)] * 2
