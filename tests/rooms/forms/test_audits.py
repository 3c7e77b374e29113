"""Audits: what code finds in structure and numbers, and what a model's reading comes to."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pydantic import ValidationError

from rooms.forms.audits import audited, masked, repeats, structure
from rooms.forms.records import (
    FORMED,
    ClozeQuestion,
    Formed,
    Rejection,
)
from simulrag.errors import ReplyInvalid
from simulrag.records import Question
from simulrag.testing.scripted import ScriptedModel
from tests.rooms.forms.making import MAKER, choice, cloze, reading


@pytest.mark.parametrize(
    ("statement", "term", "found"),
    [
        ("Ozone absorbs light.", "Ozone", "<MASK> absorbs light."),
        ("Light is absorbed by ozone", "ozone", "Light is absorbed by <MASK>"),
        ("Light is absorbed by Ozone.", "ozone", "Light is absorbed by <MASK>."),
        ("Some gases (ozone), absorb.", "ozone", "Some gases (<MASK>), absorb."),
        ("Ozone-rich air absorbs.", "ozone", "<MASK>-rich air absorbs."),
        ("The optical thickness doubles.", "optical thickness", "The <MASK> doubles."),
        ("It is 1.5 K warmer.", "1.5", "It is <MASK> K warmer."),
        ("It changed by -3 K.", "-3", "It changed by <MASK> K."),
        ("It grew by 5 % then.", "5 %", "It grew by <MASK> then."),
        ("The C++ (a*b)? model ran.", "(a*b)?", "The C++ <MASK> model ran."),
        ("Die Größe wächst.", "größe", "Die <MASK> wächst."),
        ("It is 11.5 K warmer.", "1.5", "term_absent"),
        ("It is 1.55 K warmer.", "1.5", "term_absent"),
        ("It is 3.1 K warmer.", "1", "term_absent"),
        ("Ozone absorbs light.", "methane", "term_absent"),
        ("Ozones absorb light.", "ozone", "term_absent"),
        ("Ozone absorbs light.", " ", "term_absent"),
        ("Ozone and ozone.", "Ozone", "term_repeated"),
        ("<MASK> and ozone.", "ozone", "term_repeated"),
        ("Ozone.", "Ozone", "not_self_contained"),
    ],
)
def test_a_term_is_taken_out_once_or_not_at_all(statement: str, term: str, found: str) -> None:
    text = masked(statement, term)
    assert (text.kind if isinstance(text, Rejection) else text) == found


@pytest.mark.parametrize(
    ("question", "given", "kinds"),
    [
        (choice(), (), []),
        (choice("What?", "A rate", "a rate.", "Ozone", "Wind"), (), ["options"]),
        (choice("What?", "Rate", "...", "Ozone", "Wind"), (), ["options"]),
        (
            choice("What?", "-6.5 K", "-6 K", "-7 K", "2 K"),
            (),
            ["options", "options"],
        ),  # at 0 decimals
        (choice("What?", "-6.5 K", "7 K", "-6.4 K", "-6.5 s"), (), []),
        (choice("What?", "The lapse rate of all of the air", "Ice", "Air", "Sun"), (), ["options"]),
        (choice("Is the lapse rate or what else at work?"), (), ["answer_in_question"]),
        (choice("At 6.5 K per km, what decides?"), (), []),
        (choice("At 7 K per km, what decides?"), (), []),  # 6.5 to no decimal
        (choice("At 9.8 K per km, what decides?"), (), ["number_not_in_context"]),
        (choice("At 9.8 K per km, what decides?"), ("9.8 K",), []),
        (choice("What?", "A rate", "5 K", "6 K", "7 K"), (), []),  # wrong options are free
        (MAKER.freeform("base", "What holds?", "42 holds."), (), ["number_not_in_context"]),
        (MAKER.freeform("base", "Was gilt für 氷 und é?", "光\u00a0и лёд"), (), []),
        (cloze(), (), []),
    ],
)
def test_structure_and_numbers(question: Formed, given: tuple[str, ...], kinds: list[str]) -> None:
    assert [found.kind for found in structure(question, given)] == kinds


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("What decides the forcing here?", True),
        ("What decides the forcing at 5 %?", False),  # another number is another question
        ("Who was the first to measure it, and how?", False),
    ],
)
def test_a_question_repeats_another_by_its_words(other: str, same: bool) -> None:
    assert (repeats(choice(other), [choice()]) is not None) is same
    assert repeats(cloze(), [choice(other)]) is None


@pytest.mark.parametrize(
    ("said", "own", "kinds"),
    [
        ({}, "right", []),
        ({"mentions_source": True}, "right", ["context_mentioned"]),
        ({"needs_figure": True}, "right", ["figure_reference"]),
        ({"self_contained": False}, "right", ["not_self_contained"]),
        ({"answerable": False}, "right", ["not_answerable"]),
        ({"gives_answer": True}, "right", ["answer_in_question"]),
        ({"same_answer": False}, "right", []),  # of letters code decides
        ({}, "none", ["inconsistent"]),
        ({}, "several", ["inconsistent"]),
        ({"probability": 0.49}, "right", ["invalid"]),
    ],
)
async def test_what_a_model_reads(said: dict[str, object], own: str, kinds: list[str]) -> None:
    question = choice()
    letter = "abcd"[question.answer] if own == "right" else own
    model = ScriptedModel(
        {"answers": [{"index": 0, "answer": letter}]}, {"questions": [reading(**said)]}
    )
    (found,) = await audited(model, [question])
    assert [one.kind for one in found.valid.rejections] == kinds


async def test_a_reader_answers_options_by_a_letter_and_each_question_once() -> None:
    for reply in ([{"index": 0, "answer": "c or d"}], [], [{"index": 1, "answer": "a"}]):
        with pytest.raises(ReplyInvalid):
            await audited(ScriptedModel(*[{"answers": reply}] * 3), [choice()])
    assert await audited(ScriptedModel(), []) == []


async def test_a_question_that_a_reply_left_out_is_asked_about_alone() -> None:
    three = [cloze(), choice(), cloze()]
    model = ScriptedModel(
        {"answers": [{"index": 0, "answer": "x"}, {"index": 2, "answer": "x"}]},
        {"answers": [{"index": 0, "answer": "none"}]},
        {"questions": [reading(), reading(index=2)]},
        {"questions": [reading()]},
    )
    found = await audited(model, three)
    assert [len(cast("list[Any]", one["questions"])) for one in model.asked] == [3, 1, 3, 1]
    assert [len(one.valid.rejections) > 0 for one in found] == [False, True, False]


def test_questions_of_all_forms_are_read_by_their_form() -> None:
    for question in (choice(), cloze(), MAKER.freeform("reasoning", "Why?", "So.")):
        text = question.model_dump_json()
        assert FORMED.validate_json(text) == question
    plain = Question(question_id="q", domain="d", text="t", reference_answer="r", scenario_id="s")
    with pytest.raises(ValidationError, match="form"):
        FORMED.validate_json(plain.model_dump_json())


@pytest.mark.parametrize("text", ["no mask", "<MASK> and <MASK>"])
def test_a_cloze_has_one_mask(text: str) -> None:
    with pytest.raises(ValidationError, match="one <MASK>"):
        ClozeQuestion(question_id="q", scenario_id="s", source="d", text=text, answer="x")
