"""A commit that is repeated, because its acknowledgement got lost, happens once."""

from __future__ import annotations

import json

import pytest

from simulrag.calls import CachePlace, call_key
from simulrag.calls.fence import Unsaved, commit
from simulrag.calls.keys import canonical_json
from simulrag.calls.ledger import Ledger
from simulrag.calls.opening import open_rows

REQUEST = {"model": "m"}
KEY = call_key("model", REQUEST)


def _text(response: str) -> str:
    content = {
        "key": KEY,
        "kind": "model",
        "request": REQUEST,
        "response": response,
        "usage": {"calls": 1},
        "paid": True,
    }
    return canonical_json(content)


@pytest.mark.parametrize("before", [None, _text("old")])
def test_it_finds_its_own_row_and_keeps_usage_once(place: CachePlace, before: str | None) -> None:
    rows = open_rows(place)
    if before is not None:
        rows.set(f"call/{KEY}", before)
    ledger = Ledger(rows)
    ledger.news()
    mine = Unsaved(KEY, _text("mine"), before, "owner")
    for _ in range(2):
        assert rows.transact(lambda: commit(rows, mine)).response == "mine"
        ledger.news()
    assert sum(item.usage.calls for item in Ledger(rows).news()) == (1 if before is None else 2)


def test_what_came_too_late_counts_once_for_whoever_looks_in_between(place: CachePlace) -> None:
    rows = open_rows(place)
    rows.set(f"call/{KEY}", _text("theirs"))
    late = Unsaved(KEY, _text("mine"), None, "owner")
    ledger, counted = Ledger(rows), 0
    for _ in range(3):
        assert rows.transact(lambda: commit(rows, late)).response == "theirs"
        counted += sum(item.usage.calls for item in ledger.news())
    assert counted == 2
    assert rows.get(f"call/{KEY}") == _text("theirs")


def test_an_overwritten_batch_call_keeps_how_it_was_bought(place: CachePlace) -> None:
    """Else its usage would count at the full price from then on."""
    rows = open_rows(place)
    old = canonical_json({**json.loads(_text("old")), "service": "batch"})
    rows.set(f"call/{KEY}", old)
    rows.transact(lambda: commit(rows, Unsaved(KEY, _text("mine"), old, "owner")))
    assert sorted((item.key or "", item.service) for item in Ledger(rows).news()) == [
        ("", "batch"),
        (KEY, ""),
    ]
