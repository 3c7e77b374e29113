"""Contradictions inside an answer, worked by hand."""

from __future__ import annotations

import pytest

from simulrag.metrics.stated import contradictions, misfit, same_alternative
from simulrag.questions.open.records import MagnitudeClass
from simulrag.records import Facet, FacetKind, Subject


def scale(**classes: float) -> list[MagnitudeClass]:
    return [
        MagnitudeClass(name=name.replace("_", " "), from_magnitude=least)
        for name, least in classes.items()
    ]


TRAVEL = scale(small=0, moderate=2, large=10, very_large=30)
EMISSIONS = scale(small=0, moderate=5, large=20)
BEDS = [
    "Admissions peak at about 392.",
    "The peak is about 390 admissions.",
    "Admissions peak at 500.",
    "The peak is severe.",
]


def subject(about: str = "x", exclusive: bool = True, **facets: tuple[int, ...]) -> Subject:
    kinds: dict[str, FacetKind] = {"number": "number", "klass": "class", "reason": "reason"}
    return Subject(
        about=about,
        facets=tuple(
            Facet(kind=kinds[kind], exclusive=exclusive, claims=claims)
            for kind, claims in facets.items()
        ),
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It rises by 86 %.", "It rises by 86.26 %.", True),
        ("It rises by 86.26 %.", "A rise of 86.26 percent.", True),
        ("It rises by 86 %.", "It rises by 90 %.", False),
        ("It rises by 86.2 %.", "It rises by 86.3 %.", False),
        ("About 2,600,000 people.", "2.6 million people fall ill.", True),
        ("The change is large.", "It is a large change.", True),
        ("The change is large.", "The change is very large.", False),
        ("It improves.", "it  IMPROVES.", True),
        ("It improves.", "It is no improvement.", False),
    ],
)
def test_two_claims_of_a_facet(one: str, other: str, same: bool) -> None:
    names = {item.name for item in TRAVEL}
    assert same_alternative(one, other, names) is same
    assert same_alternative(other, one, names) is same


def test_a_facet_that_holds_two_alternatives_is_one_contradiction() -> None:
    # 392 and 500 exclude each other; that three claims are there counts once.
    assert contradictions(BEDS, [subject(number=(0, 2)), subject(klass=(3,))]) == 1
    assert contradictions(BEDS, [subject(number=(0, 1, 2))]) == 1
    assert contradictions(BEDS, [subject(number=(0, 2)), subject(number=(1, 2))]) == 2


def test_rewordings_and_what_stands_side_by_side_are_none() -> None:
    assert contradictions(BEDS, [subject(number=(0,)), subject(klass=(3,))]) == 0
    twice = ["It is 21 %.", "It is 21.4 %."]
    assert contradictions(twice, [subject(number=(0, 1))]) == 0
    reasons = ["Because of the signal.", "Because of 12 lorries.", "Because of 3 lanes."]
    assert contradictions(reasons, [subject(exclusive=False, reason=(0, 1, 2))]) == 0
    assert contradictions((), ()) == 0


@pytest.mark.parametrize(
    ("number", "word", "wrong"),
    [
        ("It falls by 0.3 %.", "The change is moderate.", True),
        ("It falls by 0.3 %.", "The change is small.", False),
        ("It falls by 31 %.", "The change is large.", True),
        ("It falls by 31 %.", "The change is very large.", False),
        # At its own rounding 10 % may be 9.6 %: both classes fit.
        ("It falls by 10 %.", "The change is moderate.", False),
        ("It falls by 10 %.", "The change is large.", False),
        ("It falls by 10.0 %.", "The change is small.", True),
        # What names no class of the question, or two, has nothing to fit.
        ("It falls by 0.3 %.", "The change is considerable.", False),
        ("It falls by 0.3 %.", "The change is moderate to large.", False),
        ("It falls.", "The change is moderate.", False),
    ],
)
def test_a_class_fits_its_number(number: str, word: str, wrong: bool) -> None:
    claims = [number, word]
    about = subject(number=(0,), klass=(1,))
    assert misfit(claims, about, [TRAVEL]) is wrong
    assert contradictions(claims, [about], [TRAVEL]) == int(wrong)


def test_a_class_of_several_scales_fits_where_one_of_them_allows_it() -> None:
    # 4 % is moderate for travel time and small for emissions; nothing says which this is.
    about = subject(number=(0,), klass=(1,))
    scales = [TRAVEL, EMISSIONS]
    assert not misfit(["By 4 %.", "It is moderate."], about, scales)
    assert not misfit(["By 4 %.", "It is small."], about, scales)
    assert misfit(["By 4 %.", "It is large."], about, scales)
