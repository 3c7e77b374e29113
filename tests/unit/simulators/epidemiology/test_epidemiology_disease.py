"""The disease, its season and its places: next generations, immunity, courses, travel, names."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from simulators.base import ArgumentError
from simulators.epidemiology.disease import (
    DISEASE,
    Measures,
    community,
    contact_matrices,
    immune_share,
    matrix_of_day,
    next_generation,
    seasonal,
    spectral_radius,
    usual_uptake,
)
from simulators.epidemiology.ensemble import unit_chance
from simulators.epidemiology.places import distances_km, find_states, load_places, time_shares

PLACES = load_places()
NATION = PLACES.people.sum(axis=1).astype(float)


def test_the_radius_of_a_known_matrix() -> None:
    assert spectral_radius(np.array([[2.0, 1.0], [1.0, 2.0]])) == pytest.approx(3)


def test_in_proportionate_mixing_r0_is_contacts_times_days() -> None:
    people = np.array([10.0, 30.0, 60.0])
    contacts = np.tile(8 * people / people.sum(), (3, 1))
    assert spectral_radius(next_generation(contacts, people, 2.5)) == pytest.approx(20)


@pytest.mark.parametrize("r0", [1.2, 2.0, 4.0])
def test_r0_is_the_radius_of_the_next_generation_matrix(r0: float) -> None:
    chance = r0 * unit_chance(DISEASE, PLACES)
    matrix = chance * next_generation(PLACES.contacts, NATION, DISEASE.infectious_days)
    assert spectral_radius(matrix) == pytest.approx(r0)


def test_the_coupled_country_is_close_to_the_national_mean() -> None:
    """The next-generation matrix over all places and ages: local age shares differ a little."""
    shares = time_shares(PLACES, DISEASE.commuting_share, DISEASE.air_share)
    people = PLACES.people.astype(float)
    present = people @ shares
    unit = DISEASE.infectious_days * 2.0 * unit_chance(DISEASE, PLACES)
    mixing = np.einsum("pq,bq,rq->pbr", shares, 1 / present, shares)
    whole = unit * np.einsum("ap,ab,pbr->apbr", people, PLACES.contacts, mixing)
    assert spectral_radius(whole.reshape(255, 255)) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("percent", [0, 10, 60, 80])
@pytest.mark.parametrize("tilt", [0.0, 0.5, 1.0])
def test_immunity_has_the_asked_mean(percent: float, tilt: float) -> None:
    disease = replace(DISEASE, immunity_tilt=tilt, immunity_overlap=0.0)
    share = immune_share(disease, percent, NATION)
    assert np.average(share, weights=NATION) == pytest.approx(percent / 100, abs=1e-9)
    assert (share >= 0).all()
    assert (share <= 0.98).all()


def test_immunity_beyond_the_threshold_overlaps_in_part() -> None:
    disease = replace(DISEASE, immunity_overlap=0.2)
    for percent, left in ((20, 0.2), (40, 0.4), (60, 0.56)):
        share = immune_share(disease, percent, NATION)
        assert np.average(share, weights=NATION) == pytest.approx(left, abs=1e-9)


def test_the_season_is_deepest_half_a_year_from_its_peak() -> None:
    course = seasonal(date(2022, 1, 15), 366, 0.4, 15)
    assert course[0] == pytest.approx(1)
    assert course.argmin() in (182, 183)
    assert course.min() == pytest.approx(0.6, abs=1e-3)
    assert (seasonal(date(2022, 7, 1), 30, 0.0, 15) == 1).all()


def test_the_usual_campaign_begins_each_august_and_never_falls_within_a_season() -> None:
    uptake = usual_uptake(date(2022, 8, 1), 365, 0.4)
    assert uptake[0] == 0
    assert uptake[66] == pytest.approx(0.4)
    assert (np.diff(uptake) >= 0).all()
    assert uptake[-1] == 1
    assert usual_uptake(date(2023, 3, 1), 5, 0.4).tolist() == [1] * 5
    assert usual_uptake(date(2024, 7, 31), 2, 0.4).tolist() == [1, 0]


def test_measures_act_in_their_weeks_alone() -> None:
    measures = Measures(
        school_closure_weeks=2,
        school_closure_start_week=1,
        community_reduction_percent=25,
        community_reduction_weeks=3,
        community_reduction_start_week=2,
    )
    assert matrix_of_day(measures, 35).tolist() == [0] * 7 + [1] * 14 + [0] * 14
    assert community(measures, 42).tolist() == [1] * 14 + [0.75] * 21 + [1] * 7


def test_an_additional_campaign_takes_ten_weeks() -> None:
    factor = community(Measures(vaccination_coverage_percent=50, vaccination_start_week=2), 120)
    assert (factor[:15] == 1).all()
    assert factor[14 + 35] == pytest.approx(1 - 0.4 * 0.25)
    assert factor[-1] == pytest.approx(1 - 0.4 * 0.5)


def test_school_closure_lowers_transmission_by_about_a_seventh() -> None:
    opened, closed = (
        spectral_radius(next_generation(matrix, NATION, 1.0))
        for matrix in contact_matrices(PLACES.contacts)
    )
    assert 0.12 <= 1 - closed / opened <= 0.18


def test_contacts_are_reciprocal() -> None:
    """Contacts of one age with another are as many as the other way round."""
    national = np.array([0.06694, 0.17692, 0.43249, 0.19436, 0.12928])
    total = national[:, None] * PLACES.contacts
    assert total == pytest.approx(total.T, rel=2e-3)


def test_time_shares_sum_to_one_and_near_neighbours_meet_most() -> None:
    shares = time_shares(PLACES, 0.0044, 0.014)
    assert shares.sum(axis=1) == pytest.approx(np.ones(51))
    assert (shares >= 0).all()
    capital, maryland, hawaii = (PLACES.codes.index(code) for code in ("DC", "MD", "HI"))
    assert shares[capital, maryland] > shares[capital, hawaii] > 0
    population = PLACES.populations
    away = ((1 - np.diag(shares)) * population).sum() / population.sum()
    assert away == pytest.approx(0.0184, rel=0.05)


def test_a_known_distance() -> None:
    """New York and Los Angeles are 3,936 km apart."""
    km = distances_km(np.array([40.7128, 34.0522]), np.array([-74.0060, -118.2437]))
    assert km[0, 1] == pytest.approx(3936, abs=5)
    assert km[0, 0] == 0


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
