"""What each method would cost alone: the calls and simulator runs that it needs and no others.

Experiments verify every claim once and take every method x budget from that. A method by itself
would pay for its own steps and its own selection only, which is what is counted here: by step, a
question, from the usage that the answers record. Failed questions cost too. Clock time is in no
record, because records are the same on every machine; prices are no part of them either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from simulrag.method.selection import Selection
from simulrag.metrics.answer_level import METHOD_NAMES
from simulrag.metrics.claim_level import OURS, VERBALIZED_BY_CENTRALITY, Setting
from simulrag.metrics.pool import ClaimPool
from simulrag.records import Answer, FinalText, Usage

Row = dict[str, object]

AMOUNTS = ("calls", "input_tokens", "output_tokens", "cached_input_tokens")
_SIMULATOR = "simulator"
_SAMPLED = ("closed_book", "decompose", "merge")
_RANKED_BY_AGREEMENT = (*_SAMPLED, "entailment", "final")
_RANKED_BY_STATEMENT = (*_SAMPLED, "verbalized", "final")


@dataclass
class Bill:
    """Amounts by step, summed over questions; fractions where a shared call is split."""

    steps: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(self, step: str, usage: Usage, share: float = 1.0) -> None:
        """Add a share of a step's usage."""
        if share > 0:
            line = self.steps.setdefault(step, dict.fromkeys((*AMOUNTS, "simulator_runs"), 0.0))
            for name in AMOUNTS:
                line[name] += share * getattr(usage, name)

    def run(self, runs: int) -> None:
        """Add simulator runs."""
        if runs:
            line = self.steps.setdefault(
                _SIMULATOR, dict.fromkeys((*AMOUNTS, "simulator_runs"), 0.0)
            )
            line["simulator_runs"] += runs

    def rows(self, place: Row, questions: int) -> Iterator[Row]:
        """A row a step and one for all, as means a question; nothing without questions."""
        if not questions:
            return
        names = (*AMOUNTS, "simulator_runs")
        total = {name: sum(line[name] for line in self.steps.values()) for name in names}
        for step, line in [*sorted(self.steps.items()), ("all", total)]:
            means = {f"{name}_per_question": line[name] / questions for name in names}
            yield {**place, "step": step, **means, "n": questions}


def claim_level_cost(pool: ClaimPool, plan: Iterable[Setting]) -> Iterator[Row]:
    """A row a step for every method x budget of the claim level; a Random line is its seeds' mean.

    Methods that cannot be measured have no cost either. no-RAG runs no simulator; every other
    method runs it for each question, as Algorithm 1 does. All write one final answer a question.
    """
    ids = [answer.question_id for answer in pool.answers]
    verified = dict.fromkeys(ids, 0)
    owner: list[str] = []
    for index, claim in zip(pool.question, pool.claims, strict=True):
        owner.append(ids[index])
        verified[ids[index]] += claim.verdict is not None
    for setting in plan:
        if setting.reason:
            continue
        taken = _selected_a_question(setting.chosen, owner)
        bill = Bill()
        for answer in pool.answers:
            of_all = verified[answer.question_id]
            share = taken.get(answer.question_id, 0.0) / of_all if of_all else 0.0
            _charge(bill, answer, _steps(setting.method), share)
            if setting.method != "no-RAG":
                _charge(bill, answer, ("tool_calls",), 0.0)
                bill.run(answer.simulator_runs)
        place: Row = {
            "domain": pool.domain,
            "level": "claim",
            "method": setting.method,
            "samples": None,
            "budget_percent": setting.budget_percent,
        }
        yield from bill.rows(place, len(pool.answers))


def answer_level_cost(domain: str, answers: Sequence[Answer]) -> Iterator[Row]:
    """A row a step for every final answer: SimulRAG's at ``answer.budget``, and the baselines'."""
    bills: dict[tuple[str, int], Bill] = {}
    for answer in answers:
        samples = max(1, len(answer.closed_book))
        ours = bills.setdefault((METHOD_NAMES["simulrag"], samples), Bill())
        share = _verified_share(answer, answer.selected)
        _charge(ours, answer, (*_RANKED_BY_AGREEMENT, "boundary", "tool_calls"), share)
        ours.run(answer.simulator_runs)
        one = bills.setdefault((METHOD_NAMES["closed_book"], 1), Bill())
        _charge(one, answer, ("closed_book",), 0.0, 1 / samples)
        for text in answer.baselines:
            bill = bills.setdefault((METHOD_NAMES[text.method], text.samples), Bill())
            _charge_baseline(bill, answer, text, text.samples / samples)
    for (method, samples), bill in bills.items():
        place: Row = {
            "domain": domain,
            "level": "answer",
            "method": method,
            "samples": samples,
            "budget_percent": None,
        }
        yield from bill.rows(place, len(answers))


def _charge_baseline(bill: Bill, answer: Answer, text: FinalText, part: float) -> None:
    """Its own calls, and the part of the shared ones that m of the samples stand for."""
    for step, usage in text.usage.items():
        bill.add(step, usage)
    if text.method != "closed_book":
        _charge(bill, answer, ("tool_calls",), 0.0)
        bill.run(answer.simulator_runs)
    if text.method == "closed_book":
        _charge(bill, answer, _SAMPLED, 0.0)
    elif text.method == "output_rag":
        _charge(bill, answer, ("closed_book",), 0.0, part)
    elif text.method == "simulrag":
        _charge(bill, answer, ("closed_book", "decompose"), 0.0, part)
        first = sum(any(sample == 0 for sample, _ in claim.sources) for claim in answer.claims)
        inside = first / len(answer.claims) if answer.claims else 0.0
        _charge(bill, answer, ("boundary",), 0.0, inside)
        _charge(bill, answer, (), _verified_share(answer, text.selected))


def _charge(
    bill: Bill, answer: Answer, steps: Sequence[str], verified: float, part: float = 1.0
) -> None:
    """Add ``part`` of the steps and the share ``verified`` of what verification used."""
    for task, usage in answer.usage.items():
        if _step_of(task) == "verify":
            bill.add("verify", usage, verified)
        elif _step_of(task) in steps:
            bill.add(_step_of(task), usage, part)


def _step_of(task: str) -> str:
    """The step of a task: ``verify_batch``, say, belongs to ``verify``."""
    return next((step for step in ("verify", "boundary") if task.startswith(step)), task)


def _steps(method: str) -> tuple[str, ...]:
    if method == OURS:
        return (*_RANKED_BY_AGREEMENT, "boundary")
    if method == "Verbalized":
        return _RANKED_BY_STATEMENT
    if method == VERBALIZED_BY_CENTRALITY:
        return (*_RANKED_BY_AGREEMENT, "verbalized")
    return _RANKED_BY_AGREEMENT


def _selected_a_question(chosen: Sequence[Selection], owner: Sequence[str]) -> Mapping[str, float]:
    counts: dict[str, float] = {}
    for selection in chosen:
        for index in selection.chosen:
            counts[owner[index]] = counts.get(owner[index], 0.0) + 1 / len(chosen)
    return counts


def _verified_share(answer: Answer, selected: Sequence[int]) -> float:
    known = sum(claim.verdict is not None for claim in answer.claims)
    return sum(answer.claims[i].verdict is not None for i in selected) / known if known else 0.0
