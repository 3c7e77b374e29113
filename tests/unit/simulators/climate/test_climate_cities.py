"""Cities by name."""

from __future__ import annotations

import pytest

from simulators.base import ArgumentError
from simulators.climate.cities import find_city, fold


@pytest.mark.parametrize(
    ("spelling", "latitude", "longitude"),
    [
        ("Berlin", 52.52, 13.41),
        ("berlin", 52.52, 13.41),
        ("São Paulo", -23.55, -46.64),
        ("Sao Paulo", -23.55, -46.64),
        ("SAO PAULO", -23.55, -46.64),
        ("München", 48.14, 11.58),
        ("Munich", 48.14, 11.58),
        ("Néa Filadélfeia", 38.04, 23.74),
        ("New York", 40.71, -74.01),
        ("Łódź", 51.77, 19.47),
        ("Lodz", 51.77, 19.47),
        ("Saint-Denis, RE", -20.88, 55.45),
        ("Berlin, Germany", 52.52, 13.41),
        ("Birmingham (United States)", 33.52, -86.80),
        ("Cambridge, UK", 52.20, 0.12),
        ("Koro", 14.07, -3.08),
        ("Viborg", 56.45, 9.40),
        ("Aš", 50.22, 12.19),
        ("Alamo (MX)", 20.91, -97.68),
        ("Paris, Texas", 33.66, -95.56),
        ("Paris, TX, USA", 33.66, -95.56),
        ("Springfield, Illinois", 39.80, -89.64),
        ("Athens, Georgia", 33.96, -83.38),
        ("Tbilisi, Georgia", 41.69, 44.83),
        ("Berlin, DE", 52.52, 13.41),
        ("Москва", 55.75, 37.62),
        ("北京", 39.91, 116.40),
        ("القاهرة", 30.06, 31.25),
        ("서울", 37.57, 126.98),
    ],
)
def test_found(spelling: str, latitude: float, longitude: float) -> None:
    city = find_city(spelling)
    assert (city.latitude, city.longitude) == pytest.approx((latitude, longitude), abs=0.15)


def test_fold() -> None:
    assert fold("  São-José   d'Água ") == "sao jose dagua"
    assert fold("Łódź") == "lodz"
    assert fold("Straßfurt") == "strassfurt"


def test_namesakes_of_similar_size_are_listed() -> None:
    with pytest.raises(ArgumentError, match="ambiguous") as refusal:
        find_city("Springfield")
    said = str(refusal.value)
    assert said.count("Springfield, ") >= 3
    assert "Springfield, MO, US" in said
    assert "37.2" in said
    assert "country" in said


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Paris", "Paris, FR"),
        ("London", "London, GB"),
        ("Bratislva", "Bratislava, SK"),
        ("Amsterdaam", "Amsterdam, NL"),
        ("Paris, Texas", "Paris, TX, US"),
    ],
)
def test_people_break_a_clear_tie_and_a_misspelling_is_corrected(name: str, label: str) -> None:
    assert find_city(name).label == label


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Atlantis Prime City", "no city"),
        ("Qwertzuiopville", "no city"),
        ("Xx", "no city"),
        ("North Amsterdam", "no city"),
        ("Port Amsterdam", "no city"),
        ("Bamsterdam", "no city .*similar names: .*Amsterdam, NL"),
        ("Koheda", "no city"),
        ("Hamburg, JP", "Hamburg, DE"),
        ("Hamburg, Texas", "no city 'Hamburg' in 'Texas'.*Hamburg, DE"),
        ("Paris, Narnia", "'Narnia' .* is neither a country.*Paris, FR"),
        (" ' ", "empty"),
    ],
)
def test_what_is_no_city_is_refused_with_what_there_is(name: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        find_city(name)
