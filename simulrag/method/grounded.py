"""The grounded method: an answer is written from the evidence, then checked claim by claim.

It begins where input-layer RAG ends. Every claim of its text is held against the runs; for those
that are open and that a run could decide further runs are asked for, once. The text stays as it was
written unless something in it is wrong, or missing: then it is mended, by the smallest change.
Beside it stand, where ``beside`` asks for them, the published method and RAG, on the same evidence.
A text from anywhere is checked in the same way (``check_given``). Its claims tell which runs would
decide them. Nothing is known before, so the question that the text answers, or the situation that
it speaks of, says what the runs are of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulrag.errors import InputError, ModelError
from simulrag.marks import Place, place_of, places_of
from simulrag.method import paper
from simulrag.method.answering import closed_book_answers, from_evidence
from simulrag.method.asking import together
from simulrag.method.audit import Mended, audit_text, mend_text, wrong_claims
from simulrag.method.claims import decompose_final
from simulrag.method.recipes import FinalKind, Recipe
from simulrag.method.retrieval import retrieve, second_look
from simulrag.method.settings import MethodSettings
from simulrag.method.steps import (
    Backends,
    QuestionState,
    retrieve_evidence,
    step,
    verify,
    verify_selected,
)
from simulrag.method.verification import verify_claims
from simulrag.models.base import Asker, Counted
from simulrag.records import (
    Answer,
    AnswerVariant,
    Audit,
    AuditedClaim,
    FinalText,
    Question,
    Retrieval,
    Selection,
    Standing,
    Statement,
    Verdict,
)

LINE = AnswerVariant(method="grounded", samples=1)
BESIDE = "beside: "
"""Before the name of a failed step of what the answer is compared with."""
FOUND: tuple[Standing, ...] = ("checked", "corrected", "added")
"""Standings of what runs stand behind."""


async def draft(question: Question, use: Backends, settings: MethodSettings) -> Answer:
    """Evidence, an answer written from it, and the audit of its claims.

    Failures and what waits as in ``paper.draft``; where the audit fails the text is kept.
    """
    work = QuestionState(question, use)
    work.note(final=FinalText(line=LINE))
    with work.ending():
        await together([_written_and_audited(work, settings), _compared_draft(work, settings)])
        if "paper" in settings.beside and settings.verify == "all":
            with work.adding(BESIDE):
                await verify(work, range(len(work.answer.claims)), settings)
    return work.answer


async def _written_and_audited(work: QuestionState, settings: MethodSettings) -> None:
    await retrieve_evidence(work, settings, settings.looks)
    own = Counted(work.ask)
    with step("answer"):
        text = await _text(work, own)
    work.note(final=FinalText(line=LINE, text=text, usage=own.usage))
    if work.answer.context:
        audit = await audited(work, text, own)
        work.note(audit=audit, final=FinalText(line=LINE, text=text, usage=own.usage))


async def audited(work: QuestionState, text: str, ask: Asker) -> Audit:
    """Hold a text against the evidence, and against what the simulator could run further."""
    simulator = work.use.simulations.simulator
    tools = {} if simulator.oracle else simulator.tools
    with step("audit"):
        return await audit_text(work.text, text, work.answer.evidence, tools, ask)


async def _text(work: QuestionState, ask: Asker) -> str:
    """Input-layer RAG's answer; without evidence the closed-book one."""
    if work.answer.context:
        return await from_evidence(work.text, work.answer.context, ask)
    (text,) = await closed_book_answers(work.text, ask, 1)
    return text


async def _compared_draft(work: QuestionState, settings: MethodSettings) -> None:
    """Gather what the methods beside it need of the question and of no evidence."""
    with work.adding(BESIDE):
        if "paper" in settings.beside:
            await paper.find_claims(work, settings)
        elif "rag" in settings.beside:
            with step("answer"):
                work.note(closed_book=await closed_book_answers(work.text, work.ask, 1))


def choose(drafts: Sequence[Answer], settings: MethodSettings) -> list[tuple[Selection, ...]]:
    """Choose what budgets buy of the published method, where it stands beside; nothing else."""
    if "paper" in settings.beside:
        return paper.choose(drafts, settings)
    return [()] * len(drafts)


async def conclude(
    question: Question,
    begun: Answer,
    choices: Sequence[Selection],
    use: Backends,
    settings: MethodSettings,
) -> Answer:
    """Look further for what is open, mend the text, mark it, and write what stands beside it.

    A draft that failed stays as it is. Raises CallsPending as ``draft`` does.
    """
    if begun.failure is not None:
        return begun
    work = QuestionState(question, use, begun)
    with work.ending():
        await together([_concluded(work, settings), _beside(work, choices, settings)])
    return work.answer


async def _concluded(work: QuestionState, settings: MethodSettings) -> None:
    audit, final = work.answer.audit, work.answer.final
    if audit is None:
        return
    own = Counted(work.ask, final.usage)
    with work.adding():
        audit = await _looked_again(work, audit, own, settings)
    note_statements(work, audit, await _mended(work, audit, own))
    usage = dict(sorted(own.usage.items()))
    work.note(final=work.answer.final.model_copy(update={"usage": usage}))


async def _mended(work: QuestionState, audit: Audit, ask: Asker) -> Mended | None:
    """Mend the text where something is wrong or missing; None where nothing is, or in vain."""
    mended = None
    if wrong_claims(audit) or audit.missing:
        with work.adding(), step("mend"):
            mended = await mend_text(work.text, audit, ask)
    return mended


def note_statements(work: QuestionState, audit: Audit, mended: Mended | None) -> None:
    """Note the audit, and the text as it was audited or mended, with its statements."""
    text = audit.text if mended is None else mended.text
    statements = statements_of(audit, mended)
    work.note(
        audit=audit,
        final=work.answer.final.model_copy(update={"text": text, "statements": statements}),
        verified=any(statement.standing in FOUND for statement in statements),
    )


async def _looked_again(
    work: QuestionState, audit: Audit, ask: Asker, settings: MethodSettings
) -> Audit:
    """Decide by further runs what the audit left open, if a look is left."""
    retrieval = work.answer.retrieval
    left = [
        at for at, claim in enumerate(audit.claims) if claim.status == "open" and claim.runnable
    ]
    if not left or retrieval is None or len(retrieval.looks) >= settings.looks:
        return audit
    texts = [audit.claims[at].claim for at in left]
    runs, seed = work.use.simulations, work.use.seed
    with step("second_look"):
        looked = await second_look(
            work.text, texts, retrieval, ask, runs, seed=seed, most=settings.runs
        )
    new = tuple(range(len(retrieval.evidence), len(looked.evidence)))
    if new and not retrieval.looks:  # nothing was planned: what was there is the first look
        looked = looked.model_copy(update={"looks": (len(retrieval.evidence),)})
    problems = looked.problems[len(retrieval.problems) :]
    audit = audit.model_copy(update={"problems": (*audit.problems, *problems)})
    work.note(retrieval=looked, simulator_runs=len(looked.evidence))
    if not new:
        return audit
    size = max(2, settings.claims_per_call.verify)
    with step("verify"):
        verdicts = await verify_claims(work.text, texts, looked.context, ask, claims_per_call=size)
    claims = list(audit.claims)
    for at, verdict in zip(left, verdicts, strict=True):
        claims[at] = _decided(claims[at], verdict, new)
    return audit.model_copy(update={"claims": tuple(claims)})


def _decided(claim: AuditedClaim, verdict: Verdict, runs: tuple[int, ...]) -> AuditedClaim:
    """Decide an open claim by further runs, where they decide it."""
    if verdict.status == "aligned":
        update = {"status": "supported", "runs": runs, "runnable": False}
    elif verdict.status == "contradicted":
        correction = verdict.updated_claim
        update = {"status": "wrong", "runs": runs, "correction": correction, "runnable": False}
    else:
        return claim
    return claim.model_copy(update=update)


async def _beside(
    work: QuestionState, choices: Sequence[Selection], settings: MethodSettings
) -> None:
    """Write the answers to compare with, by the evidence that each of them would have."""
    begun = work.answer
    if not settings.beside or any(one.step.startswith(BESIDE) for one in begun.failed_steps):
        return
    with work.adding(BESIDE):
        await verify_selected(work, choices, settings)
        baselines = await paper.compared(work, choices, choices, settings)
        if "rag" in settings.beside and begun.retrieval is not None and begun.retrieval.looks:
            usage = begun.final.usage
            written = {task: used for task, used in usage.items() if task == "input_rag"}
            line = AnswerVariant(method="rag_looks", samples=1)
            baselines = (*baselines, FinalText(line=line, text=begun.final.text, usage=written))
        work.note(baselines=baselines)


@dataclass(frozen=True)
class _Located:
    """A statement before it has its place: what is looked for, or where it is known to be."""

    statement: Statement
    place: Place | None


def statements_of(audit: Audit, mended: Mended | None) -> tuple[Statement, ...]:
    """List what an audited text says, in its order; what has no place in it comes last.

    ``mended`` None: the text is the one that was audited. What mending took out of it, such as the
    reason of a wrong result, is said no more and left out.
    """
    text = audit.text if mended is None else mended.text
    located = list(_statements(audit, text, mended))
    located.sort(key=lambda item: (item.place is None, item.place or (0, 0)))
    return tuple(
        item.statement
        if item.place is None
        else item.statement.model_copy(
            update={
                "start": item.place[0],
                "end": item.place[1],
                "quote": text[item.place[0] : item.place[1]],
            }
        )
        for item in located
    )


def _statements(audit: Audit, text: str, mended: Mended | None) -> Iterator[_Located]:
    corrected = iter(mended.corrected if mended is not None else ())
    changed = [claim.status == "wrong" and mended is not None for claim in audit.claims]
    quotes = [
        next(corrected) if new else claim.quote
        for new, claim in zip(changed, audit.claims, strict=True)
    ]
    for new, claim, place in zip(changed, audit.claims, places_of(quotes, text), strict=True):
        if place is None and place_of(claim.quote, audit.text) is not None:
            continue
        if new:
            statement = Statement(
                text=claim.correction, standing="corrected", runs=claim.runs, before=claim.claim
            )
        else:
            statement = Statement(
                text=claim.claim,
                standing=_standing(claim),
                runs=claim.runs,
                quote=claim.quote,
                correction=claim.correction or None,
            )
        yield _Located(statement, place)
    if mended is not None:
        for point, place in zip(audit.missing, mended.added, strict=True):
            yield _Located(Statement(text=point.text, standing="added", runs=point.runs), place)


def _standing(claim: AuditedClaim) -> Standing:
    if claim.status == "supported":
        return "checked"
    if claim.status == "open":
        return "not_run" if claim.runnable else "beyond"
    return claim.status


async def check_given(
    text: str, question: Question, use: Backends, settings: MethodSettings, *, mend: bool
) -> Answer:
    """Audit the text as an answer to the question, by runs made for it, and mark its statements.

    ``mend``: with what is wrong put right and what is missing added. A failure of the model or the
    simulator is the answer's ``failure``, one of mending among its ``failed_steps``. Where no run
    would decide a claim, or the model names none that can be made, nothing is run: no audit, no
    statements. Raises InputError for a simulator
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
            audit = await audited(work, text, work.ask)
            note_statements(work, audit, await _mended(work, audit, work.ask) if mend else None)
    return work.answer


async def _runs(work: QuestionState, text: str, settings: MethodSettings) -> Retrieval:
    """Make the runs that claims of the text send for; published questions have their evidence."""
    simulations, seed = work.use.simulations, work.use.seed
    if simulations.simulator.oracle:
        with step("retrieve"):
            retrieval = await retrieve(work.text, work.ask, simulations, seed=seed)
            if retrieval.status == "failed":
                raise ModelError("; ".join(retrieval.problems))
            return retrieval
    with step("decompose"):
        claims = await decompose_final(work.text, text, work.ask)
    nothing = Retrieval(status="not_applicable")
    if not claims:
        return nothing
    with step("retrieve"):
        looked = await second_look(
            work.text, claims, nothing, work.ask, simulations, seed=seed, most=settings.runs
        )
        if looked.status == "refused":
            return looked
        if looked.problems and not looked.evidence:
            raise ModelError("; ".join(looked.problems))
    status = "retrieved" if looked.evidence else "not_applicable"
    return looked.model_copy(update={"status": status})


RECIPE = Recipe(
    FinalKind(
        "grounded",
        in_turn=(
            ("plan", "closed_book"),
            ("more_calls",),
            ("input_rag",),
            ("audit",),
            ("second_look",),
            ("verify",),
            ("mend",),
        ),
        shares=("plan", "more_calls"),
        looks="all",
    ),
    draft=draft,
    choose=choose,
    conclude=conclude,
)
