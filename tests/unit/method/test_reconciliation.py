"""Votes, settlement and one voice, on cases worked by hand and on drawn ones."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulrag.errors import InputError
from simulrag.method.reconciliation import (
    check_partition,
    one_voice,
    settle,
    uncertainty,
    unsupported_judgements,
    vote_confidence,
    vote_entropy,
)
from simulrag.records import Facet, Subject, Verdict

ALIGNED = Verdict(status="aligned")
SILENT = Verdict(status="indeterminate")
PEAK = Subject(
    about="the peak of admissions",
    facets=(
        Facet(kind="number", exclusive=True, claims=(0, 1, 2)),
        Facet(kind="class", exclusive=True, claims=(3, 4)),
    ),
)


def wrong(text: str) -> Verdict:
    return Verdict(status="contradicted", updated_claim=text)


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
    verdicts = {0: wrong("The peak is 392."), 1: ALIGNED, 2: SILENT, 3: ALIGNED, 4: wrong("Mild.")}
    settled = settle(PEAK, verdicts)
    assert (settled.kept, settled.dropped, settled.status) == ((1, 3), (0, 2, 4), "aligned")


def test_one_corrected_claim_stays_of_five_wrong_ones() -> None:
    said = wrong("The peak is 392.")
    settled = settle(PEAK, {0: said, 1: said, 2: said, 3: wrong("It is mild."), 4: SILENT})
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


def test_of_two_true_numbers_the_finer_one_stays() -> None:
    subject = Subject(about="x", facets=(Facet(kind="number", exclusive=True, claims=(0, 1)),))
    verdicts = {0: ALIGNED, 1: ALIGNED}
    fine = settle(subject, verdicts, ["It falls by 21 %.", "It falls by 21.4 %."])
    assert (fine.kept, fine.status) == ((1,), "aligned")
    other = settle(subject, verdicts, ["It is small.", "It is moderate."])
    assert other.status == "ambiguous"


def test_reasons_stand_each_by_itself() -> None:
    subject = Subject(about="why", facets=(Facet(kind="reason", exclusive=False, claims=(0, 1)),))
    settled = settle(subject, {0: ALIGNED, 1: wrong("Because of the signal.")})
    assert settled.kept == (0, 1)
    assert settled.corrected == {1: "Because of the signal."}


def test_all_facets_are_taken_from_the_best_supported_answer() -> None:
    # The first number and the second class lead, but no answer says both.
    support = [[1, 0, 0, 0, 0], [1, 0, 0, 1, 0], [0, 1, 0, 0, 1], [0, 0, 0, 0, 1]]
    assert one_voice(PEAK, support, range(5)) == (0, 3)
    assert one_voice(PEAK, [[0] * 5], range(5)) == ()
    assert one_voice(PEAK, support, [1, 4]) == (1, 4)


FALLS = Facet(kind="direction", exclusive=True, claims=(5, 6))
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
    side = Facet(kind="judgement", exclusive=True, claims=(BETTER, WORSE))
    peak = PEAK.model_copy(update={"facets": (*PEAK.facets, FALLS, *([side] if own else []))})
    rests = Subject(about="overall", facets=(side,), rests_on=(0,))
    rows = [[claim in said for claim in range(9)] for said in support.values()]
    by = {"wrong": wrong("It is 392."), "aligned": ALIGNED, "silent": SILENT}
    found = {claim: by[name] for claim, name in verdicts.items()}
    subjects = [peak] if own else [peak, rests]
    settled = {0: settle(peak, found)}
    assert unsupported_judgements(subjects, settled, found, rows) == fallen


def test_a_rounded_number_gives_way_to_the_finer_one_that_it_holds_for() -> None:
    subject = Subject(about="x", facets=(Facet(kind="number", exclusive=True, claims=(0, 1)),))
    verdicts = {0: ALIGNED, 1: ALIGNED}
    said = settle(subject, verdicts, ["It is about 90 cm.", "It is 86.3 cm."])
    assert (said.kept, said.status) == ((1,), "aligned")
    told = settle(subject, verdicts, ["It is about 90 cm.", "It is 84 cm."])
    assert told.status == "ambiguous"


@pytest.mark.parametrize(
    ("facets", "problem"),
    [
        ([(0, 1), (1, 2)], "repeated: 1"),
        ([(0,), (2,)], "missing: 1"),
        ([(0, 1), (2, 3)], "unknown: 3"),
    ],
)
def test_a_claim_is_in_exactly_one_facet(facets: list[tuple[int, ...]], problem: str) -> None:
    made = tuple(Facet(kind="other", exclusive=True, claims=claims) for claims in facets)
    with pytest.raises(ValueError, match=problem):
        check_partition([Subject(about="x", facets=made)], 3)


def test_a_subject_rests_on_others() -> None:
    facet = Facet(kind="judgement", exclusive=True, claims=(0,))
    with pytest.raises(ValueError, match="subject 0 rests on 0"):
        check_partition([Subject(about="x", facets=(facet,), rests_on=(0,))], 1)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Subject, list[list[bool]], dict[int, Verdict]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    facets, start = [], 0
    for size in sizes:
        kind = draw(st.sampled_from(["number", "direction", "class", "judgement", "reason"]))
        claims = tuple(range(start, start + size))
        facets.append(Facet(kind=kind, exclusive=kind != "reason", claims=claims))
        start += size
    row = st.lists(st.booleans(), min_size=start, max_size=start)
    verdict = st.sampled_from([ALIGNED, SILENT, wrong("x 1"), wrong("x 2")])
    support = draw(st.lists(row, min_size=0, max_size=5))
    verdicts = draw(st.dictionaries(st.integers(0, start - 1), verdict))
    return Subject(about="drawn", facets=tuple(facets)), support, verdicts


@given(cases())
def test_settling_keeps_or_drops_every_claim_and_leaves_one_voice(
    case: tuple[Subject, list[list[bool]], dict[int, Verdict]],
) -> None:
    subject, support, verdicts = case
    settled = settle(subject, verdicts)
    assert sorted((*settled.kept, *settled.dropped)) == list(subject.claims)
    voice = one_voice(subject, support, settled.kept)
    assert set(voice) <= set(settled.kept)
    for facet in subject.facets:
        if facet.exclusive:
            assert len(set(facet.claims) & set(voice)) <= 1
            if any(
                v in verdicts and verdicts[v].status in ("aligned", "contradicted")
                for v in facet.claims
            ):
                assert len(set(facet.claims) & set(settled.kept)) <= 1


@given(cases())
def test_the_order_of_the_answers_does_not_matter(
    case: tuple[Subject, list[list[bool]], dict[int, Verdict]],
) -> None:
    subject, support, _ = case
    expected = (
        one_voice(subject, support, subject.claims),
        round(uncertainty(subject, support), 9),
    )
    for order in list(permutations(support))[:12]:
        found = one_voice(subject, order, subject.claims)
        assert (found, round(uncertainty(subject, order), 9)) == expected
