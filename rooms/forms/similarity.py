"""An answer compared with its reference: BLEU, BERTScore and phrase similarity.

BLEU is of words by sacreBLEU's rules, and of characters as ClimaQA's published code computes it.
Papineni et al. 2002 (doi:10.3115/1073083.1073135); sacreBLEU, whose library counts the n-grams:
Post 2018 (arXiv 1804.08771), its tokens ``13a`` and smoothing ``exp``. The published code
(Rose-STL-Lab/genie-climaqa) gives NLTK's ``corpus_bleu`` texts in place of lists of words, so its
n-grams are of characters, smoothed by NLTK's ``method1`` (Chen and Cherry 2014,
doi:10.3115/v1/W14-3346, with epsilon 0.1).

Similarity is by an encoder, whose name is part of the metric's. BERTScore: Zhang et al. 2020 (arXiv
1904.09675), F1 without IDF and without rescaling, as the published tables have it, there of
roberta-large. Phrase similarity: ClimaQA (arXiv 2410.16701), section 3.2, there of the Universal
Sentence Encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from rooms.forms.records import MASK
from simulrag.metrics.intervals import Floats

ORDER = 4
_EPSILON = 0.1
_WORDS = BLEU(tokenize="13a", max_ngram_order=ORDER)
_PLAIN = BLEU(tokenize="none", max_ngram_order=ORDER)


def bleu(reference: str, answer: str) -> float:
    """Return a pair's BLEU of words, 0 to 1, as sacreBLEU's ``sentence_bleu`` (effective order)."""
    return float(word_scores(word_counts(reference, answer)[None], effective_order=True)[0])


def bleu_char(reference: str, answer: str) -> float:
    """Return the published BLEU of one pair, 0 to 1: of characters, and not of words."""
    return float(char_scores(char_counts(reference, answer)[None])[0])


def word_counts(reference: str, answer: str) -> Floats:
    """Count what ``word_scores`` needs of a pair; the counts of a corpus are their sum.

    Shape (10,): n-grams of the answer that the reference has (n = 1 to 4), n-grams of the answer,
    length of the answer, length of the reference.
    """
    return _counts(_WORDS, reference, answer)


def char_counts(reference: str, answer: str) -> Floats:
    """Count the same of characters, for ``char_scores``. NLTK has at least one n-gram a pair."""
    # sacreBLEU's own characters leave spaces out, so each character is the word of its number.
    words = (" ".join(str(ord(sign)) for sign in text) for text in (reference, answer))
    counts = _counts(_PLAIN, *words)
    counts[ORDER : 2 * ORDER] = np.maximum(counts[ORDER : 2 * ORDER], 1)
    return counts


def word_scores(counts: Floats, *, effective_order: bool = False) -> Floats:
    """Return sacreBLEU of each row of summed counts, shape (rows, 10), as 0 to 1.

    ``effective_order``: orders that the answer is too short for are left out.
    """
    matches, totals = counts[:, :ORDER], counts[:, ORDER : 2 * ORDER]
    missed = np.cumsum((matches == 0) & (totals > 0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(matches > 0, matches / totals, 1 / (2.0**missed * totals))
        logs = np.where(totals > 0, np.log(precision), 0.0)
    orders = np.maximum(1, (totals > 0).sum(axis=1)) if effective_order else ORDER
    scores = np.exp(logs.sum(axis=1) / orders) * _brevity(counts)
    whole = (matches > 0).any(axis=1) & (effective_order | (totals > 0).all(axis=1))
    return np.where(whole, scores, 0.0)


def char_scores(counts: Floats) -> Floats:
    """Return NLTK's ``corpus_bleu`` (``method1``) of each row of summed counts, (rows, 10)."""
    matches = counts[:, :ORDER]
    precision = np.where(matches > 0, matches, _EPSILON) / np.maximum(
        counts[:, ORDER : 2 * ORDER], 1
    )
    scores = np.exp(np.log(precision).mean(axis=1)) * _brevity(counts)
    return np.where(matches[:, 0] > 0, scores, 0.0)


def _counts(rules: BLEU, reference: str, answer: str) -> Floats:
    score = rules.corpus_score([answer], [[reference]])
    return np.array([*score.counts, *score.totals, score.sys_len, score.ref_len], dtype=float)


def _brevity(counts: Floats) -> Floats:
    answer, reference = counts[:, -2], counts[:, -1]
    return np.exp(np.minimum(0.0, 1 - reference / np.maximum(answer, 1)))


WORDS_AROUND = 4


Vectors = NDArray[Any]


class TextEncoder(Protocol):
    """Vectors of length 1: of whole texts, shape (texts, width), and of a text's pieces."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        ...

    def encode_pieces(self, texts: Sequence[str]) -> Sequence[Vectors]:
        """One array a text: (pieces, width), 0 pieces where the text has none."""
        ...


def phrase(text: str, term: str) -> str:
    """Return the term in its window: four words on each side of the word that holds the mask.

    Raises ValueError where the text has not exactly one mask.
    """
    if (masks := text.count(MASK)) != 1:
        raise ValueError(f"a cloze has one {MASK}, this one has {masks}")
    words = text.split()
    at = next(index for index, word in enumerate(words) if MASK in word)
    window = words[max(0, at - WORDS_AROUND) : at + WORDS_AROUND + 1]
    return " ".join(window).replace(MASK, " ".join(term.split()).casefold())


def phrase_similarities(
    encoder: TextEncoder, clozes: Sequence[tuple[str, str, str]]
) -> list[float]:
    """Return 2 (cosine - 0.5) of each (text, reference, answer): at most 1, below 0 if unlike."""
    phrases = [phrase(text, term) for text, *terms in clozes for term in terms]
    if not phrases:
        return []
    vectors = encoder.encode(phrases)
    pairs = zip(vectors[::2], vectors[1::2], strict=True)
    return [2 * (float(one @ two) - 0.5) for one, two in pairs]


def bert_scores(encoder: TextEncoder, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """Return F1 of each (reference, answer); None where one of the two has no pieces."""
    pieces = encoder.encode_pieces([text for pair in pairs for text in pair]) if pairs else []
    return [_f1(one, two) for one, two in zip(pieces[::2], pieces[1::2], strict=True)]


def _f1(reference: Vectors, answer: Vectors) -> float | None:
    if not len(reference) or not len(answer):
        return None
    cosines = answer @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
