"""The file of labels: on disk at once, nobody overwrites another, no other file is taken for it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulrag.errors import EnvironmentFault, InputError
from simulrag.evaluation.human.store import Conflict, LabelStore, is_store
from tests.unit.evaluation.people import given


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path / "human.sqlite")


def test_a_label_is_there_for_the_next_who_opens(store: LabelStore) -> None:
    store.save(given("ann", "true", note="plainly"), None)
    assert LabelStore(store.path).labels() == [given("ann", "true", note="plainly")]
    assert is_store(store.path.read_bytes())


def test_two_annotators_keep_their_own(store: LabelStore) -> None:
    store.save(given("ann", "true"), None)
    store.save(given("bob", "false"), None)
    store.save(given("ann", "undecided"), "true")
    assert store.labels() == [given("ann", "undecided"), given("bob", "false")]
    store.remove(given("ann", "true"), "undecided")
    assert store.labels() == [given("bob", "false")]


def test_a_stale_window_overwrites_nothing(store: LabelStore) -> None:
    store.save(given("ann", "true"), None)
    for stale in (None, "false"):
        with pytest.raises(Conflict, match="changed in another window"):
            store.save(given("ann", "false"), stale)
        with pytest.raises(Conflict):
            store.remove(given("ann", "false"), stale)
    assert store.labels() == [given("ann", "true")]


def test_one_adjudication_which_goes_with_its_dispute(store: LabelStore) -> None:
    store.save(given("ann", "true"), None)
    store.save(given("bob", "false"), None)
    store.save(given("cy", "true", adjudication=True), None)
    with pytest.raises(Conflict, match="'cy' has already settled"):
        store.save(given("di", "false", adjudication=True), None)
    store.save(given("cy", "false", adjudication=True), "true")
    assert len(store.labels()) == 3
    store.save(given("bob", "true"), "false")
    assert store.labels() == [given("ann", "true"), given("bob", "true")]


def test_many_at_once_lose_nothing(store: LabelStore) -> None:
    rows = [given(f"a{n}", "true", f"Claim {m}.") for n in range(6) for m in range(8)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda row: store.save(row, None), rows))
    assert len(store.labels()) == 48


def test_of_two_equal_clicks_one_wins(store: LabelStore) -> None:
    def click(label: str) -> bool:
        try:
            store.save(given("ann", label), None)  # type: ignore[arg-type]
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(click, ["true", "false"] * 8))
    assert sum(won) == 1
    assert len(store.labels()) == 1


def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.sqlite"
    text.write_text("no database at all, and longer than a hundred bytes " * 4)
    with pytest.raises(InputError, match="no file of labels"):
        LabelStore(text)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE money (amount)")
    with pytest.raises(InputError, match="something else"):
        LabelStore(other)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 9")
    with pytest.raises(InputError, match="another version"):
        LabelStore(newer)
    with pytest.raises(EnvironmentFault, match="cannot be used"):
        LabelStore(tmp_path / "nowhere" / "human.sqlite")


def test_a_row_that_was_tampered_with(store: LabelStore) -> None:
    store.save(given("ann", "true"), None)
    with sqlite3.connect(store.path) as database:
        database.execute("UPDATE labels SET claim_hash = 'x'")
    with pytest.raises(InputError, match="claim_hash"):
        store.labels()
