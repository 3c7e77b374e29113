"""What answering cost, what each method would cost by itself, and what each stage spent.

Experiments verify every claim once and take every method x budget from that. A method by itself
would pay for its own steps and its own selection only: counted here by step, a question, from the
usage that the answers record, paid for now or replayed. Failed questions cost too. Clock time is in
no record, because records are the same on every machine; prices are no part of them either.

What a stage spent is counted by model, in calls, tokens and money from the price table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, log2
from operator import sub
from statistics import fmean

import numpy as np

from simulrag.method.paper import SAMPLED
from simulrag.method.recipes import FinalKind, final_kinds, recipe_of
from simulrag.method.settings import ClaimsPerCall
from simulrag.metrics.domain import DomainData
from simulrag.metrics.exports import UNCOUNTED, Estimated, ModelCalls
from simulrag.metrics.families import metric
from simulrag.metrics.frames import AnswerCounts, TokenUsage
from simulrag.metrics.intervals import Ints
from simulrag.metrics.methods import NO_RAG, RANKED_BY
from simulrag.metrics.selections import BudgetedMethod, plans_of
from simulrag.metrics.table import ESTIMATED, Measurement
from simulrag.records import Answer, AnswerVariant, Usage

PAPER = recipe_of("paper").final
KINDS = final_kinds()
SIMULATOR = "simulator"
RUNS = "simulator_runs"
ALL = "all"
MAIN_TOKENS = ("input_tokens", "output_tokens")
TOKENS = tuple(name for name in Usage.model_fields if name != "calls")


@dataclass
class _Line:
    amounts: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(Usage.model_fields, 0.0)
    )
    estimated: dict[str, float] = field(default_factory=dict)
    uncounted: bool = False
    no_estimate: bool = False

    def take(self, other: _Line) -> None:
        for mine, theirs in ((self.amounts, other.amounts), (self.estimated, other.estimated)):
            for name, amount in theirs.items():
                mine[name] = mine.get(name, 0.0) + amount
        self.uncounted |= other.uncounted
        self.no_estimate |= other.no_estimate


@dataclass
class UsageTotals:
    """Amounts by step, summed over questions; fractions where a shared call is split.

    ``estimates``: calls and tokens by task, from which tokens are estimated that nobody counted.
    """

    estimates: Mapping[str, Estimated] = field(default_factory=dict)
    steps: dict[str, _Line] = field(default_factory=dict)
    runs: int = 0

    def add(self, task: str, usage: TokenUsage, share: float = 1.0, *, step: str = "") -> None:
        """Add a share of a task's usage to a step, by default the task."""
        if share <= 0:
            return
        line = self.steps.setdefault(step or task, _Line())
        for name in Usage.model_fields:
            line.amounts[name] += share * getattr(usage, name)
        line.uncounted |= not usage.counted
        known = self.estimates.get(task)
        if usage.calls and known is not None:
            calls = share * usage.calls / known.calls
            for name in MAIN_TOKENS:
                amount = calls * getattr(known, name)
                line.estimated[name] = line.estimated.get(name, 0.0) + amount
        elif usage.calls:
            line.no_estimate = True

    def rows(self, place: Measurement, questions: int) -> Iterator[Measurement]:
        """Yield rows by step and one for all, as means a question; nothing without questions.

        Tokens that nobody counted have no value; their estimates stand beside them.
        """
        if not questions:
            return
        total = _Line()
        for line in self.steps.values():
            total.take(line)
        for step, line in [*sorted(self.steps.items()), (ALL, total)]:
            here = replace(place, step=step, n=questions)
            yield from _rows(here, line, questions)
        for step in (SIMULATOR, ALL) if self.runs else (ALL,):
            yield replace(place, step=step, metric=RUNS, n=questions, value=self.runs / questions)


def _rows(place: Measurement, line: _Line, questions: int) -> Iterator[Measurement]:
    for name, amount in line.amounts.items():
        if name not in TOKENS or not line.uncounted:
            yield replace(place, metric=name, value=amount / questions)
        elif name in MAIN_TOKENS:
            yield replace(place, metric=name, reason=UNCOUNTED)
    if line.uncounted and not line.no_estimate:
        for name, amount in line.estimated.items():
            yield replace(place, metric=name + ESTIMATED, value=amount / questions)


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
    """Yield a row a step for every method x budget of the claim level, and every final answer.

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
    ranked_by = RANKED_BY.get(setting.method, ("entailment",))
    for place, (answer, counted) in enumerate(zip(data.answers, data.counted, strict=True)):
        steps: tuple[str, ...] = (*SAMPLED, *ranked_by, "plan", "verify")
        sent = [float(counts[place]) for counts in selected]
        if setting.method == NO_RAG:
            sent = [0.0]
            steps = tuple(step for step in steps if step != "plan")
        else:
            bill.runs += _runs(answer, PAPER)
        _charge(bill, data, counted, dict.fromkeys(steps, 1.0), sent)
        for task, usage in _written_from_claims(counted, _samples(answer)).items():
            bill.add(task, usage)
    return bill


def _written_from_claims(counted: AnswerCounts, samples: int) -> Mapping[str, TokenUsage]:
    """Return what writing the published method's answer took; the answer may be another's."""
    for place, (line, text) in enumerate(counted.texts.items()):
        if line.method == PAPER.method and line.samples == samples:
            usage = text.usage if place else counted.usage
            return {"final": usage["final"]} if "final" in usage else {}
    return {}


def _of_answers(data: DomainData) -> dict[AnswerVariant, UsageTotals]:
    """Charge the answer's own final text, one sample by itself, and the baselines'."""
    bills: dict[AnswerVariant, UsageTotals] = {}
    for answer, counted in zip(data.answers, data.counted, strict=True):
        for place, (line, text) in enumerate(counted.texts.items()):
            usage = text.usage
            if not place and not usage and line.method == PAPER.method:
                usage = {task: used for task, used in counted.usage.items() if task == "final"}
            bill = bills.setdefault(line, UsageTotals(_estimates(data)))
            for task, used in usage.items():
                bill.add(task, used, step=_step_of(task))
            _charge_line(bill, data, answer, line, counted)
    return bills


def _samples(answer: Answer) -> int:
    """Count the sampled answers behind a final one (m)."""
    return max(1, len(answer.closed_book))


def _charge_line(
    bill: UsageTotals,
    data: DomainData,
    answer: Answer,
    line: AnswerVariant,
    counted: AnswerCounts,
) -> None:
    """Charge, of calls that final answers share, those of the samples that this one is from."""
    kind, part = KINDS[line.method], line.samples / _samples(answer)
    shares = {
        step: part if step in kind.by_sample else 1.0
        for step in kind.shares
        if part == 1 or step not in kind.of_several
    }
    bill.runs += _runs(answer, kind)
    sent = [float(counted.texts[line].claims_sent)]
    _charge(bill, data, counted, shares, sent, first_alone=part < 1)


def _runs(answer: Answer, kind: FinalKind) -> int:
    """Count the simulator runs that a text of this kind rests on.

    Beside a grounded answer, and for RAG, those of the first look (by several looks, of the planned
    ones); further ones, that claims were found open for, are the answer's own.
    """
    if kind.looks == "none":
        return 0
    if answer.retrieval is None or not answer.retrieval.looks or kind.looks == "all":
        return answer.simulator_runs
    return answer.retrieval.looks[0 if kind.looks == "first" else -1]


def _charge(
    bill: UsageTotals,
    data: DomainData,
    counted: AnswerCounts,
    shares: Mapping[str, float],
    sent: Sequence[float],
    *,
    first_alone: bool = False,
) -> None:
    """Add the share of each step that was used.

    Args:
        bill: What is added to.
        data: The domain, for how many claims one call holds.
        counted: The question's usage.
        shares: Of a step's calls, 0 to 1; of verification the calls that ``sent`` would fill.
        sent: How many claims were sent to be verified, an entry a seed.
        first_alone: The boundary is asked for the first sample's claims alone.
    """
    for task, usage in _shared(counted).items():
        step = _step_of(task)
        if step not in shares or not usage.calls:
            continue
        share = shares[step]
        if step == "verify":
            size = _size_of(task, data.claims_per_call)
            share = fmean(ceil(claims / size) for claims in sent) / usage.calls
        elif step == "boundary" and first_alone:
            size = _size_of(task, data.claims_per_call)
            share = ceil(counted.first_claims / size) / usage.calls
        bill.add(task, usage, min(1.0, share), step=step)


def _shared(counted: AnswerCounts) -> Mapping[str, TokenUsage]:
    """Return the question's usage without what its own answer alone took of it."""
    alone = next(iter(counted.texts.values())).usage
    return {
        task: TokenUsage(*map(sub, used, alone[task])) if task in alone else used
        for task, used in counted.usage.items()
    }


def _size_of(task: str, sizes: ClaimsPerCall) -> int:
    """Count the claims in one call of a task."""
    if task == "boundary_batch":
        return sizes.boundary
    return sizes.verify if task == "verify_batch" else 1


def _step_of(task: str) -> str:
    """Return the step of a task: ``verify_batch``, say, belongs to ``verify``.

    By the name, which a test holds to ``Task.step``: looking tasks up imports every step, and the
    metrics would rest on all of them.
    """
    return task.removesuffix("_batch")


def _chain(bill: UsageTotals, line: AnswerVariant) -> int:
    """Count the calls that wait for one another, first attempts that succeed."""
    length = 0
    for steps in KINDS[line.method].in_turn:
        asked = [step for step in steps if step in bill.steps]
        if asked == ["merge"]:
            length += ceil(log2(line.samples))
        elif asked:
            length += 1
    return length


def _selected(data: DomainData, setting: BudgetedMethod) -> list[Ints]:
    """Count the selected claims of each question, an array a seed."""
    size = len(data.answers)
    return [np.bincount(data.pool.question[chosen], minlength=size) for chosen in setting.chosen]


@metric("spending")
def spending(data: DomainData) -> Iterator[Measurement]:
    """Add up a stage and model, in the order of their names, over all of the domain's questions.

    All calls that the stage's results rest on count, whoever paid for them and when, at the prices
    of today's table; replies that were billed and could not be used are in the ledger only.
    ``usd`` is undefined for a model without a price.
    """
    for stage, exported in data.exported.items():
        for calls in exported.models:
            place = Measurement(
                family="spending",
                domain=data.domain,
                n=calls.usage.calls,
                more={"stage": stage, "model": calls.shown},
            )
            yield from _of_model(data, place, calls)


def _of_model(data: DomainData, place: Measurement, calls: ModelCalls) -> Iterator[Measurement]:
    counted = calls.usage.counted
    yield replace(place, metric="calls", value=float(calls.usage.calls))
    for name in TOKENS:
        if counted:
            yield replace(place, metric=name, value=float(getattr(calls.usage, name)))
        elif name in MAIN_TOKENS:
            yield replace(place, metric=name, reason=UNCOUNTED)
    guess = _guessed(calls)
    money = data.pricing(calls.name, calls.usage if counted else guess)
    priced = replace(place, more={**place.more, "as_of": money.as_of if money else ""})
    if money is None:
        reason = f"the price table has no price of {calls.shown}"
        yield replace(place, metric="usd", reason=reason)
    elif counted or money.usd == 0:
        yield replace(priced, metric="usd", value=money.usd)
    else:
        yield replace(priced, metric="usd", reason=UNCOUNTED)
        yield replace(priced, metric="usd" + ESTIMATED, value=money.usd)
    if not counted:
        for name in MAIN_TOKENS:
            yield replace(place, metric=name + ESTIMATED, value=float(getattr(guess, name)))


def _guessed(calls: ModelCalls) -> Usage:
    """Estimate usage by the characters of the stored messages."""
    estimated = calls.estimated
    return Usage(
        calls=estimated.calls,
        input_tokens=round(estimated.input_tokens),
        output_tokens=round(estimated.output_tokens),
    )
