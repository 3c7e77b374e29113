"""What is left of the stage ``forms_benchmark``, by its own code over what is stored."""

from __future__ import annotations

from contextlib import suppress

from flows.params import Params
from flows.plan.estimate import TaskWork, gate_work
from flows.plan.rehearse import Rehearsal, StoredCalls, StoredRuns
from flows.project import Project
from flows.running.bench import located
from flows.stages.corpus import is_corpus
from flows.stages.forms_benchmark import made_of, simulator_of
from simulrag.errors import CallsPending
from simulrag.models.prompts import Prompts
from simulrag.questions.forms.generation import PER_SEED

DRAWN = 1.2
"""Seeds written of for each that would do: audits refuse some questions."""


async def forms_benchmark_work(
    project: Project, params: Params, cache: StoredCalls, source: str
) -> list[TaskWork]:
    """What is left, by task."""
    settings = located(project, params.model("benchmark"))
    gate = Rehearsal(settings, cache, Prompts(project.prompts, params.prompts))
    simulator = simulator_of(project, params, source)
    handbook = simulator.handbook() if simulator is not None else ""
    runs = StoredRuns(simulator, cache) if simulator is not None else None
    corpus = project.results.corpus(source)
    documents = source in params.forms.documents
    seeds = DRAWN * params.forms.questions / PER_SEED
    read = seeds * (documents + (runs is not None))
    expected = {"forms_own_answers": read, "forms_audit": read}
    if documents:
        expected |= {"forms_write": PER_SEED * seeds, "forms_term": seeds}
    if runs is not None:
        expected |= {"benchmark_templates": 1, "forms_run": PER_SEED * seeds}
    if is_corpus(corpus) == documents:
        with suppress(CallsPending):
            await made_of(gate, runs, params, source, corpus)
            expected = {}
    return gate_work(gate, f"forms_benchmark@{source}", expected, handbook)
