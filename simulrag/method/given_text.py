"""A text from anywhere, checked as the grounded method checks its own.

Its claims tell which runs would decide them. Nothing is known before, so the question that the text
answers, or the situation that it speaks of, says what the runs are of.
"""

from __future__ import annotations

from simulrag.errors import InputError, ModelError
from simulrag.method.decomposition import decompose_final
from simulrag.method.grounded import LINE, audited, mended_where_needed, note_statements
from simulrag.method.retrieval import retrieve, second_look
from simulrag.method.settings import MethodSettings
from simulrag.method.steps import Backends, QuestionState, step
from simulrag.records import Answer, FinalText, Question, Retrieval


async def check_given(
    text: str, question: Question, use: Backends, settings: MethodSettings, *, mend: bool
) -> Answer:
    """The text as an answer to the question: its audit by runs made for it, and its statements.

    ``mend``: with what is wrong put right and what is missing added. A failure of the model or the
    simulator is the answer's ``failure``, one of mending a problem of its audit. Where no run would
    decide a claim, nothing is run: no audit, no statements. Raises InputError for a simulator
    without tools, CallsPending where calls wait for a batch.
    """
    simulator = use.simulations.simulator
    if not simulator.tools:
        raise InputError(f"{simulator.name} has no tool, so nothing can be run to check a text")
    work = QuestionState(question, use)
    work.note(final=FinalText(line=LINE, text=text))
    with work.ending():
        retrieval = await _runs(work, text, settings)
        work.note(retrieval=retrieval, simulator_runs=len(retrieval.evidence))
        if retrieval.evidence:
            audit, mended = await audited(work, text, work.ask), None
            if mend:
                audit, mended = await mended_where_needed(work.text, audit, work.ask)
            note_statements(work, audit, mended)
    return work.answer


async def _runs(work: QuestionState, text: str, settings: MethodSettings) -> Retrieval:
    """What the claims of the text send for; of published questions their own evidence."""
    simulations, seed = work.use.simulations, work.use.seed
    if simulations.simulator.oracle:
        with step("retrieve"):
            found = await retrieve(work.text, work.ask, simulations, seed=seed)
            if found.status == "failed":
                raise ModelError("; ".join(found.problems))
            return found
    with step("decompose"):
        claims = await decompose_final(work.text, text, work.ask)
    nothing = Retrieval(status="not_applicable")
    if not claims:
        return nothing
    with step("retrieve"):
        looked = await second_look(
            work.text, claims, nothing, work.ask, simulations, seed=seed, most=settings.runs
        )
        if looked.problems and not looked.evidence:
            raise ModelError("; ".join(looked.problems))
    status = "retrieved" if looked.evidence else "not_applicable"
    return looked.model_copy(update={"status": status})
