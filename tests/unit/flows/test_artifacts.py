"""The table of a stage's cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flows.watch.artifacts import cost_rows, titled_table
from simulrag.models.prices import Price
from simulrag.records import Usage


def _gateway(used: dict[str, Usage], made: dict[str, Usage], **seconds: float) -> Any:
    settings = SimpleNamespace(provider="openai")
    return SimpleNamespace(settings=settings, usage=used, paid=made, seconds=seconds)


def test_a_line_a_task_and_their_sum() -> None:
    used = {"merge": Usage(calls=2, input_tokens=10), "entailment": Usage(calls=3, input_tokens=30)}
    gateway = _gateway(used, {"merge": Usage(calls=1)}, merge=1.25, entailment=0.5)
    rows = cost_rows(gateway, {"questions": (3, 4)}, None)
    assert rows[0]["what"] == "questions"
    assert rows[0]["count"] == "3 of 4 (75.0 %)"
    assert rows[0]["seconds"] is None
    shown = [(r["what"], r["count"], r["of them in this run"], r["seconds"]) for r in rows[1:]]
    assert shown == [("entailment", 3, 0, 0.5), ("merge", 2, 1, 1.25), ("all calls", 5, 1, 1.75)]
    assert {row["USD"] for row in rows} == {None}, "a model without a price"


def test_tokens_that_nobody_counted_are_empty_and_not_0() -> None:
    price = Price(provider="p", model="m", input=1, output=2, as_of="2026-11")
    rows = cost_rows(_gateway({"label": Usage(calls=3)}, {}), {}, price)
    assert [(row["count"], row["tokens in"], row["USD"]) for row in rows] == [(3, None, None)] * 2


def test_a_stages_table_says_what_failed_in_cells_that_no_reason_ends() -> None:
    assert titled_table("label urban", ("label", "claims"), [("true", 3)]).splitlines() == [
        "## label urban",
        "",
        "| label | claims |",
        "| --- | --- |",
        "| true | 3 |",
    ]
    failures = [("q", "verify", "a |\nb")] * 201
    lines = titled_table("answer urban", ("what",), [], failures).splitlines()
    assert lines[5:8] == [
        "| failed question | step | reason |",
        "| --- | --- | --- |",
        "| q | verify | a \\| b |",
    ]
    assert lines[-1] == "| 1 more | | see the stage's out |"
