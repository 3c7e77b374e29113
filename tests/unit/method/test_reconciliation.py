"""Votes, settlement and one voice, on cases worked by hand and on drawn ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.errors import InputError
from simulrag.method.reconciliation import (
    one_voice,
    settle,
    uncertainty,
    unsupported_judgements,
    vote_confidence,
    vote_entropy,
)
from simulrag.records import DECIDED, Subject, Verdict
from tests.making import ALIGNED, SILENT, corrected, facet, subject

PEAK = subject(facet(0, 1, 2), facet(3, 4, kind="class"), about="the peak of admissions")
TWO_NUMBERS = subject(facet(0, 1))


def test_agreeing_answers_are_certain_and_differing_ones_are_not() -> None:
    assert vote_entropy([[1, 0]] * 5, [0, 1]) == 0
    five = [[int(i == j) for j in range(5)] for i in range(5)]
    assert vote_entropy(five, range(5)) == pytest.approx(math.log(5))


def test_silence_is_one_of_the_alternatives() -> None:
    # Two say the first, one the second, one nothing: 1/2, 1/4, 1/4.
    support = [[1, 0], [1, 0], [0, 1], [0, 0]]
    assert vote_entropy(support, [0, 1]) == pytest.approx(1.5 * math.log(2))


def test_a_vote_is_split_over_what_an_answer_supports() -> None:
    # One answer holds both, the other the first: 3/4 and 1/4.
    assert vote_entropy([[1, 1], [1, 0]], [0, 1]) == pytest.approx(
        -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    )


def test_nobody_and_nothing_is_certain() -> None:
    assert vote_entropy([], [0]) == 0
    assert vote_entropy([[1]], []) == 0  # all votes are silence


def test_an_alternative_that_is_not_a_claim_is_refused() -> None:
    with pytest.raises(InputError, match="claims 0 to 1"):
        vote_entropy([[1, 0]], [2])


def test_confidence_is_the_share_of_votes() -> None:
    support = [[1, 0, 0, 1, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 0, 0, 0]]
    assert vote_confidence([PEAK], support, 5) == pytest.approx([0.5, 0.25, 0, 0.25, 0.5])


def test_a_subject_is_as_uncertain_as_its_most_uncertain_facet() -> None:
    # The number: 1/2, 1/4, 0 and 1/4 silent; all agree on the class.
    support = [[1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 0]]
    assert uncertainty(PEAK, support) == pytest.approx(1.5 * math.log(2))


def test_the_true_alternative_drops_the_others() -> None:
    verdicts = {
        0: corrected("The peak is 392."),
        1: ALIGNED,
        2: SILENT,
        3: ALIGNED,
        4: corrected("Mild."),
    }
    settled = settle(PEAK, verdicts)
    assert (settled.kept, settled.dropped, settled.status) == ((1, 3), (0, 2, 4), "aligned")


def test_one_corrected_claim_stays_of_five_wrong_ones() -> None:
    said = corrected("The peak is 392.")
    settled = settle(PEAK, {0: said, 1: said, 2: said, 3: corrected("It is mild."), 4: SILENT})
    assert settled.kept == (0, 3)
    assert settled.dropped == (1, 2, 4)
    assert settled.status == "contradicted"


def test_no_unchecked_class_stands_beside_a_checked_number() -> None:
    settled = settle(PEAK, {0: ALIGNED, 1: SILENT, 2: SILENT, 3: SILENT, 4: SILENT})
    assert settled.kept == (0,)


def test_what_the_evidence_does_not_decide_stays() -> None:
    settled = settle(PEAK, dict.fromkeys(range(5), SILENT))
    assert (settled.kept, settled.dropped, settled.status) == (
        (0, 1, 2, 3, 4),
        (),
        "indeterminate",
    )


@pytest.mark.parametrize(
    ("texts", "kept", "status"),
    [
        (["It falls by 21 %.", "It falls by 21.4 %."], (1,), "aligned"),
        (["It is small.", "It is moderate."], (0,), "ambiguous"),
        (["It is about 90 cm.", "It is 86.3 cm."], (1,), "aligned"),
        (["It is about 90 cm.", "It is 84 cm."], (1,), "ambiguous"),
    ],
)
def test_of_two_true_numbers_that_agree_the_finer_one_stays(
    texts: list[str], kept: tuple[int, ...], status: str
) -> None:
    settled = settle(TWO_NUMBERS, {0: ALIGNED, 1: ALIGNED}, texts)
    assert (settled.kept, settled.status) == (kept, status)


def test_reasons_stand_each_by_itself() -> None:
    why = subject(facet(0, 1, kind="reason", exclusive=False))
    settled = settle(why, {0: ALIGNED, 1: corrected("Because of the signal.")})
    assert settled.kept == (0, 1)
    assert settled.corrected == {1: "Because of the signal."}


def test_all_facets_are_taken_from_the_best_supported_answer() -> None:
    # The first number and the second class lead, but no answer says both.
    support = [[1, 0, 0, 0, 0], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert one_voice(PEAK, support, range(5)) == (0, 3)
    assert one_voice(PEAK, [[0] * 5], range(5)) == ()
    assert one_voice(PEAK, support, [1, 4]) == (1, 4)


FALLS = facet(5, 6, kind="direction")
BETTER, WORSE = 7, 8


@pytest.mark.parametrize(
    ("support", "verdicts", "fallen"),
    [
        # The number of both was wrong, and nothing says that its direction was not.
        ({0: (0, BETTER), 1: (1, WORSE)}, {0: "wrong", 1: "wrong"}, {BETTER, WORSE}),
        # A true class is of the size alone.
        ({0: (0, 3, BETTER)}, {0: "wrong", 3: "aligned"}, {BETTER}),
        # The direction held, whatever the number.
        ({0: (0, 5, BETTER), 1: (1, 6, WORSE)}, {0: "wrong", 1: "wrong", 5: "aligned"}, {WORSE}),
        ({0: (0, BETTER), 1: (1, WORSE)}, {0: "aligned"}, {WORSE}),
        ({0: (0, BETTER), 1: (1, BETTER)}, {0: "aligned", 1: "wrong"}, set()),
        # Decided by itself, or made by answers that say nothing of what it rests on.
        ({0: (0, BETTER)}, {0: "wrong", BETTER: "aligned"}, set()),
        ({0: (0,), 1: (BETTER,)}, {0: "wrong"}, set()),
        ({0: (0, BETTER)}, {0: "silent"}, set()),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_a_judgement_falls_where_its_grounds_were_corrected_away_from_it(
    support: dict[int, tuple[int, ...]], verdicts: dict[int, str], fallen: set[int], own: bool
) -> None:
    """As a side of the subject, and as a subject that rests on it."""
    side = facet(BETTER, WORSE, kind="judgement")
    peak = PEAK.model_copy(update={"facets": (*PEAK.facets, FALLS, *([side] if own else []))})
    rests = subject(side, about="overall", rests_on=(0,))
    rows = [[claim in said for claim in range(9)] for said in support.values()]
    by = {"wrong": corrected("It is 392."), "aligned": ALIGNED, "silent": SILENT}
    found = {claim: by[name] for claim, name in verdicts.items()}
    subjects = [peak] if own else [peak, rests]
    settled = {0: settle(peak, found)}
    assert unsupported_judgements(subjects, settled, found, rows) == fallen


@st.composite
def cases(draw: st.DrawFn) -> tuple[Subject, list[list[bool]], dict[int, Verdict]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    facets, start = [], 0
    for size in sizes:
        kind = draw(st.sampled_from(["number", "direction", "class", "judgement", "reason"]))
        claims = tuple(range(start, start + size))
        facets.append(facet(*claims, kind=kind, exclusive=kind != "reason"))
        start += size
    row = st.lists(st.booleans(), min_size=start, max_size=start)
    verdict = st.sampled_from([ALIGNED, SILENT, corrected("x 1"), corrected("x 2")])
    support = draw(st.lists(row, min_size=0, max_size=5))
    verdicts = draw(st.dictionaries(st.integers(0, start - 1), verdict))
    return subject(*facets), support, verdicts


@given(cases())
def test_settling_keeps_or_drops_every_claim_and_leaves_one_voice(
    case: tuple[Subject, list[list[bool]], dict[int, Verdict]],
) -> None:
    drawn, support, verdicts = case
    settled = settle(drawn, verdicts)
    assert sorted((*settled.kept, *settled.dropped)) == list(drawn.claims)
    voice = one_voice(drawn, support, settled.kept)
    assert set(voice) <= set(settled.kept)
    for side in drawn.facets:
        if side.exclusive:
            assert len(set(side.claims) & set(voice)) <= 1
            if any(v in verdicts and verdicts[v].status in DECIDED for v in side.claims):
                assert len(set(side.claims) & set(settled.kept)) <= 1


@given(cases())
def test_the_order_of_the_answers_does_not_matter(
    case: tuple[Subject, list[list[bool]], dict[int, Verdict]],
) -> None:
    drawn, support, _ = case

    def found(rows: Sequence[Sequence[bool]]) -> tuple[tuple[int, ...], float]:
        return one_voice(drawn, rows, drawn.claims), round(uncertainty(drawn, rows), 9)

    assert {found(order) for order in list(permutations(support))[:12]} == {found(support)}
