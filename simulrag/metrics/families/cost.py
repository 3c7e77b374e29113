"""What answering cost, and what each method would cost by itself.

Experiments verify every claim once and take every method x budget from that. A method by itself
would pay for its own steps and its own selection only: counted here by step, a question, from the
usage that the answers record, paid for now or replayed. Failed questions cost too. Clock time is in
no record, because records are the same on every machine; prices are no part of them either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil, log2
from operator import sub
from statistics import fmean

import numpy as np

from simulrag.method.settings import ClaimsPerCall
from simulrag.metrics.bill import ALL, TokenUsage, UsageTotals
from simulrag.metrics.domain import DomainData
from simulrag.metrics.exports import Estimated
from simulrag.metrics.frames import AnswerCounts
from simulrag.metrics.intervals import Ints
from simulrag.metrics.methods import (
    NO_RAG,
    UE_SBA,
    VERBALIZED,
    VERBALIZED_BY_CENTRALITY,
)
from simulrag.metrics.registry import metric
from simulrag.metrics.selections import BudgetedMethod, plans_of
from simulrag.metrics.table import Measurement
from simulrag.records import Answer, AnswerVariant, FinalMethod

_SAMPLED = ("closed_book", "decompose", "merge")
_RANKED_BY_AGREEMENT = (*_SAMPLED, "entailment", "plan", "verify")
_RANKED_BY_STATEMENT = (*_SAMPLED, "verbalized", "plan", "verify")
_SHARED: dict[FinalMethod, tuple[str, ...]] = {
    "closed_book": _SAMPLED,
    "input_rag": ("plan",),
    "output_rag": ("plan", "closed_book"),
    "rag_looks": ("plan", "more_calls"),
    "grounded": ("plan", "more_calls"),
    "simulrag": (*_SAMPLED, "entailment", "boundary", "plan", "verify"),
}
"""The steps of a question's own usage that a method by itself would need as well."""
_IN_TURN = (
    ("plan", "closed_book"),
    ("more_calls",),
    ("input_rag", "output_rag"),
    ("audit",),
    ("decompose",),
    ("merge",),
    ("entailment", "boundary", "verbalized"),
    ("second_look",),
    ("verify",),
    ("final",),
    ("mend",),
)
"""What waits for what: steps of one entry are asked at the same time."""


def _estimates(data: DomainData) -> Mapping[str, Estimated]:
    return data.exported["answer"].tasks if "answer" in data.exported else {}


@metric("cost")
def cost(data: DomainData) -> Iterator[Measurement]:
    """Calls and tokens by task, and simulator runs: the mean of all questions.

    Calls count whether they were paid for now or came from the cache.
    """
    bill = UsageTotals(_estimates(data))
    for answer, counted in zip(data.answers, data.counted, strict=True):
        for task, usage in counted.usage.items():
            bill.add(task, usage)
        bill.runs += answer.simulator_runs
    yield from bill.rows(Measurement(family="cost", domain=data.domain), len(data.answers))


@metric("method_cost")
def method_cost(data: DomainData) -> Iterator[Measurement]:
    """A row a step for every method x budget of the claim level, and for every final answer.

    A verification or boundary call is counted for as many claims as one holds. ``chain``: the
    longest sequence of calls that wait for one another, of a final answer. Methods that cannot be
    measured have no cost either. no-RAG runs no simulator; every other
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
        place = replace(Measurement.of(line, "method_cost", data.domain), level="answer")
        yield from bill.rows(place, len(data.answers))
        if data.answers:
            length = float(_chain(bill, line))
            yield replace(place, step=ALL, metric="chain", n=len(data.answers), value=length)


def _of_selection(data: DomainData, setting: BudgetedMethod) -> UsageTotals:
    bill = UsageTotals(_estimates(data))
    selected = _selected(data, setting)
    for place, (answer, counted) in enumerate(zip(data.answers, data.counted, strict=True)):
        steps = _steps(setting.method)
        sent = [float(counts[place]) for counts in selected]
        if setting.method == NO_RAG:
            sent = [0.0]
            steps = tuple(step for step in steps if step != "plan")
        else:
            bill.runs += _runs(answer, "simulrag", counted)
        _charge(bill, data, counted, steps, sent)
        for task, usage in _written_from_claims(counted, _samples(answer)).items():
            bill.add(task, usage)
    return bill


def _written_from_claims(counted: AnswerCounts, samples: int) -> Mapping[str, TokenUsage]:
    """What writing the published method's answer took; the answer itself may be another's."""
    for place, (line, text) in enumerate(counted.texts.items()):
        if line.method == "simulrag" and line.samples == samples:
            usage = text.usage if place else counted.usage
            return {"final": usage["final"]} if "final" in usage else {}
    return {}


def _of_answers(data: DomainData) -> dict[AnswerVariant, UsageTotals]:
    """The answer's own final text, one sample by itself, and the baselines'."""
    bills: dict[AnswerVariant, UsageTotals] = {}
    for answer, counted in zip(data.answers, data.counted, strict=True):
        for place, (line, text) in enumerate(counted.texts.items()):
            usage = text.usage
            if not place and line.method != "grounded":
                usage = {task: one for task, one in counted.usage.items() if task == "final"}
            bill = bills.setdefault(line, UsageTotals(_estimates(data)))
            for task, used in usage.items():
                bill.add(task, used, step=_step_of(task))
            _charge_line(bill, data, answer, line, counted)
    return bills


def _samples(answer: Answer) -> int:
    """The sampled answers behind a final one (m)."""
    return max(1, len(answer.closed_book))


def _charge_line(
    bill: UsageTotals, data: DomainData, answer: Answer, line: AnswerVariant, counted: AnswerCounts
) -> None:
    """Of the calls that final answers share those of the samples that this one is written from."""
    steps, samples = _SHARED[line.method], _samples(answer)
    if line.samples < samples:
        one = ("closed_book",) if line.method == "closed_book" else _OF_ONE_SAMPLE
        steps = tuple(step for step in steps if step in one)
    if "plan" in steps:
        bill.runs += _runs(answer, line.method, counted)
    sent = [float(counted.texts[line].claims_sent)]
    _charge(bill, data, counted, steps, sent, line.samples / samples)


def _runs(answer: Answer, method: FinalMethod, counted: AnswerCounts) -> int:
    """The simulator runs that a method's text rests on.

    Beside a grounded answer, and for RAG, those of the first look; further ones that claims were
    found open for are the answer's own.
    """
    if answer.retrieval is None or not answer.retrieval.looks or method == "grounded":
        return answer.simulator_runs
    looks = answer.retrieval.looks
    if method == "rag_looks":
        return looks[-1]
    beside = next(iter(counted.texts)).method == "grounded" or method in ("input_rag", "output_rag")
    return looks[0] if beside else answer.simulator_runs


_OF_ONE_SAMPLE = (
    *("closed_book", "decompose", "boundary"),
    *("plan", "more_calls", "verify"),
)
"""What a method takes of a single sample: there is nothing to merge or to compare."""


def _charge(
    bill: UsageTotals,
    data: DomainData,
    counted: AnswerCounts,
    steps: Sequence[str],
    sent: Sequence[float],
    part: float = 1.0,
) -> None:
    """Add what the steps used: of sampling that ``part``, of verification as many calls as the
    claims that were sent would fill (``sent``: by seed), of the rest all.

    A part asks for the boundary of the first sample's claims alone.
    """
    shared = _shared(counted)
    for task, usage in shared.items():
        step = _step_of(task)
        if step not in steps or not usage.calls:
            continue
        share = 1.0
        if step == "verify":
            size = _size_of(task, data.claims_per_call)
            share = fmean(ceil(claims / size) for claims in sent) / usage.calls
        elif step == "boundary" and part < 1:
            size = _size_of(task, data.claims_per_call)
            share = ceil(counted.first_claims / size) / usage.calls
        elif step in ("closed_book", "decompose"):
            share = part
        bill.add(task, usage, min(1.0, share), step=step)


def _shared(counted: AnswerCounts) -> Mapping[str, TokenUsage]:
    """The question's usage without what a grounded answer alone took of it."""
    line, text = next(iter(counted.texts.items()))
    if line.method != "grounded":
        return counted.usage
    alone = text.usage
    return {
        task: TokenUsage(*map(sub, used, alone[task])) if task in alone else used
        for task, used in counted.usage.items()
    }


def _size_of(task: str, sizes: ClaimsPerCall) -> int:
    """Claims in one call of a task."""
    if task == "boundary_batch":
        return sizes.boundary
    return sizes.verify if task == "verify_batch" else 1


def _step_of(task: str) -> str:
    """The step of a task: ``verify_batch``, say, belongs to ``verify``.

    By the name, which a test holds to ``Task.step``: looking tasks up imports every step, and the
    metrics would rest on all of them.
    """
    return task.removesuffix("_batch")


def _chain(bill: UsageTotals, line: AnswerVariant) -> int:
    """How many calls wait for one another, first attempts that succeed."""
    length = 0
    for steps in _IN_TURN:
        found = [step for step in steps if step in bill.steps]
        if found == ["merge"]:
            length += ceil(log2(line.samples))
        elif found:
            length += 1
    return length


def _steps(method: str) -> tuple[str, ...]:
    if method == UE_SBA:
        return (*_RANKED_BY_AGREEMENT, "boundary")
    if method == VERBALIZED:
        return _RANKED_BY_STATEMENT
    if method == VERBALIZED_BY_CENTRALITY:
        return (*_RANKED_BY_AGREEMENT, "verbalized")
    return _RANKED_BY_AGREEMENT


def _selected(data: DomainData, setting: BudgetedMethod) -> list[Ints]:
    """How many claims of each question are selected, an array a seed."""
    size = len(data.answers)
    return [np.bincount(data.pool.question[one], minlength=size) for one in setting.chosen]
