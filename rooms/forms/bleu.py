"""BLEU of words by sacreBLEU's rules, and of characters as ClimaQA's published code computes it.

Papineni et al. 2002 (doi:10.3115/1073083.1073135); sacreBLEU, whose library counts the n-grams:
Post 2018 (arXiv 1804.08771), its tokens ``13a`` and smoothing ``exp``. The published code
(Rose-STL-Lab/genie-climaqa) gives NLTK's ``corpus_bleu`` texts in place of lists of words, so its
n-grams are of characters, smoothed by NLTK's ``method1`` (Chen and Cherry 2014,
doi:10.3115/v1/W14-3346, with epsilon 0.1).
"""

from __future__ import annotations

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from simulrag.metrics.intervals import Floats

ORDER = 4
_EPSILON = 0.1
_WORDS = BLEU(tokenize="13a", max_ngram_order=ORDER)
_PLAIN = BLEU(tokenize="none", max_ngram_order=ORDER)


def bleu(reference: str, answer: str) -> float:
    """BLEU of words of one pair, 0 to 1, as sacreBLEU's ``sentence_bleu`` (effective order)."""
    return float(word_scores(word_counts(reference, answer)[None], effective_order=True)[0])


def bleu_char(reference: str, answer: str) -> float:
    """The published BLEU of one pair, 0 to 1: of characters, and not of words."""
    return float(char_scores(char_counts(reference, answer)[None])[0])


def word_counts(reference: str, answer: str) -> Floats:
    """What ``word_scores`` needs of a pair; the counts of a corpus are their sum.

    Shape (10,): n-grams of the answer that the reference has (n = 1 to 4), n-grams of the answer,
    length of the answer, length of the reference.
    """
    return _counts(_WORDS, reference, answer)


def char_counts(reference: str, answer: str) -> Floats:
    """The same of characters, for ``char_scores``. NLTK counts at least one n-gram a pair."""
    # sacreBLEU's own characters leave spaces out, so each character is the word of its number.
    words = (" ".join(str(ord(sign)) for sign in text) for text in (reference, answer))
    found = _counts(_PLAIN, *words)
    found[ORDER : 2 * ORDER] = np.maximum(found[ORDER : 2 * ORDER], 1)
    return found


def word_scores(counts: Floats, *, effective_order: bool = False) -> Floats:
    """sacreBLEU of each row of summed counts, shape (rows, 10), as 0 to 1.

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
    """NLTK's ``corpus_bleu`` with ``method1`` of each row of summed counts, shape (rows, 10)."""
    matches = counts[:, :ORDER]
    precision = np.where(matches > 0, matches, _EPSILON) / np.maximum(
        counts[:, ORDER : 2 * ORDER], 1
    )
    scores = np.exp(np.log(precision).mean(axis=1)) * _brevity(counts)
    return np.where(matches[:, 0] > 0, scores, 0.0)


def _counts(rules: BLEU, reference: str, answer: str) -> Floats:
    told = rules.corpus_score([answer], [[reference]])
    return np.array([*told.counts, *told.totals, told.sys_len, told.ref_len], dtype=float)


def _brevity(counts: Floats) -> Floats:
    answer, reference = counts[:, -2], counts[:, -1]
    return np.exp(np.minimum(0.0, 1 - reference / np.maximum(answer, 1)))
