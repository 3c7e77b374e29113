"""What is left of the stages forms_answer and forms_metrics: their own code over what is stored."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from flows.params import Params
from flows.plan.estimate import TaskWork, gate_work
from flows.plan.rehearse import Rehearsal, StoredCalls, StoredRuns
from flows.project import Project
from flows.running.bench import located
from flows.stages.forms_answer import evidence_of, lacks_corpus, seed_of, tasks
from flows.stages.forms_metrics import judging
from simulrag.errors import CallsPending
from simulrag.judging.entailment import TASK, judge
from simulrag.models.prompts import Prompts
from simulrag.questions.forms.answering import TASKS, answer_question
from simulrag.questions.forms.published import read_forms

FormsStage = Literal["forms_answer", "forms_metrics"]
FORMS_ROLES: dict[FormsStage, Literal["answer", "judge"]] = {
    "forms_answer": "answer",
    "forms_metrics": "judge",
}


async def forms_work(
    project: Project, params: Params, cache: StoredCalls, source: str
) -> dict[FormsStage, list[TaskWork]]:
    """What is left, by stage and task; of questions that are not there yet, thirds are assumed."""
    prompts, params = Prompts(project.prompts, params.prompts), judging(params)
    gates = {
        stage: Rehearsal(located(project, params.model(role)), cache, prompts)
        for stage, role in FORMS_ROLES.items()
    }
    simulators = evidence_of(project, params, source)
    handbook = max((one.handbook() for one in simulators.values()), key=len, default="")
    runs = {name: StoredRuns(one, cache) for name, one in simulators.items()}
    conditions: list[str] = ["nothing", *simulators]
    if lacks_corpus(params, source, simulators):
        conditions += ["library", "both"][: len(conditions)]
    asking = len({"simulator", "both"} & set(conditions))
    path, wanted, free = project.results.forms_benchmark(source), params.forms, 0.0
    per_answer = {"logprobs": 1, "sampled": wanted.metrics.samples, "off": 0}
    if path.is_file():
        questions = read_forms(path)
        for question, condition in tasks(questions, simulators):
            free += question.form == "freeform"
            with suppress(CallsPending):
                answer = await answer_question(
                    *(question, condition, gates["forms_answer"], runs.get(condition)),
                    seed=wanted.seed,
                    simulator_seed=seed_of(params, source),
                    max_attempts=wanted.answer.max_attempts,
                )
                if question.form == "freeform" and answer.failure is None:
                    await judge(
                        *(question.answer_text, answer.answer, gates["forms_metrics"]),
                        *(wanted.metrics.factual, wanted.metrics.samples, 0.0),
                    )
        counts = {form: float(sum(one.form == form for one in questions)) for form in TASKS}
    else:
        parts = (source in wanted.documents) + (source in params.simulators)
        counts = dict.fromkeys(TASKS, wanted.questions * parts / 3)
        free = counts["freeform"] * len(conditions)
    expected = {TASKS[form].name: count * len(conditions) for form, count in counts.items()}
    expected["tool_calls"] = sum(counts.values()) * asking
    judged = {TASK.name: free * per_answer[wanted.metrics.factual]}
    if path.is_file() and not gates["forms_answer"].missing:  # all that is left is known
        expected, judged = {}, {}
    return {
        "forms_answer": gate_work(
            gates["forms_answer"], f"forms_answer@{source}", expected, handbook
        ),
        "forms_metrics": gate_work(gates["forms_metrics"], f"forms_metrics@{source}", judged),
    }
