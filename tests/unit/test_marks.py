"""Where quotes stand in a text, how often, and the text with its statements marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.marks import WEAKEST_FIRST, Place, Stretch, place_of, places_of, stretches, times_in
from simulrag.records import STANDINGS, Standing, Statement

TEXT = "It rises from 15 % to 5 %.\nThe peak (day 30) is 5 % lower."


def words(quote: str, text: str = TEXT, after: int = 0) -> str | None:
    """The text's own words at the place of a quote."""
    place = place_of(quote, text, after)
    return None if place is None else text[slice(*place)]


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("rises from", "rises from"),
        (" 5  %.\tThe peak ", "5 %.\nThe peak"),
        ("peak (day 30)", "peak (day 30)"),
        ("(day .*)", None),
        ("15 % to 5 %", "15 % to 5 %"),
        ("it rises", None),  # case is no white space
        ("rises  slowly", None),
        (TEXT + " And more.", None),
        (" \n", None),
        ("", None),
    ],
)
def test_a_quote_is_found_to_the_letter_with_white_space_folded(
    quote: str, found: str | None
) -> None:
    assert words(quote) == found


def test_nothing_stands_in_an_empty_text() -> None:
    assert place_of("5 %", "") is None
    assert times_in("5 %", "") == 0


def test_of_several_places_the_first_behind_a_point_counts_and_else_the_first() -> None:
    first, second = TEXT.index(" 5 %") + 1, TEXT.rindex("5 %")
    assert [place_of("5 %", TEXT, after) for after in (0, first, first + 1, second + 1)] == [
        (first, first + 3),
        (first, first + 3),
        (second, second + 3),
        (first, first + 3),
    ]


def test_a_place_inside_a_longer_number_is_taken_only_where_there_is_no_other() -> None:
    assert place_of("5 %", "From 15 % to 5 %.") == (13, 16)
    assert place_of("5 %", "From 15 %.") == (6, 9)


@pytest.mark.parametrize(
    ("quotes", "text", "places"),
    [
        (["5 m", "5  m"], "5 m, 5 m", [(0, 3), (5, 8)]),
        (["5 m", "5 m", "5 m"], "5 m, 5 m", [(0, 3), (5, 8), (0, 3)]),
        (["5 m", "5 m"], "5 m", [(0, 3), (0, 3)]),
        (["is 5 m", "5 m"], "is 5 m, 5 m", [(0, 6), (3, 6)]),
        (["b", "a"], "a b a", [(2, 3), (4, 5)]),
        (["b", "a"], "a b", [(2, 3), (0, 1)]),
        (["a", "gone", "a"], "a a", [(0, 1), None, (2, 3)]),
        ([(0, 1), "a", "b"], "a a b", [(0, 1), (2, 3), (4, 5)]),
        ([], "a", []),
    ],
)
def test_quotes_are_looked_for_in_their_order_and_the_same_words_further_on(
    quotes: list[str | Place], text: str, places: list[Place | None]
) -> None:
    assert places_of(quotes, text) == places


@pytest.mark.parametrize(
    ("quote", "text", "times"),
    [
        ("5 %", "15 %, 5 % and 2.5 %", 1),
        ("5", "5.4, 4.5, 5,400 and 0,5", 0),
        ("5", "It is 5. And 5, too.", 2),
        ("4", "5.4", 0),
        ("5 %", "a change of -5 % or \N{MINUS SIGN}5 %", 0),
        ("5 %", "a change of +5 %", 0),
        ("5 %", "3-5 % and 3\N{EN DASH}5 %", 2),
        ("-5 %", "a change of -5 % or -15 %", 1),
        ("minor", "minority, minor, a minor one", 2),
        ("linear", "a non-linear law", 0),
        ("(minor)", "It is (minor), really (minor)", 2),
        ("a  b", "a b a\nb", 2),
        ("rises", "Rises", 0),
        (".*", "anything", 0),
    ],
)
def test_a_quote_counts_where_it_is_no_part_of_longer_words_or_numbers(
    quote: str, text: str, times: int
) -> None:
    assert times_in(quote, text) == times


def statement(standing: Standing, start: int | None, end: int | None) -> Statement:
    return Statement(text="It is so.", standing=standing, start=start, end=end)


def test_overlapping_statements_cut_the_text_and_the_weakest_shows() -> None:
    found = stretches(
        "0123456789",
        [statement("checked", 0, 6), statement("wrong", 4, 8), statement("added", 4, 6)],
    )
    assert found == [
        Stretch("0123", "checked", (0,)),
        Stretch("45", "wrong", (1, 2, 0)),
        Stretch("67", "wrong", (1,)),
        Stretch("89"),
    ]


def test_a_text_without_statements_is_one_stretch_and_an_empty_one_none() -> None:
    assert stretches("Say.", []) == [Stretch("Say.")]
    assert stretches("", [statement("checked", 0, 1)]) == []


@pytest.mark.parametrize(("start", "end"), [(None, None), (2, 2), (3, 1), (-1, 2), (0, 99)])
def test_a_statement_without_a_place_in_the_text_marks_nothing(
    start: int | None, end: int | None
) -> None:
    assert stretches("Say.", [statement("wrong", start, end)]) == [Stretch("Say.")]


PLACES = st.none() | st.integers(-2, 14)


@given(
    st.text(max_size=12),
    st.lists(st.tuples(st.sampled_from(STANDINGS), PLACES, PLACES), max_size=6),
)
def test_every_character_stands_once_and_shows_the_weakest_of_what_speaks_of_it(
    text: str, placed: list[tuple[Standing, int | None, int | None]]
) -> None:
    said = [statement(*one) for one in placed]
    found = stretches(text, said)
    assert "".join(one.text for one in found) == text
    assert all(one.text for one in found)
    begin = 0
    for one in found:
        for at in range(begin, begin := begin + len(one.text)):
            over = {
                number
                for number, (_, start, end) in enumerate(placed)
                if start is not None and end is not None and 0 <= start <= at < end <= len(text)
            }
            assert set(one.statements) == over
        standings = [said[number].standing for number in one.statements]
        weakest = (name for name in WEAKEST_FIRST if name in standings)
        assert one.standing == next(weakest, next(iter(standings), None))


@given(st.lists(st.sampled_from("ab5.,%( -"), max_size=12), st.integers(0, 11), st.integers(1, 6))
def test_every_part_of_a_text_is_found_in_it(letters: list[str], start: int, length: int) -> None:
    text = "".join(letters)
    quote = text[start : start + length]
    place = place_of(quote, text)
    assert (place is None) == (not quote.strip())
    if place is not None:
        assert text[slice(*place)].split() == quote.split()
