"""Similarity by an encoder, whose name is part of the metric's: BERTScore and phrase similarity.

BERTScore: Zhang et al. 2020 (arXiv 1904.09675), F1 without IDF and without rescaling, as the
published tables have it, there of roberta-large. Phrase similarity: ClimaQA (arXiv 2410.16701),
section 3.2, there of the Universal Sentence Encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from rooms.forms.records import MASK

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
    """The term in its window: four words on each side of the word that holds the mask.

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
    """2 (cosine - 0.5) of each (text, reference, answer): at most 1, below 0 for unlike ones."""
    phrases = [phrase(text, term) for text, *terms in clozes for term in terms]
    if not phrases:
        return []
    vectors = encoder.encode(phrases)
    pairs = zip(vectors[::2], vectors[1::2], strict=True)
    return [2 * (float(one @ two) - 0.5) for one, two in pairs]


def bert_scores(encoder: TextEncoder, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
    """F1 of each (reference, answer); None where one of the two has no pieces."""
    pieces = encoder.encode_pieces([text for pair in pairs for text in pair]) if pairs else []
    return [_f1(one, two) for one, two in zip(pieces[::2], pieces[1::2], strict=True)]


def _f1(reference: Vectors, answer: Vectors) -> float | None:
    if not len(reference) or not len(answer):
        return None
    cosines = answer @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
