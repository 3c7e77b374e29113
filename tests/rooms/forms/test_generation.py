"""Questions by form from seeds: passages and scenarios, their order, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rooms.forms.documents import (
    Documents,
    contexts_of,
    from_documents,
    seed_passages,
)
from rooms.forms.generation import Made, generate
from rooms.forms.records import ChoiceQuestion, SourceText
from rooms.forms.runs import from_runs
from simulrag.calls import CallCache
from simulrag.errors import InputError, ModelUnavailable, ReplyRefused, ReplyTruncated
from simulrag.method.numbers import numbers
from simulrag.method.simulation import Simulations
from simulrag.questions.records import Template
from simulrag.testing.scripted import ScriptedModel
from tests.rooms.forms.making import reading

WORDS = ("lapse", "ozone", "albedo", "aerosol", "monsoon", "isostasy")
PASSAGES = [
    SourceText(id=word, text=f"Of {word} it holds that {word} matters. " * 6) for word in WORDS
]


def library(*scores: tuple[int, float], passages: list[SourceText] = PASSAGES) -> Documents:
    return Documents(passages, lambda _, count: scores[:count])


def test_seeds_come_once_each_in_an_order_of_the_seed() -> None:
    first = seed_passages(library(), 1)
    assert sorted(first) == list(range(len(WORDS)))
    assert first == seed_passages(library(), 1) != seed_passages(library(), 2)
    short = [SourceText(id="s", text="A heading"), *PASSAGES[:1]]
    assert seed_passages(library(passages=short), 1) == [1]
    with pytest.raises(InputError, match="nothing to ask about"):
        seed_passages(library(passages=short[:1]), 1)


@pytest.mark.parametrize(
    ("ranked", "threshold", "ids"),
    [
        ([(1, 9.0), (0, 8.0), (2, 5.0), (3, 1.0)], 0.4, ["lapse", "ozone", "albedo"]),
        ([(0, 8.0), (2, 5.0), (3, 4.0), (4, 4.0)], 0.4, ["lapse", "albedo", "aerosol"]),
        ([(0, 8.0), (2, 5.0)], 0.9, ["lapse"]),  # nothing passes
        ([(2, 5.0)], 0.4, ["lapse"]),  # the seed itself is not found: no measure
        ([], 0.4, ["lapse"]),
    ],
)
def test_contexts_leave_the_seed_out_by_its_id(
    ranked: list[tuple[int, float]], threshold: float, ids: list[str]
) -> None:
    found = contexts_of(library(*ranked), 0, 2, threshold)
    assert [context.id for context in found] == ids


def writer(**spoiled: Any) -> Callable[[str, dict[str, object]], object]:
    """A model that writes of the word in its passage; ``spoiled``: a task's reply."""

    def reply(task: str, values: dict[str, Any]) -> object:
        if task in spoiled:
            return spoiled[task]
        if task == "forms_term":
            return {"term": "certainly"}
        if task in ("forms_own_answers", "forms_audit"):
            return read(task, values["questions"])
        word = str(values["contexts"][0]).split()[1]
        about = f"{word} {values['level']} {values['form']}"
        if values["form"] == "cloze":
            return {"statement": f"The {about} is certainly there."}
        if values["form"] == "freeform":
            return {"question": f"What of {about}?", "answer": f"It matters to {word}."}
        return {
            "question": f"Which of {about}?",
            "correct": f"right {word}",
            "distractors": ["no", "never", "perhaps"],
        }

    def read(task: str, questions: list[Any]) -> object:
        if task == "forms_audit":
            return {"questions": [reading(i) for i in range(len(questions))]}
        letters = [
            next((line.strip()[0] for line in text.split("\n") if ") right" in line), "a")
            for text in questions
        ]
        return {"answers": [{"index": i, "answer": one} for i, one in enumerate(letters)]}

    return reply


async def made(n: int, **spoiled: Any) -> Made:
    model = ScriptedModel(by_task=writer(**spoiled))
    seeds = from_documents(library(), model, "notes", seed=1, contexts=2, threshold=0.4)
    return await generate(model, seeds, "notes", n=n)


async def test_forms_and_levels_take_turns_and_a_larger_number_keeps_the_first_ones() -> None:
    few, all_of_them = await made(5), await made(18)
    assert all_of_them.questions[:5] == few.questions
    assert all_of_them.summary.by_form == {
        "choice base": 3,
        "choice hypothetical": 1,
        "choice reasoning": 2,
        "cloze base": 6,
        "freeform base": 3,
        "freeform hypothetical": 1,
        "freeform reasoning": 2,
    }
    assert len({one.scenario_id for one in all_of_them.questions}) == len(WORDS)
    assert len({one.question_id for one in all_of_them.questions}) == 18
    assert not all_of_them.refused
    with pytest.raises(InputError, match="0 questions"):
        await made(0)


@pytest.mark.parametrize(
    ("task", "reply", "kind"),
    [
        ("forms_term", {"term": "absent"}, "term_absent"),
        ("forms_term", ReplyRefused("no"), "refused"),
        ("forms_write", ReplyTruncated("cut"), "truncated"),
        (
            "forms_write",
            {"question": "What?", "correct": "a", "distractors": ["b"]},
            "invalid_reply",
        ),
        (
            "forms_write",
            {"question": "What?", "correct": "a", "distractors": list("bcde")},
            "invalid_reply",
        ),
        ("forms_audit", {"questions": []}, "invalid_reply"),
        ("forms_own_answers", ReplyRefused("no"), "refused"),
    ],
)
async def test_what_stays_unusable_is_refused_and_counted(
    task: str, reply: object, kind: str
) -> None:
    found = await made(3, **{task: reply})
    assert kind in found.summary.rejected_by_reason
    assert found.summary.seeds > 1
    assert all(not one.rejections for one in (question.valid for question in found.questions))


async def test_no_more_than_three_times_the_seeds_are_drawn() -> None:
    found = await made(3, forms_audit=ReplyRefused("no"))
    assert (found.summary.seeds, found.summary.accepted, found.summary.rejected) == (3, 0, 9)
    assert not found.summary.exhausted
    assert (await made(18, forms_audit=ReplyRefused("no"))).summary.exhausted


async def test_a_provider_that_is_not_reached_ends_it() -> None:
    with pytest.raises(ModelUnavailable):
        await made(3, forms_audit=ModelUnavailable("down"))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    with CallCache(tmp_path, stage="test") as opened:
        yield opened


async def test_answers_from_runs_are_computed_and_wrong_options_are_neighbours_that_ran(
    cache: CallCache, corridor: Any, template: Template
) -> None:
    simulations = Simulations(corridor, cache)
    asked: list[dict[str, Any]] = []

    def reply(task: str, values: dict[str, Any]) -> object:
        if task != "forms_run":
            return writer()(task, values)
        asked.append(values)
        told = f"{values['situation']} ({values['level']})"
        if values["form"] == "cloze":
            return {"statement": f"{told} The effect counts as {values['result']}."}
        if values["form"] == "choice":
            return {"question": f"{told} Which?"}
        return {"question": f"{told} What?", "answer": f"It is {values['result']}."}

    model = ScriptedModel(by_task=reply)
    seeds = from_runs([template], simulations, model, "corridor", seeds=4, seed=1)
    written = [one for seed in seeds for one in (await seed.write()).questions]
    assert [getattr(one, "form", one) for one in written] == [
        *("choice", "choice", "cloze", "freeform", "freeform", "cloze") * 2
    ]
    first = written[0]
    assert isinstance(first, ChoiceQuestion)
    assert len(set(first.options)) == 4
    (rate,) = numbers(first.answer_text)
    assert any(rate.repeats(number) for number in numbers(first.contexts[0].text))
    assert simulations.runs > len(seeds)  # neighbours among them
    assert {values["result"] for values in asked if values["form"] == "cloze"} <= {
        *("minor", "moderate", "significant", "small", "medium", "large")
    }
    made = await generate(model, seeds, "corridor", n=6)
    assert made.summary.rejected_by_reason.keys() <= {"inconsistent"}  # the scripted reader guesses


async def test_a_run_that_fails_is_a_rejection(
    cache: CallCache, make_corridor: Any, template: Template
) -> None:
    simulations = Simulations(make_corridor(failing_below=2), cache)
    seeds = from_runs([template], simulations, ScriptedModel(), "corridor", seeds=2, seed=1)
    found = await generate(ScriptedModel(), seeds, "corridor", n=3)
    assert (found.summary.accepted, found.summary.rejected_by_reason) == (0, {"simulator": 2})
