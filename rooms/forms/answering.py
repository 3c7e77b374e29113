"""A question of one form answered under a condition: from nothing, a library, a simulator, both."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from rooms.forms.records import (
    LETTERS,
    ChoiceQuestion,
    Condition,
    Form,
    FormAnswer,
    Formed,
)
from simulrag.errors import ModelError
from simulrag.method.retrieval import retrieve
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.task import Task


class ChosenOption(Reply):
    """Reply to ``forms_answer_choice``."""

    letter: Literal["a", "b", "c", "d"]


class ShortAnswer(Reply):
    """Reply to ``forms_answer_freeform``."""

    answer: Text


class GivenTerm(Reply):
    """Reply to ``forms_answer_cloze``."""

    term: Annotated[Text, Field(max_length=200)]


TASKS: Mapping[Form, Task] = {
    "choice": Task("forms_answer_choice", ChosenOption, tokens=40),
    "freeform": Task("forms_answer_freeform", ShortAnswer, tokens=40),
    "cloze": Task("forms_answer_cloze", GivenTerm, tokens=40),
}


def shown_order(question: Formed, seed: int) -> tuple[int, ...]:
    """The options' indices as they are shown: one order a question, the same in all conditions."""
    if not isinstance(question, ChoiceQuestion):
        return ()
    order = list(range(len(question.options)))
    random.Random(f"{seed} {question.question_id}").shuffle(order)  # noqa: S311 no secret
    return tuple(order)


async def answer_question(
    question: Formed,
    condition: Condition,
    ask: Asker,
    simulations: Simulations | None,
    *,
    seed: int,
    simulator_seed: int = 0,
    max_attempts: int = 2,
) -> FormAnswer:
    """Look up evidence, where the condition has any, and answer in the question's form.

    A source that says it does not apply leaves the question to what the model knows. A failed
    look-up or a reply that cannot be used fails the answer. Raises CallsPending where calls wait.
    """
    order = shown_order(question, seed)
    options = [question.options[i] for i in order] if isinstance(question, ChoiceQuestion) else []
    found = FormAnswer(
        question_id=question.question_id,
        scenario_id=question.scenario_id,
        form=question.form,
        level=question.level,
        condition=condition,
        order=order,
    )
    try:
        if simulations is not None:
            asked = "\n".join([question.text, *map("{}: {}".format, LETTERS, options)])
            retrieval = await retrieve(
                asked, ask, simulations, max_attempts=max_attempts, seed=simulator_seed
            )
            found = found.model_copy(update={"retrieval": retrieval})
            if retrieval.status == "failed":
                reason = f"no evidence: {'; '.join(retrieval.problems)}"
                return found.model_copy(update={"failure": reason})
        context = "\n\n".join(item.text for item in found.evidence)
        told = await ask.ask(
            TASKS[question.form],
            question=question.text,
            context=context,
            options=options,
        )
    except ModelError as error:
        return found.model_copy(update={"failure": str(error)})
    return found.model_copy(update=_read(told.parsed, question, order))


def _read(reply: Reply, question: Formed, order: tuple[int, ...]) -> dict[str, object]:
    if isinstance(reply, ChosenOption) and isinstance(question, ChoiceQuestion):
        chosen = order[LETTERS.index(reply.letter)]
        return {"chosen": chosen, "answer": question.options[chosen]}
    return {"answer": reply.term if isinstance(reply, GivenTerm) else getattr(reply, "answer", "")}
