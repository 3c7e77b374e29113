"""What answering cost, and what each method would cost by itself.

Experiments verify every claim once and take every method x budget from that. A method by itself
would pay for its own steps and its own selection only: counted here by step, a question, from the
usage that the answers record, paid for now or replayed. Failed questions cost too. Clock time is in
no record, because records are the same on every machine; prices are no part of them either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simulrag.metrics.bill import Bill
from simulrag.metrics.data import Answered, DomainData, FinalLine, Written
from simulrag.metrics.exports import Estimated
from simulrag.metrics.intervals import Floats
from simulrag.metrics.names import (
    CLOSED_BOOK,
    EXPECTED,
    FINAL,
    NO_RAG,
    OURS,
    SIMULRAG,
    UE_SBA,
    VERBALIZED,
    VERBALIZED_BY_CENTRALITY,
)
from simulrag.metrics.plan import Setting, development, plans_of
from simulrag.metrics.registry import metric
from simulrag.metrics.table import Measurement

_SAMPLED = ("closed_book", "decompose", "merge", "joint")
_RANKED_BY_AGREEMENT = (*_SAMPLED, "entailment", "final")
_RANKED_BY_STATEMENT = (*_SAMPLED, "verbalized", "final")
_OWN = (*_SAMPLED, "entailment", "boundary", "tool_calls")
"""The steps that SimulRAG's final answers of one m share, whatever their budget."""
_BY_SUBJECT = (*_OWN, "subjects")
"""The same of the methods that group claims by what they are about."""
_WRITING = ("final", "final_reconciled", "uncovered")
"""What writes an answer from claims."""


def _estimates(data: DomainData) -> Mapping[str, Estimated]:
    return data.exported["answer"].tasks if "answer" in data.exported else {}


@metric("cost")
def cost(data: DomainData) -> Iterator[Measurement]:
    """Calls and tokens by task, and simulator runs: the mean of all questions.

    Calls count whether they were paid for now or came from the cache.
    """
    bill = Bill(_estimates(data))
    for answer in data.answers:
        for task, usage in answer.usage.items():
            bill.add(task, usage)
        bill.runs += answer.simulator_runs
    yield from bill.rows(Measurement(family="cost", domain=data.domain), len(data.answers))


@metric("method_cost")
def method_cost(data: DomainData) -> Iterator[Measurement]:
    """A row a step for every method x budget of the claim level, and for every final answer.

    Methods that cannot be measured have no cost either. no-RAG runs no simulator; every other
    claim-level method runs it for each question, as Algorithm 1 does; all write one final answer a
    question. A Random line is its seeds' mean.
    """
    for setting in plans_of(data)[data.settings.centrality]:
        if not setting.reason:
            place = Measurement(
                family="method_cost",
                domain=data.domain,
                method=setting.method,
                budget_percent=setting.budget_percent,
                level="claim",
            )
            yield from _of_selection(data, setting).rows(place, len(data.answers))
    for line, bill in _of_answers(data).items():
        place = Measurement(
            family="method_cost",
            domain=data.domain,
            method=line.name,
            budget_percent=line.budget_percent,
            level="answer",
            samples=line.samples,
            kappa=line.kappa,
        )
        yield from bill.rows(place, len(data.answers))


def _of_selection(data: DomainData, setting: Setting) -> Bill:
    bill = Bill(_estimates(data))
    taken = _selected_a_question(data, setting)
    learnt = development(data) & (setting.method == EXPECTED)  # on all verdicts of these
    for place, answer in enumerate(data.answers):
        verified = answer.verdicts and answer.completed
        share = float(taken[place]) / answer.verdicts if verified else 0.0
        if verified and learnt[place]:
            share = 1.0
        _charge(bill, answer, _steps(setting.method), share)
        if setting.method != NO_RAG:
            _charge(bill, answer, ("tool_calls",), 0.0)
            bill.runs += answer.simulator_runs
    return bill


def _of_answers(data: DomainData) -> dict[FinalLine, Bill]:
    """The answer's own final text, one sample by itself, and the baselines'."""
    bills: dict[FinalLine, Bill] = {}

    def bill(line: FinalLine) -> Bill:
        return bills.setdefault(line, Bill(_estimates(data)))

    for answer in data.answers:
        ours = bill(answer.line)
        _charge(ours, answer, (*_shared(answer.line), *_WRITING), answer.verified)
        ours.runs += answer.simulator_runs
        one = bill(FinalLine("closed_book", 1))
        _charge(one, answer, ("closed_book",), 0.0, 1 / answer.samples)
        for written in answer.baselines:
            _charge_baseline(bill(written.line), answer, written)
    return bills


def _charge_baseline(bill: Bill, answer: Answered, written: Written) -> None:
    """Its own calls, and the part of the shared ones that m of the samples stand for."""
    for task, usage in written.usage.items():
        bill.add(task, usage, step=_step_of(task))
    name, part = written.line.name, written.line.samples / answer.samples
    if name != CLOSED_BOOK:
        _charge(bill, answer, ("tool_calls",), 0.0)
        bill.runs += answer.simulator_runs
    if name == CLOSED_BOOK:
        _charge(bill, answer, _SAMPLED, 0.0)
    elif name == FINAL["output_rag"]:
        _charge(bill, answer, ("closed_book",), 0.0, part)
    elif name in OURS and written.line.samples == answer.samples:
        shared = (step for step in _shared(written.line) if step != "tool_calls")
        _charge(bill, answer, tuple(shared), written.verified)
    elif name == SIMULRAG:
        _charge(bill, answer, ("closed_book", "decompose"), 0.0, part)
        _charge(bill, answer, ("boundary",), 0.0, answer.from_first)
        _charge(bill, answer, (), written.verified)


def _shared(line: FinalLine) -> tuple[str, ...]:
    return _OWN if line.name == SIMULRAG else _BY_SUBJECT


def _charge(
    bill: Bill, answer: Answered, steps: Sequence[str], verified: float, part: float = 1.0
) -> None:
    """Add ``part`` of the steps and the share ``verified`` of what verification used."""
    for task, usage in answer.usage.items():
        step = _step_of(task)
        if step == "verify":
            bill.add(task, usage, verified, step=step)
        elif step in steps:
            bill.add(task, usage, part, step=step)


def _step_of(task: str) -> str:
    """The step of a task: ``verify_batch``, say, belongs to ``verify``."""
    if task == "read_claims":
        return "verify"
    return next((step for step in ("verify", "boundary") if task.startswith(step)), task)


def _steps(method: str) -> tuple[str, ...]:
    if method in (UE_SBA, EXPECTED):
        return (*_RANKED_BY_AGREEMENT, "boundary")
    if method == VERBALIZED:
        return _RANKED_BY_STATEMENT
    if method == VERBALIZED_BY_CENTRALITY:
        return (*_RANKED_BY_AGREEMENT, "verbalized")
    return _RANKED_BY_AGREEMENT


def _selected_a_question(data: DomainData, setting: Setting) -> Floats:
    """How many claims of each question are selected, the mean over seeds."""
    picked = np.concatenate([np.array(one.chosen, dtype=np.int64) for one in setting.chosen])
    counts = np.bincount(data.pool.question[picked], minlength=len(data.answers))
    found: Floats = counts / len(setting.chosen)
    return found
