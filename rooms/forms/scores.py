"""The measures of single answers, which tables are made from.

Whether a reference answer supports a given one, as an evaluator sees it (ClimaQA, section 3.2).
Published: the evaluator is shown the reference as evidence and says SUPPORTS or REFUTES; the
probabilities of the two labels' first tokens are normalised (arXiv 2410.16701), and smoothed to the
factual accuracy. What it gives depends on how saturated the evaluator's probabilities are, so
values of two evaluators are not comparable. An evaluator without log-probabilities states its
probability in one reply, which arithmetic on numbers then checks.
"""

from __future__ import annotations

import math
import string
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from rooms.forms.records import Answered, FormAnswer, Formed, FormScore
from rooms.forms.similarity import TextEncoder, bert_scores, bleu, bleu_char, phrase_similarities
from simulrag.errors import ModelError
from simulrag.method.numbers import numbers
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
    variant: Literal["logprobs", "stated", "off"],
    min_label_mass: float,
) -> Factual:
    """Ask the evaluator about one answer; its failure is a reason and no value."""
    if variant == "off":
        return Factual(reason="not asked for (forms.metrics.factual: off)")
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


def smoothed(probability: float, temperature: float = TEMPERATURE) -> float:
    """Return the logistic of logit(p) / T. Raises ValueError outside of 0 to 1, or T <= 0.

    0 and 1 stay. Section 3.2 of ClimaQA; equal to p^(1/T) / (p^(1/T) + (1 - p)^(1/T)).
    """
    if not 0 <= probability <= 1 or not 0 < temperature < math.inf:
        raise ValueError(f"no probability and temperature: {probability}, {temperature}")
    if probability in (0, 1):
        return float(probability)
    return 0.5 + 0.5 * math.tanh(math.log(probability / (1 - probability)) / temperature / 2)


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
        return {"accuracy": float(exact(*pair))}
    if question.form == "cloze":
        same = {"exact": float(exact(*pair)), "exact_folded": float(exact_folded(*pair))}
        return {**same, "ps": likeness}
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


def exact(reference: str, answer: str) -> bool:
    """Compare character by character: the published measure."""
    return reference == answer


def exact_folded(reference: str, answer: str) -> bool:
    """Compare all but case, compatibility forms, signs around words and an English plural's s."""
    one, two = folded(reference), folded(answer)
    return one == two if one or two else exact(reference, answer)


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
