"""The facts on the 51 places and how they are named."""

from __future__ import annotations

import pytest

from simulators.base import ArgumentError
from simulators.epidemiology.places import find_states, load_places


def test_the_census_is_kept_to_the_person() -> None:
    places = load_places()
    assert len(places.names) == len(set(places.codes)) == 51
    assert list(places.names) == sorted(places.names)
    assert int(places.people.sum()) == 331_449_281
    assert (places.people > 0).all()


def test_florida_is_old_and_utah_is_young() -> None:
    places = load_places()
    share = places.people / places.populations
    assert places.names[int(share[4].argmin())] == "Utah"
    assert places.names[int(share[1].argmax())] == "Utah"
    assert share[4, places.names.index("Florida")] > 0.2


def test_names_abbreviations_case_and_spaces() -> None:
    named = ["new  york", "TX", " ca ", "Washington DC", "WY"]
    assert find_states(named) == (
        "New York",
        "Texas",
        "California",
        "District of Columbia",
        "Wyoming",
    )


def test_an_unknown_state_gets_the_nearest_names() -> None:
    with pytest.raises(ArgumentError, match=r"'Virgina'.*Virginia"):
        find_states(["Ohio", "Virgina"])
    with pytest.raises(ArgumentError, match="nearest names"):
        find_states(["Bavaria"])


def test_an_empty_list_and_a_repeat_are_refused() -> None:
    with pytest.raises(ArgumentError, match="states is empty"):
        find_states([])
    with pytest.raises(ArgumentError, match="Texas twice"):
        find_states(["TX", "Texas"])
