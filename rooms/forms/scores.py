"""The measures of single answers, which tables are made from.

Whether a reference answer supports a given one, as an evaluator sees it (ClimaQA, section 3.2).
Published: the evaluator is shown the reference as evidence and says SUPPORTS or REFUTES; the
probabilities of the two labels' first tokens are normalised (arXiv 2410.16701), and smoothed to the
factual accuracy. What it gives depends on how saturated the evaluator's probabilities are, so
values of two evaluators are not comparable. An evaluator without log-probabilities states its
probability in one reply, which arithmetic on numbers then checks.

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

import math
import string
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from sacrebleu.metrics.bleu import BLEU

from rooms.forms.records import MASK, Answered, FormAnswer, Formed, FormScore
from rooms.forms.settings import FactualBy
from simulrag.errors import ModelError
from simulrag.method.numbers import numbers
from simulrag.metrics.intervals import Floats
from simulrag.models.base import Asker, FirstTokens
from simulrag.models.replies import Reply
from simulrag.records import Record
from simulrag.stand_in import Prompted, finding
from simulrag.task import Task


class Supported(Reply):
    """Reply to ``forms_supported``: the probability that the reference bears the answer out."""

    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


def _one_word(prompted: Prompted) -> object:
    if not prompted.has("reference"):
        return None
    return "refutes" if finding(prompted.text("answer")) == "wrong" else "supports"


FORMS_ENTAIL = Task("forms_entail", tokens=2, stand_in=_one_word)
FORMS_SUPPORTED = Task("forms_supported", Supported, tokens=15)
ALTERNATIVES = 20
"""The most that servers tell the log-probabilities of."""
LABELS = ("supports", "refutes")
TEMPERATURE = 5.0


class Factual(Record):
    """What the evaluator gave for one answer.

    ``p_supports``: of both labels' probability, the share of SUPPORTS, not smoothed; or as stated.
    ``label_mass``: the probability that the first token begins a label; None where stated.
    ``reason``: why there is no value.
    """

    p_supports: float | None = None
    label_mass: float | None = None
    reason: str = ""


def label_masses(tokens: FirstTokens) -> tuple[float, float]:
    """Sum the probabilities of tokens that begin SUPPORTS, or REFUTES, and not the other."""
    masses = [0.0, 0.0]
    for token, logprob in tokens:
        begun = token.strip().casefold()
        fits = [index for index, label in enumerate(LABELS) if begun and label.startswith(begun)]
        if fits:
            masses[fits[0]] += math.exp(logprob)
    return masses[0], masses[1]


def from_tokens(tokens: FirstTokens, min_label_mass: float) -> Factual:
    """Read the value in a reply's first tokens."""
    if not tokens:
        return Factual(reason="the model's server sent no log-probabilities")
    supports, refutes = label_masses(tokens)
    mass = min(1.0, supports + refutes)
    if mass == 0 or mass < min_label_mass:
        return Factual(label_mass=mass, reason=f"the labels' mass is below {min_label_mass:g}")
    return Factual(p_supports=supports / (supports + refutes), label_mass=mass)


async def judge(
    question: str,
    reference: str,
    answer: str,
    ask: Asker,
    variant: FactualBy,
    min_label_mass: float,
) -> Factual:
    """Ask the evaluator about one answer; its failure is a reason and no value."""
    try:
        if variant == "logprobs":
            reply = await ask.ask(FORMS_ENTAIL, reference=reference, answer=answer)
            return from_tokens(reply.first_tokens, min_label_mass)
        reply = await ask.ask(
            FORMS_SUPPORTED, question=question, reference=reference, answer=answer
        )
    except ModelError as error:
        return Factual(reason=str(error))
    return Factual(p_supports=reply.parsed.probability)


def smoothed(probability: float) -> float:
    """Return the logistic of logit(p) / T, with T = 5.

    0 and 1 stay. Section 3.2 of ClimaQA; equal to p^(1/T) / (p^(1/T) + (1 - p)^(1/T)).
    """
    if probability in (0, 1):
        return float(probability)
    return 0.5 + 0.5 * math.tanh(math.log(probability / (1 - probability)) / TEMPERATURE / 2)


def scored(
    pairs: Sequence[tuple[Formed, FormAnswer]],
    factual: Mapping[int, Factual],
    encoder: TextEncoder | str,
) -> list[FormScore]:
    """Measure each answer. ``factual``: by index; ``encoder``: or why there is none."""
    similar = {} if isinstance(encoder, str) else _similar(pairs, encoder)
    no_vectors = encoder if isinstance(encoder, str) else "a text without words"
    scores = []
    for index, (question, answer) in enumerate(pairs):
        measures: dict[str, float | str] = {}
        if answer.failure is None:
            like = similar.get(index)
            likeness = no_vectors if like is None else like
            measures = _measures(question, answer.answer, factual.get(index), likeness)
        scores.append(
            FormScore(
                **answer.model_dump(include=set(Answered.model_fields)),
                text=question.text,
                reference=question.answer_text,
                values={name: x for name, x in measures.items() if not isinstance(x, str)},
                reasons={name: x for name, x in measures.items() if isinstance(x, str)},
            )
        )
    return scores


def _measures(
    question: Formed, answer: str, factual: Factual | None, likeness: float | str
) -> dict[str, float | str]:
    """Return a value, or the reason why there is none, by name."""
    pair = (question.answer_text, answer)
    if question.form == "choice":
        return {"accuracy": float(question.answer_text == answer)}
    if question.form == "cloze":
        same = float(question.answer_text == answer)
        return {"exact": same, "exact_folded": float(exact_folded(*pair)), "ps": likeness}
    judged = factual or Factual(reason="not asked for")
    right = numbers_right(question.text, *pair)
    by_judge = {
        "fa": factual_accuracy(judged, right),
        "p_supports": judged.p_supports,
        "label_mass": judged.label_mass,
    }
    why = judged.reason or "a stated probability has none"
    return {
        "bleu": bleu(*pair),
        "bleu_char": bleu_char(*pair),
        "bertscore": likeness,
        "number": "the reference has no number of its own" if right is None else float(right),
        **{name: why if value is None else value for name, value in by_judge.items()},
    }


def numbers_right(question: str, reference: str, answer: str) -> bool | None:
    """Return whether the answer has the reference's numbers, each at the reference's own rounding.

    Signs and words are aside. Numbers of the question are not asked for; None where the reference
    has no other.
    """
    given, stated = numbers(question), numbers(answer)
    asked = [number for number in numbers(reference) if not any(number.repeats(x) for x in given)]
    if not asked:
        return None
    return all(any(number.states(other.value) for other in stated) for number in asked)


def factual_accuracy(judged: Factual, numbers_right: bool | None) -> float | None:
    """Smooth log-probabilities as published; else take what is stated, 0 if a number is wrong."""
    if judged.p_supports is None:
        return None
    if judged.label_mass is not None:
        return smoothed(judged.p_supports)
    return 0.0 if numbers_right is False else judged.p_supports


def _similar(
    pairs: Sequence[tuple[Formed, FormAnswer]], encoder: TextEncoder
) -> dict[int, float | None]:
    """Return phrase similarity of clozes and BERTScore of freeform answers, by index."""
    there = [
        (i, asked, answer) for i, (asked, answer) in enumerate(pairs) if answer.failure is None
    ]
    clozes = [pair for pair in there if pair[1].form == "cloze"]
    free = [pair for pair in there if pair[1].form == "freeform"]
    phrases = [(asked.text, asked.answer_text, answer.answer) for _, asked, answer in clozes]
    texts = [(asked.answer_text, answer.answer) for _, asked, answer in free]
    values: list[float | None] = [*phrase_similarities(encoder, phrases)]
    values += bert_scores(encoder, texts)
    return {pair[0]: value for pair, value in zip([*clozes, *free], values, strict=True)}


_SIGNS = string.punctuation.replace("%", "") + "“”‘’«»„…–—·"
_SHORTEST_PLURAL = 4


def exact_folded(reference: str, answer: str) -> bool:
    """Compare all but case, compatibility forms, signs around words and an English plural's s."""
    one, two = folded(reference), folded(answer)
    return one == two if one or two else reference == answer


def folded(text: str) -> str:
    """Return a term's words in the form in which they are compared; numbers keep their sign."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\N{MINUS SIGN}", "-")
    words = (_singular(_bare(word)) for word in plain.split())
    return " ".join(word for word in words if word).replace(" %", "%")


def _bare(word: str) -> str:
    bare = word.strip(_SIGNS)
    before = word[: word.find(bare)]
    return f"-{bare}" if bare[:1].isdigit() and before.endswith("-") else bare


def _singular(word: str) -> str:
    """The rules of Harman's S-stemmer (1991, doi:10.1002/(SICI)1097-4571)."""
    if len(word) < _SHORTEST_PLURAL or word.endswith(("us", "ss", "is")):
        return word
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


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
    """Return the term in its window: four words on each side of the word that holds the mask."""
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
