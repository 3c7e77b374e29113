"""The JSON contracts of the prompts that write, audit and answer questions by form."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from simulrag.models.replies import Numbered, Reply, Text


class WrittenChoice(Reply):
    """Reply to ``forms_write``: a stem, its right option and three wrong ones."""

    question: Text
    correct: Text
    distractors: Annotated[list[Text], Field(min_length=3, max_length=3)]


class WrittenFreeform(Reply):
    """Reply to ``forms_write`` and ``forms_run``: a question and its answer."""

    question: Text
    answer: Text


class WrittenStem(Reply):
    """Reply to ``forms_run``: the stem of a choice whose options are given."""

    question: Text


class WrittenStatement(Reply):
    """Reply to ``forms_write`` and ``forms_run``: the statement of a cloze."""

    statement: Text


class WrittenTerm(Reply):
    """Reply to ``forms_term``."""

    term: Text


class OwnAnswer(Numbered):
    """A second reader's answer to one question: a letter, words, or none."""

    answer: Text


class OwnAnswers(Reply):
    """Reply to ``forms_own_answers``; each question's number has to be there exactly once."""

    answers: list[OwnAnswer]


class Reading(Numbered):
    """What an auditor reads in one question."""

    mentions_source: StrictBool
    needs_figure: StrictBool
    self_contained: StrictBool
    gives_answer: StrictBool
    same_answer: StrictBool
    probability: Annotated[float, Field(strict=True, ge=0, le=1)]


class Readings(Reply):
    """Reply to ``forms_audit``; each question's number has to be there exactly once."""

    questions: list[Reading]


class ChosenOption(Reply):
    """Reply to ``forms_answer_choice``."""

    letter: Literal["a", "b", "c", "d"]


class ShortAnswer(Reply):
    """Reply to ``forms_answer_freeform``."""

    answer: Text


class GivenTerm(Reply):
    """Reply to ``forms_answer_cloze``."""

    term: Annotated[Text, Field(max_length=200)]


class Entailed(Reply):
    """Reply to ``forms_entail`` where answers are sampled."""

    label: Literal["SUPPORTS", "REFUTES"]
