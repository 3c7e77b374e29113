"""Stage ``forms_answer``: a source's questions by form, under every condition.

A condition is what a question is answered from: nothing, a library, a simulator, or both.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from flows.files import record_lines, write_records
from flows.params import Params
from flows.project import Project, Results, out
from flows.running.bench import StageResources
from flows.running.runner import StageContext
from flows.watch.tracking import titled_table
from rooms.forms.corpus import is_corpus
from rooms.forms.files import read_forms
from rooms.forms.records import (
    LETTERS,
    ChoiceQuestion,
    Condition,
    Form,
    FormAnswer,
    Formed,
    answers_file,
    benchmark_file,
    corpus_folder,
)
from rooms.forms.settings import FormsParams
from simulators.base import Simulator
from simulators.registry import load
from simulrag.errors import InputError, ModelError
from simulrag.method.retrieval import retrieve
from simulrag.method.simulation import Simulations
from simulrag.models.base import Asker
from simulrag.models.replies import Reply, Text
from simulrag.stage import Outcome, Stage
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
    """Return the options' indices as shown: one order a question, whatever the condition."""
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
    answer = FormAnswer(
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
            answer = answer.model_copy(update={"retrieval": retrieval})
            if retrieval.status == "failed":
                reason = f"no evidence: {'; '.join(retrieval.problems)}"
                return answer.model_copy(update={"failure": reason})
        context = "\n\n".join(item.text for item in answer.evidence)
        reply = await ask.ask(
            TASKS[question.form],
            question=question.text,
            context=context,
            options=options,
        )
    except ModelError as error:
        return answer.model_copy(update={"failure": str(error)})
    return answer.model_copy(update=_read(reply.parsed, question, order))


def _read(reply: Reply, question: Formed, order: tuple[int, ...]) -> dict[str, object]:
    if isinstance(reply, ChosenOption) and isinstance(question, ChoiceQuestion):
        chosen = order[LETTERS.index(reply.letter)]
        return {"chosen": chosen, "answer": question.options[chosen]}
    return {"answer": reply.term if isinstance(reply, GivenTerm) else getattr(reply, "answer", "")}


Asked = tuple[Formed, Condition]
Chosen = tuple[str, dict[str, JsonValue]]


async def make(at: StageContext) -> Outcome:
    """Answer all questions of a source from nothing and from what evidence it has."""
    questions = read_forms(benchmark_file(at.place, at.item))
    simulators = evidence_of(at.project, at.params, at.item)
    if lacks_corpus(at.params, at.item, simulators):
        raise InputError(
            f"the documents of {at.item} are no corpus yet: run `simulrag stage corpus --domain "
            f"{at.item}` first"
        )
    asked = tasks(questions, simulators)
    async with at.asking(here=True) as bench:
        runs = {name: bench.simulate(simulator) for name, simulator in simulators.items()}
        answer = partial(work, params=at.params, source=at.item, runs=runs)
        answers = await at.over("answer", asked, answer, bench)
        write_records(answers_file(at.place, at.item), answers)
    failures = [answered.failure for answered in answers]
    return Outcome.of(stage_table(at.item, answers), "questions answered", failures)


def tasks(questions: list[Formed], simulators: Mapping[Condition, Simulator]) -> list[Asked]:
    """Pair every question with every condition."""
    conditions: tuple[Condition, ...] = ("nothing", *simulators)
    return [(question, condition) for question in questions for condition in conditions]


async def work(
    bench: StageResources,
    task: Asked,
    params: Params,
    source: str,
    runs: Mapping[Condition, Simulations],
) -> FormAnswer:
    """Answer one question under one condition."""
    (question, condition), wanted = task, params.room(FormsParams)
    return await answer_question(
        question,
        condition,
        bench.gateway,
        runs.get(condition),
        seed=wanted.seed,
        simulator_seed=seed_of(params, source),
        max_attempts=wanted.answer.max_attempts,
    )


def seed_of(params: Params, source: str) -> int:
    """Return the seed of the simulator behind a source's answers; 0 without one."""
    names = params.room(FormsParams).answer.evidence.get(source, (source,))
    choices = [params.simulators[name] for name in names if name in params.simulators]
    return next((choice.seed for choice in choices if choice.name != "library"), 0)


def evidence_of(project: Project, params: Params, source: str) -> dict[Condition, Simulator]:
    """Load what a source's questions are answered from, by condition.

    "nothing" is not among them. Those that ``forms.answer.evidence`` names, else its own documents
    and its own simulator. Raises InputError for names that are unknown, or two of one kind.
    """
    chosen: dict[Condition, Chosen] = {}
    names = params.room(FormsParams).answer.evidence.get(source)
    for entry in names if names is not None else (source,) * (source in params.simulators):
        choice = params.chosen(entry, project.root)
        kind: Condition = "library" if choice[0] == "library" else "simulator"
        if kind in chosen:
            raise InputError(
                f"forms.answer.evidence.{source}: two of the kind {kind}; name one library and one "
                "simulator, or one of them"
            )
        if choice[0] != "replay":  # it knows the open questions of its own file alone
            chosen[kind] = choice
    corpus = corpus_folder(project.results, source)
    if names is None and is_corpus(corpus):
        chosen["library"] = ("library", {"corpus": str(corpus), "retrieves_by": "question"})
    if len(chosen) == 2:
        pair: list[JsonValue] = [
            {"name": chosen[kind][0], "settings": chosen[kind][1]}
            for kind in ("library", "simulator")
        ]
        chosen["both"] = ("joined", {"sources": pair})
    order: tuple[Condition, ...] = ("library", "simulator", "both")
    return {kind: load(*chosen[kind]) for kind in order if kind in chosen}


def lacks_corpus(params: Params, source: str, simulators: Mapping[Condition, Simulator]) -> bool:
    """Return whether the documents of a source are still to become its library."""
    wanted = params.room(FormsParams)
    own = source in wanted.documents and source not in wanted.answer.evidence
    return own and "library" not in simulators


def stage_table(source: str, answers: list[FormAnswer]) -> str:
    """Show the stage as Markdown."""
    rows = []
    for condition in dict.fromkeys(answer.condition for answer in answers):
        done = [answer.failure is None for answer in answers if answer.condition == condition]
        rows.append((condition, sum(done), len(done)))
    failures = [
        (answer.question_id, answer.condition, answer.failure)
        for answer in answers
        if answer.failure
    ]
    columns = ("condition", "answered", "of")
    return titled_table(f"forms_answer {source}", columns, rows, failures)


def failed(place: Results, source: str) -> bool:
    """Return whether a question has no answer under some condition."""
    path = answers_file(place, source)
    return path.is_file() and any(answer.failure for answer in record_lines(path, FormAnswer))


STAGE = Stage(
    name="forms_answer",
    about="questions by form answered from nothing, documents, a simulator, and both",
    make=make,
    over="forms.sources",
    each="source",
    role="answer",
    sections=("simulators", "forms.seed", "forms.answer"),
    reads=("data/simulators", out(corpus_folder), out(benchmark_file)),
    makes=(out(answers_file),),
    failed=failed,
)
