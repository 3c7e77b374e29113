"""Audits of questions by form. Structure and numbers by code; what needs reading, by a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field, StrictBool

from rooms.forms.records import (
    LETTERS,
    MASK,
    ChoiceQuestion,
    Flaw,
    Formed,
    Rejection,
    Validity,
)
from simulrag.method.asking import ask_in_batches
from simulrag.method.numbers import numbers
from simulrag.models.base import Asker
from simulrag.models.replies import Batch, Numbered, Text
from simulrag.stand_in import RIGHT, Prompted
from simulrag.task import Task


class OwnAnswer(Numbered):
    """A second reader's answer to one question: a letter, words, or none."""

    answer: Text


class OwnAnswers(Batch):
    """Reply to ``forms_own_answers``; each question's number has to be there exactly once."""

    answers: list[OwnAnswer]


class Reading(Numbered):
    """What an auditor reads in one question."""

    mentions_source: StrictBool
    needs_figure: StrictBool
    self_contained: StrictBool
    answerable: StrictBool
    gives_answer: StrictBool
    same_answer: StrictBool
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Readings(Batch):
    """Reply to ``forms_audit``; each question's number has to be there exactly once."""

    questions: list[Reading]


_SHOWN_OPTION = re.compile(r"^ +([a-d])\) (.*)$", re.M)


def _right_ones(prompted: Prompted) -> object:
    """Choose the right option of a stand-in, else the one whose number stands in the contexts."""
    known = numbers(prompted.text("source_text"))

    def fits(option: str) -> bool:
        stated = numbers(option)
        return RIGHT in option or any(stated[0].repeats(n) for n in known if stated)

    def answer(question: str) -> str:
        options = _SHOWN_OPTION.findall(question)
        return next((letter for letter, option in options if fits(option)), "none")

    given = enumerate(prompted.listed("questions"))
    return {"answers": [{"index": index, "answer": answer(text)} for index, text in given]}


def _all_well(prompted: Prompted) -> object:
    names = [name for name in Reading.model_fields if name not in ("index", "probability")]
    well = {name: name in ("self_contained", "answerable", "same_answer") for name in names}
    count = len(prompted.listed("questions"))
    return {"questions": [{"index": i, **well, "probability": 1.0} for i in range(count)]}


FORMS_OWN_ANSWERS = Task("forms_own_answers", OwnAnswers, tokens=80, stand_in=_right_ones)
FORMS_AUDIT = Task("forms_audit", Readings, tokens=180, stand_in=_all_well)
SIMILAR = 0.8
"""Share of common words from which two questions are one."""
LONGER = 2.0
"""A right option so many times as long as every other gives itself away."""
LIKELY = 0.5
"""A question that its auditor finds less likely valid is rejected."""

_WORD = re.compile(r"[^\W_]+(?:\.\d+)?")
_FIGURES = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


def masked(statement: str, term: str) -> str | Rejection:
    """Return the statement with its term taken out, or why that cannot be.

    The term stands as whole words, in any case, and not as a part of another number.
    """
    whole = rf"(?<![\w])(?<!\d[.,]){re.escape(term.strip())}(?!\w)(?![.,]\d)"
    places = list(re.finditer(whole, statement, re.IGNORECASE)) if term.strip() else []
    if MASK in statement or len(places) > 1:
        return _flaw("term_repeated", f"'{term}' stands {len(places)} times in '{statement}'")
    if not places:
        return _flaw("term_absent", f"'{term}' does not stand in '{statement}'")
    text = f"{statement[: places[0].start()]}{MASK}{statement[places[0].end() :]}"
    if not _words(text.replace(MASK, " ")):
        return _flaw("not_self_contained", f"nothing is left of '{statement}'")
    return text


def structure(question: Formed, given: Iterable[str] = ()) -> tuple[Rejection, ...]:
    """Check by code: options, numbers that stand nowhere, an answer within the question.

    Numbers may stand in the contexts or in ``given``; those of wrong options are free.
    """
    return (*_options(question), *_numbers(question, given), *_leak(question))


def repeats(question: Formed, others: Iterable[Formed]) -> Rejection | None:
    """Return the rejection of a question that says what an earlier one of its form says.

    Another number makes another question: two scenarios of one template share all other words.
    """
    own = _content(question)
    for other in others:
        theirs = _content(other)
        if other.form != question.form or _figures(own) != _figures(theirs):
            continue
        if jaccard(own, theirs) >= SIMILAR:
            return _flaw("duplicate", f"of {other.question_id}")
    return None


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return common words as a share of all; 0 where there are none."""
    return len(one & other) / len(one | other) if one | other else 0.0


async def audited(
    ask: Asker, questions: Sequence[Formed], given: Iterable[str] = ()
) -> list[Formed]:
    """Return the questions of one seed with what the audits say. Raises ModelError.

    A second reader answers them from the contexts, then an auditor reads question and answers.
    """
    if not questions:
        return []
    contexts = [context.text for context in questions[0].contexts]
    texts = [shown(question) for question in questions]
    choices = {shown(question) for question in questions if isinstance(question, ChoiceQuestion)}

    def of_each(task: Task, items: Sequence[object], **check: Any) -> Awaitable[list[Any]]:
        size = len(questions)
        return ask_in_batches(
            task, items, ask, claims_per_call=size, named="questions", contexts=contexts, **check
        )

    def answered(own: OwnAnswer, text: str) -> None:
        letters = (*LETTERS, "none", "several")
        if text in choices and own.answer not in letters:
            raise ValueError(f"question {own.index} has options: {', '.join(letters)}")

    answers = await of_each(FORMS_OWN_ANSWERS, texts, check_each=answered)
    own = [item.answer for item in answers]
    told_all = [
        {"question": text, "answer": told(question), "own": answer}
        for text, question, answer in zip(texts, questions, own, strict=True)
    ]
    readings: list[Reading] = await of_each(FORMS_AUDIT, told_all)
    given = tuple(given)
    return [
        _with(question, answer, reading, structure(question, given))
        for question, answer, reading in zip(questions, own, readings, strict=True)
    ]


def shown(question: Formed) -> str:
    """Return a question as an examinee sees it, options with their letters."""
    if not isinstance(question, ChoiceQuestion):
        return question.text
    options = zip(LETTERS, question.options, strict=True)
    return "\n".join([question.text, *(f"   {letter}) {text}" for letter, text in options)])


def told(question: Formed) -> str:
    """Return the right answer, with its letter where there are options."""
    if isinstance(question, ChoiceQuestion):
        return f"{LETTERS[question.answer]}) {question.answer_text}"
    return question.answer_text


def _with(question: Formed, own: str, reading: Reading, flaws: tuple[Rejection, ...]) -> Formed:
    same = reading.same_answer
    if isinstance(question, ChoiceQuestion):
        same = own == LETTERS[question.answer]
    read: list[tuple[Flaw, bool]] = [
        ("context_mentioned", reading.mentions_source),
        ("figure_reference", reading.needs_figure),
        ("not_self_contained", not reading.self_contained),
        ("not_answerable", not reading.answerable),
        ("answer_in_question", reading.gives_answer),
        ("inconsistent", not same),
        ("invalid", reading.probability < LIKELY),
    ]
    details = {"inconsistent": f"a second reader: {own}", "invalid": f"{reading.probability:g}"}
    kinds = {item.kind for item in flaws}
    told_of = [
        _flaw(kind, details.get(kind, "by the auditor"))
        for kind, wrong in read
        if wrong and kind not in kinds
    ]
    validity = Validity(rejections=(*flaws, *told_of))
    return question.model_copy(update={"valid": validity})


def _options(question: Formed) -> Iterator[Rejection]:
    if not isinstance(question, ChoiceQuestion):
        return
    folded = {" ".join(_WORD.findall(option.casefold())) for option in question.options}
    if len(folded) < len(question.options) or "" in folded:
        yield _flaw("options", "two options are the same, or one says nothing")
    for index, option in enumerate(question.options):
        if index != question.answer and same_value(option, question.answer_text):
            yield _flaw("options", f"'{option}' is right too, at its own precision")
    others = [len(text) for i, text in enumerate(question.options) if i != question.answer]
    if len(question.answer_text) > LONGER * max(others):
        yield _flaw("options", "the right option is far longer than all others")


def same_value(one: str, other: str) -> bool:
    """Return whether two texts say one number in the same words, one perhaps more coarsely."""
    given = [(numbers(text), _FIGURES.sub(" ", text).split()) for text in (one, other)]
    (ones, words), (others, other_words) = given
    if words != other_words or len(ones) != len(others) or not ones:
        return False
    pairs = list(zip(ones, others, strict=True))
    return any(all(a.repeats(b) for a, b in each) for each in (pairs, [(b, a) for a, b in pairs]))


def _numbers(question: Formed, given: Iterable[str]) -> Iterator[Rejection]:
    texts = [*(context.text for context in question.contexts), *given]
    known = [number for text in texts for number in numbers(text)]
    if not texts:
        return
    for number in numbers(f"{question.text} {question.answer_text}"):
        if not any(number.repeats(other) for other in known):
            yield _flaw("number_not_in_context", number.written)


def _leak(question: Formed) -> Iterator[Rejection]:
    """Yield a flaw where the right answer stands in one piece in the question."""
    if question.form == "cloze":  # its term was taken out of it
        return
    answer = " ".join(_WORD.findall(question.answer_text.casefold()))
    text = " ".join(_WORD.findall(question.text.replace(MASK, " ").casefold()))
    if answer and f" {answer} " in f" {text} ":
        yield _flaw("answer_in_question", f"'{question.answer_text}' stands in it")


def _content(question: Formed) -> frozenset[str]:
    return _words(f"{question.text.replace(MASK, ' ')} {question.answer_text}")


def _figures(words: frozenset[str]) -> set[str]:
    return {word for word in words if word[0].isdigit()}


@lru_cache(maxsize=1 << 16)  # each question is compared with all that follow
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


def _flaw(kind: Flaw, detail: str) -> Rejection:
    return Rejection(kind=kind, detail=detail)
