"""The measures of SCORE: worked examples, what is undefined, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from rooms.score.formulas import (
    asked_back,
    confidence,
    context_use,
    detail_shares,
    evidence_dependence,
    evidence_used,
    leave_one_out,
    majority,
    specificity,
)
from rooms.score.ratings import fleiss_kappa, spearman
from rooms.score.readability import (
    TextCounts,
    counts,
    flesch,
    readability,
    sentences,
    syllables,
)
from rooms.score.reading import ClaimReading, moved, same_calls, same_claims
from simulrag.errors import InputError
from simulrag.records import Evidence, ToolCall
from tests.making import evidence

Y, N, X = "yes", "no", "n/a"
ALL_UNSAID = [[(X, X, X, X)]]


@pytest.mark.parametrize(
    ("votes", "mark"),
    [
        ([Y], Y),
        ([Y, Y, N], Y),
        ([X, X, Y], X),
        ([Y, N, X], X),
        ([Y, N], X),
        ([Y, X], X),
        ([], X),
    ],
)
def test_the_majority_and_its_ties(votes: Any, mark: str) -> None:
    assert majority(votes) == mark


def test_specificity_by_hand() -> None:
    one: Any = [(Y, N, X, X), (N, Y, X, X), (N, Y, N, X), (N, X, X, X)]
    assert detail_shares([one]) == (0.25, 2 / 3, 0.0, None)
    expected = (0.6 * 0.25 + 0.2 * 2 / 3) / 0.9
    assert specificity([one]) == pytest.approx(expected, abs=1e-15)
    assert specificity([one] * 3) == specificity([one, one, [None] * 4]) == specificity([one])
    assert specificity([one], weights=[6, 2, 1, 1]) == pytest.approx(expected, abs=1e-15)
    assert specificity([one], weights=[0, 0, 0, 1]) is None
    other: Any = [(N, N, N, N)] * 4
    assert specificity([one, other, one]) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("labels", [[], [[]], [[], []], ALL_UNSAID, [[None]]])
def test_nothing_stated_is_undefined_and_no_zero(labels: Any) -> None:
    assert specificity(labels) is None
    assert specificity(labels, undefined_as_zero=True) == 0.0


def says(output: str = "delay", **more: Any) -> ClaimReading:
    """A claim about the first run, unless told otherwise."""
    return ClaimReading(**{"kind": "number", "output": output, "run": 1, **more})


def ran(**outputs: float) -> Evidence:
    return evidence("", outputs)


@pytest.mark.parametrize(
    ("one", "two", "share"),
    [
        ([says(value="12.3")], [says(value="12")], 1.0),
        ([says(value="12.3")], [says(value="13")], 0.0),
        ([says(value="12"), says("flow", value="5")], [says(value="12")], 2 / 3),
        ([says(value="12")], [says(value="12", run=2)], 0.0),
        ([says(direction="rises")], [says(direction="falls")], 0.0),
        ([says(class_word="Severe")], [says(class_word="severe")], 1.0),
        ([says(value="at least 12")], [says(value="14")], 1.0),
        ([says(value="about a dozen")], [says(value=None)], None),
        ([ClaimReading(kind="number", value="3")], [], None),
        ([], [], None),
    ],
)
def test_claims_that_the_other_answer_repeats(one: Any, two: Any, share: float | None) -> None:
    assert same_claims(one, two) == same_claims(two, one) == share


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("40", "60", True),
        ("60", "60", False),  # the number is right, and the answer did not move
        ("40", "40", False),
        ("40", "70", False),
        ("70", "60", False),  # right by itself, moved the wrong way
        (None, "60", True),
        ("40", None, None),
    ],
)
def test_moving_as_the_simulator_did(old: Any, new: Any, right: bool | None) -> None:
    found = moved([says(value=old)], [says(value=new)], [ran(delay=40.0)], [ran(delay=60.0)])
    assert found is right


def test_moves_between_two_runs_and_what_cannot_be_compared() -> None:
    after = [ran(delay=3.0, trend="up"), ran(delay=5.0)]
    for direction, right in (("falls", True), ("rises", False), ("same", False)):
        assert moved([], [says(direction=direction, against=2)], [], after) is right
    for claim in (says("trend", value="3"), says(run=3, value="3"), says("none", value="3")):
        assert moved([], [claim], [], after) is None
    # A change below the rounding of both answers is no move.
    assert moved([says(value="3")], [says(value="3")], [ran(delay=3.1)], [ran(delay=3.2)])


def test_the_same_calls_in_any_order() -> None:
    one, two = (ToolCall(tool="t", arguments={"weeks": weeks}) for weeks in (1, 2))
    assert same_calls([one, two], [two, one])
    assert not same_calls([one, one], [one, two])
    assert not same_calls([one], [one, one])


async def lengths(query: str, texts: Sequence[str]) -> list[float]:
    """How many of the query's words a text has, less a hundredth for each other word."""
    wanted = set(query.split())
    return [len(wanted & set(t.split())) - 0.01 * len(set(t.split()) - wanted) for t in texts]


async def test_a_sentence_that_takes_away_is_found() -> None:
    parts = ["Snow is white", "the peak comes in week nine", "the peak is high"]
    found = await leave_one_out("peak week", parts, lengths)
    assert found is not None
    assert found[1] == pytest.approx(1 - 0.03)
    assert [share < 0 for share in found] == [True, False, True]
    assert await leave_one_out("peak", ["one"], lengths) is None
    assert await leave_one_out("peak", [], lengths) is None
    assert await asked_back("peak week", ["peak week", "week"], lengths) == 1.5
    assert await asked_back("peak week", [], lengths) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The peak is 12.5 weeks. It falls.", TextCounts(2, 7, 9)),
        ("It runs at 12.5 km/h (about 3.5 m/s). Then it stops!", TextCounts(2, 11, 21)),
        ("- First item\n- rises by 4 %\n2) third; done. Next.", TextCounts(4, 8, 12)),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", TextCounts(2, 4, 4)),
        ("See Fig. 5 and cf. Smith et al. (2010), e.g. Dr. Who. It ends.", TextCounts(2, 14, 18)),
        ("He said no. It fell in the U.S. economy. Is it 5? Yes.", TextCounts(4, 13, 17)),
        ("A line\nthat wraps. Next\none.", TextCounts(2, 6, 6)),
        ("See scenario A. It rises.", TextCounts(2, 5, 9)),
        ("It is 1.5 °C or 4%.", TextCounts(1, 5, 11)),
        ("CO2 and R0 rise, says the IPCC.", TextCounts(1, 7, 13)),
        ("", TextCounts(0, 0, 0)),
        (" \n--- ...", TextCounts(0, 0, 0)),
    ],
)
def test_what_is_counted(text: str, found: TextCounts) -> None:
    assert counts(text) == found
    assert len(sentences(text)) == found.sentences


def test_syllables_of_words() -> None:
    words = (
        "the:1 simulated:4 science:2 vehicles:3 congestion:3 titled:2 closed:1 pieces:2 people:2 "
        "scenario:4 various:3 region:2 being:2 create:2 created:3 therefore:2 safety:2 you:1 "
        "year:1 layer:2 hospital's:3 reduces:3 seasonality:5 intervention:4 area:3"
    )
    pairs = [pair.split(":") for pair in words.split()]
    wrong = {word: syllables(word) for word, right in pairs if syllables(word) != int(right)}
    assert wrong == {"area": 2}  # one of the 2 % of running words that a rule gets wrong


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12.5",
        "12.5 % | 3",
        "今日は天気がいいです。",
        "Der Verkehr auf der Strecke ist nicht so dicht.",
        "Les rues de la ville sont plus calmes.",
        "El tráfico en la ciudad es más lento.",
    ],
)
def test_readability_outside_english_is_undefined(text: str) -> None:
    assert readability(text) is None


def test_readability_by_hand() -> None:
    assert readability("The peak is 12.5 weeks. It falls.") == pytest.approx(
        (206.835 - 1.015 * 3.5 - 84.6 * 9 / 7, 0.39 * 3.5 + 11.8 * 9 / 7 - 15.59)
    )
    assert flesch(TextCounts(1, 1, 1)) == pytest.approx((121.22, -3.40))


def test_context_use_is_one_finding_and_not_two() -> None:
    use, relative = context_use(0.25, [0.2, 0.25, 0.3, 0.05])
    assert use == pytest.approx(0.05, abs=1e-15)
    assert relative == pytest.approx(use / 0.25, abs=1e-12)
    assert context_use(0.25, []) == (None, None)
    assert context_use(0.0, [0.0, 0.1]) == (pytest.approx(-0.05), None)
    assert confidence([-1.0, -2.0]) == pytest.approx(np.exp(-1.5))
    assert confidence([]) is None
    assert confidence([-5000.0]) == 0.0
    for wrong in ([float("nan")], [0.1]):
        with pytest.raises(InputError, match="no log-probability"):
            confidence(wrong)


def test_evidence_that_claims_state() -> None:
    context = ["The peak is 340.4 patients.", "It comes in week 9.", "It declines.", "R0 is 1.5."]
    assert evidence_used(["About 340 patients at R0 1.5"], context) == pytest.approx(2 / 3)
    assert evidence_used(["340 at 1.5"], context, "With R0 1.5, when?") == 0.5
    assert evidence_used(["it is 340.41"], context) == 0.0
    assert evidence_used([], context) == 0.0
    assert evidence_used(["9"], ["It declines."]) is None


def test_evidence_that_verdicts_depend_on() -> None:
    full: Any = ["aligned", "contradicted", "indeterminate", "error"]
    without: Any = [
        ["indeterminate", "contradicted", "indeterminate", "aligned"],
        ["error", "error", "indeterminate", "aligned"],
    ]
    assert evidence_dependence(full, without) == (0.5, None)


def test_kappa_and_correlations() -> None:
    counts = np.random.default_rng(5).multinomial(4, [0.5, 0.3, 0.2], size=30)
    assert fleiss_kappa(counts.tolist()) == pytest.approx(fleiss_of_statsmodels(counts))
    assert fleiss_kappa([]) is None
    assert fleiss_kappa([[2, 0], [2, 0]]) is None
    assert spearman([1.0, 2.0, 3.0], [2.0, 4.0, 9.0]) == (1.0, 0.0)
    assert spearman([1, 2], [1, 2]) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None
