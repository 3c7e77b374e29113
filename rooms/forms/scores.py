"""The measures of single answers, which tables are made from."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Mapping, Sequence

from rooms.forms.bleu import bleu, bleu_char
from rooms.forms.entailment import Factual, smoothed
from rooms.forms.records import Answered, FormAnswer, Formed, FormScore
from rooms.forms.similarity import TextEncoder, bert_scores, phrase_similarities
from simulrag.method.numbers import numbers


def scored(
    pairs: Sequence[tuple[Formed, FormAnswer]],
    factual: Mapping[int, Factual],
    encoder: TextEncoder | str,
) -> list[FormScore]:
    """Each answer's measures. ``factual``: by index; ``encoder``: or why there is none."""
    similar = {} if isinstance(encoder, str) else _similar(pairs, encoder)
    no_vectors = encoder if isinstance(encoder, str) else "a text without words"
    found = []
    for index, (question, answer) in enumerate(pairs):
        told: dict[str, float | str] = {}
        if answer.failure is None:
            like = similar.get(index)
            likeness = no_vectors if like is None else like
            told = _measures(question, answer.answer, factual.get(index), likeness)
        found.append(
            FormScore(
                **answer.model_dump(include=set(Answered.model_fields)),
                text=question.text,
                reference=question.answer_text,
                values={name: x for name, x in told.items() if not isinstance(x, str)},
                reasons={name: x for name, x in told.items() if isinstance(x, str)},
            )
        )
    return found


def _measures(
    question: Formed, answer: str, factual: Factual | None, likeness: float | str
) -> dict[str, float | str]:
    """A value, or the reason why there is none, by name."""
    pair = (question.answer_text, answer)
    if question.form == "choice":
        return {"accuracy": float(exact(*pair))}
    if question.form == "cloze":
        same = {"exact": float(exact(*pair)), "exact_folded": float(exact_folded(*pair))}
        return {**same, "ps": likeness}
    told = factual or Factual(reason="not asked for")
    right = numbers_right(question.text, *pair)
    by_judge = {
        "fa": factual_accuracy(told, right),
        "p_supports": told.p_supports,
        "label_mass": told.label_mass,
    }
    why = told.reason or "a stated probability has none"
    return {
        "bleu": bleu(*pair),
        "bleu_char": bleu_char(*pair),
        "bertscore": likeness,
        "number": "the reference has no number of its own" if right is None else float(right),
        **{name: why if value is None else value for name, value in by_judge.items()},
    }


def numbers_right(question: str, reference: str, answer: str) -> bool | None:
    """Whether the answer has the reference's numbers, each at the reference's own rounding.

    Signs and words are aside. Numbers of the question are not asked for; None where the reference
    has no other.
    """
    given, stated = numbers(question), numbers(answer)
    asked = [one for one in numbers(reference) if not any(one.repeats(x) for x in given)]
    if not asked:
        return None
    return all(any(one.states(other.value) for other in stated) for one in asked)


def factual_accuracy(told: Factual, numbers_right: bool | None) -> float | None:
    """Of log-probabilities as published, smoothed; else as stated, 0 where a number is wrong."""
    if told.p_supports is None:
        return None
    if told.label_mass is not None:
        return smoothed(told.p_supports)
    return 0.0 if numbers_right is False else told.p_supports


def _similar(
    pairs: Sequence[tuple[Formed, FormAnswer]], encoder: TextEncoder
) -> dict[int, float | None]:
    """Phrase similarity of clozes and BERTScore of freeform answers, by index."""
    there = [(i, asked, told) for i, (asked, told) in enumerate(pairs) if told.failure is None]
    clozes = [one for one in there if one[1].form == "cloze"]
    free = [one for one in there if one[1].form == "freeform"]
    phrases = [(asked.text, asked.answer_text, told.answer) for _, asked, told in clozes]
    texts = [(asked.answer_text, told.answer) for _, asked, told in free]
    found: list[float | None] = [*phrase_similarities(encoder, phrases)]
    found += bert_scores(encoder, texts)
    return {one[0]: value for one, value in zip([*clozes, *free], found, strict=True)}


_SIGNS = string.punctuation.replace("%", "") + "“”‘’«»„…–—·"
_SHORTEST_PLURAL = 4


def exact(reference: str, answer: str) -> bool:
    """The same text, character by character: the published measure."""
    return reference == answer


def exact_folded(reference: str, answer: str) -> bool:
    """The same but for case, compatibility forms, signs around words and an English plural's s."""
    one, two = folded(reference), folded(answer)
    return one == two if one or two else exact(reference, answer)


def folded(text: str) -> str:
    """The words of a term in the form in which they are compared; numbers keep their sign."""
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
