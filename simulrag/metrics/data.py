"""What the metrics know of one domain: numbers and names, gathered while its records stream by.

No answer is held once it was read: texts become labels, claims become arrays (``pool``), and of a
question remains what is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simulrag.errors import InputError
from simulrag.judging.people.labels import Key, Settled
from simulrag.metrics.exports import Exported, TextTasks
from simulrag.metrics.intervals import Floats, Ints, scenario_weights
from simulrag.metrics.money import Pricing, no_prices
from simulrag.metrics.names import FINAL, SIMULRAG
from simulrag.metrics.pool import ClaimPool, LabelLookup, PoolBuilder
from simulrag.metrics.settings import MetricSettings
from simulrag.records import (
    Answer,
    FinalClaims,
    FinalMethod,
    Question,
    ToolCall,
    Usage,
    claim_hash,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the benchmark. Counts are None where the benchmark does not know them.

    ``words`` of the reference answer, split at white space; ``quantitative`` and ``qualitative``
    claims of the reference.
    """

    question_id: str
    scenario_id: str
    words: int
    quantitative: int | None
    qualitative: int | None
    calls: tuple[ToolCall, ...]
    published: bool


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the retrieval interface did for a question; ``calls``: those that ran."""

    status: str
    attempts: int
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A baseline's final answer: its line, its own usage, the share of verdicts it made use of."""

    line: FinalLine
    usage: Mapping[str, Usage]
    verified: float


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with an answer, complete or failed.

    ``line``: SimulRAG's own; ``verified``: the share of the question's verdicts that its selection
    made use of, ``verdicts`` how many there are; ``from_first``: the share of the claims that the
    first sample made.
    """

    question_id: str
    scenario: int
    completed: bool
    samples: int
    line: FinalLine
    retrieved: Retrieved | None
    usage: Mapping[str, Usage]
    simulator_runs: int
    verdicts: int
    verified: float
    from_first: float
    baselines: tuple[Written, ...]


@dataclass(frozen=True, order=True)
class FinalLine:
    """A kind of final answer: a method, m, and the share of claims it may verify."""

    method: FinalMethod
    samples: int
    budget_percent: float | None = None

    @property
    def name(self) -> str:
        """The method's name."""
        return FINAL[self.method]

    @property
    def order(self) -> tuple[int, int, float]:
        """SimulRAG first, of one method the largest m and budget first."""
        return list(FINAL).index(self.method), -self.samples, -(self.budget_percent or 0.0)


@dataclass(frozen=True)
class FinalCounts:
    """Unique claims of a line's final answers by label, and whether all is known, a question each.

    One entry an answer of the domain, in order; float arrays, so that resamples weigh them.
    """

    true: Floats
    false: Floats
    undecided: Floats
    complete: Floats


@dataclass(frozen=True, eq=False)
class DomainData:
    """One domain, ready to be measured.

    ``judge``: the judge's labels; ``settled``: what people say. ``scenarios``: how many distinct
    ones the answers have; a question's index among them is ``Answered.scenario``. ``exported``:
    what the exports of calls say, by stage.
    """

    domain: str
    settings: MetricSettings
    questions: tuple[Asked, ...]
    answers: tuple[Answered, ...]
    scenarios: int
    pool: ClaimPool
    finals: Mapping[FinalLine, FinalCounts]
    judge: LabelLookup
    settled: Mapping[Key, Settled]
    labels_missing: int
    labels_unknown: int
    exported: Mapping[str, Exported] = field(default_factory=dict)
    pricing: Pricing = no_prices

    @cached_property
    def weights(self) -> Floats:
        """How often each scenario is drawn: (1 + resamples) x scenarios."""
        return self.resampled(self.settings.bootstrap, self.domain)

    def resampled(self, resamples: int, stream: str) -> Floats:
        """``intervals.scenario_weights`` of this domain's scenarios."""
        return scenario_weights(self.scenarios, resamples, self.settings.seed, stream)

    @cached_property
    def scenario(self) -> Ints:
        """The scenario's index of each answer."""
        return np.array([answer.scenario for answer in self.answers], dtype=np.int64)

    @cached_property
    def coverage(self) -> float | None:
        """The mean over all questions of the share of its claims that count."""
        return self.pool.coverage([answer.completed for answer in self.answers])

    @cached_property
    def lines(self) -> tuple[FinalLine, ...]:
        """The final answers to measure, in the order of ``FinalLine.order``."""
        found = set(self.finals)
        if not any(answer.completed for answer in self.answers):
            # Every method failed on all questions, which is something to show.
            found |= {self.own_line, FinalLine("closed_book", 1)}
        return tuple(sorted(found, key=lambda line: line.order))

    @cached_property
    def own_line(self) -> FinalLine:
        """SimulRAG at its largest m and budget."""
        ours = [line for line in self.finals if line.name == SIMULRAG]
        ours = ours or [answer.line for answer in self.answers] or [FinalLine("simulrag", 1)]
        return min(ours, key=lambda line: line.order)

    def counts(self, line: FinalLine) -> FinalCounts:
        """A line's counts; of a line that nobody wrote, nothing is complete."""
        empty = np.zeros(len(self.answers))
        return self.finals.get(line, FinalCounts(empty, empty, empty, empty))


def asked_of(question: Question) -> Asked:
    """What is counted of a question."""
    kinds = [claim.kind for claim in question.reference_claims]
    return Asked(
        question_id=question.question_id,
        scenario_id=question.scenario_id,
        words=len(question.reference_answer.split()),
        quantitative=kinds.count("quantitative") if kinds else None,
        qualitative=kinds.count("qualitative") if kinds else None,
        calls=question.calls,
        published=question.source == "published",
    )


def collect(
    domain: str,
    settings: MetricSettings,
    *,
    questions: Iterable[Question],
    answers: Iterable[Answer],
    finals: Iterable[FinalClaims],
    judge: LabelLookup,
    settled: Mapping[Key, Settled] | None = None,
    exported: Callable[[TextTasks], Mapping[str, Exported]] | None = None,
    pricing: Pricing = no_prices,
) -> DomainData:
    """A domain's data from its records, each read once and let go.

    ``settled``: labels by people, which override the judge's; those of other questions count
    nowhere. ``exported`` reads the exports of calls, by stage, once the answers' texts were seen.
    Raises InputError for records that contradict each other or do not belong together.
    """
    asked = tuple(asked_of(question) for question in questions)
    ids = {one.question_id for one in asked}
    people = {key: one for key, one in (settled or {}).items() if key[0] in ids}
    labels = {**judge, **{key: one.label for key, one in people.items()}}
    texts = TextTasks()
    gathering = _Gathering(asked, labels, PoolBuilder(settings.centralities))
    for answer in answers:
        gathering.add(answer)
        texts.see(answer)
    for question, _ in judge:
        if question not in gathering.place:
            raise InputError(_stranger("labels", question))
    for final in finals:
        gathering.add_final(final)
    wanted, known = gathering.wanted, gathering.wanted | gathering.failed_texts
    return DomainData(
        domain=domain,
        settings=settings,
        questions=asked,
        answers=tuple(gathering.answers),
        scenarios=len(gathering.scenarios),
        pool=gathering.pool.build(),
        finals=gathering.final_counts(),
        judge=judge,
        settled=people,
        labels_missing=sum(labels.get(key) is None for key in wanted),
        labels_unknown=sum(key[0] in gathering.place and key not in known for key in labels),
        exported=exported(texts) if exported is not None else {},
        pricing=pricing,
    )


class _Gathering:
    """What has been seen of a domain so far."""

    def __init__(self, asked: tuple[Asked, ...], labels: LabelLookup, pool: PoolBuilder) -> None:
        self.scenario_of = {one.question_id: one.scenario_id for one in asked}
        self.labels = labels
        self.pool = pool
        self.answers: list[Answered] = []
        self.place: dict[str, int] = {}
        self.scenarios: dict[str, int] = {}
        self.wanted: set[Key] = set()
        self.failed_texts: set[Key] = set()
        self._finals: dict[FinalLine, dict[int, tuple[int, int, int, bool]]] = {}

    def add(self, answer: Answer) -> None:
        name = answer.question_id
        if name in self.place:
            raise InputError(f"answers: question '{name}' is there twice: remove one row")
        if name not in self.scenario_of:
            raise InputError(
                f"question '{name}' has an answer and is not in the benchmark: "
                "answer and benchmark files must belong together"
            )
        place = self.place[name] = len(self.place)
        scenario = self.scenarios.setdefault(self.scenario_of[name], len(self.scenarios))
        texts = self.wanted if answer.failure is None else self.failed_texts
        for claim in answer.claims:
            texts |= {(name, claim_hash(claim.text)), (name, claim_hash(claim.updated_text))}
        if answer.failure is None:
            self.pool.add(answer, self.labels, place, scenario)
        self.answers.append(_answered(answer, scenario))

    def add_final(self, final: FinalClaims) -> None:
        """Count one final answer's distinct claims."""
        name = final.question_id
        if name not in self.place:
            raise InputError(_stranger("final claims", name))
        place = self.place[name]
        line = FinalLine(final.method, final.samples, final.budget_percent)
        of_line = self._finals.setdefault(line, {})
        if place in of_line:
            raise InputError(
                f"final claims: question '{name}' is there twice for {final.method} at "
                f"m = {final.samples}: remove one row"
            )
        hashes = dict.fromkeys(claim_hash(text) for text in final.claims)
        self.wanted |= {(name, one) for one in hashes}
        found = [self.labels.get((name, one)) for one in hashes]
        done = self.answers[place].completed and final.failure is None and None not in found
        counts = (found.count("true"), found.count("false"), found.count("undecided"))
        of_line[place] = (*counts, done)

    def final_counts(self) -> dict[FinalLine, FinalCounts]:
        """Arrays over all answers, in order."""
        missing = (0, 0, 0, False)
        return {
            line: FinalCounts(
                *np.array(
                    [of_line.get(place, missing) for place in range(len(self.answers))],
                    dtype=float,
                ).T
            )
            for line, of_line in self._finals.items()
        }


def _answered(answer: Answer, scenario: int) -> Answered:
    retrieval = answer.retrieval
    claims = answer.claims
    verdicts = sum(claim.verdict is not None for claim in claims)
    first = sum(any(sample == 0 for sample, _ in claim.sources) for claim in claims)

    def share(selected: tuple[int, ...]) -> float:
        used = sum(claims[index].verdict is not None for index in selected)
        return used / verdicts if verdicts else 0.0

    samples = max(1, len(answer.closed_book))
    return Answered(
        question_id=answer.question_id,
        scenario=scenario,
        completed=answer.failure is None,
        samples=samples,
        line=FinalLine("simulrag", samples, answer.budget_percent),
        retrieved=None
        if retrieval is None
        else Retrieved(
            retrieval.status, retrieval.attempts, tuple(one.call for one in retrieval.evidence)
        ),
        usage=answer.usage,
        simulator_runs=answer.simulator_runs,
        verdicts=verdicts,
        verified=share(answer.selected),
        from_first=first / len(claims) if claims else 0.0,
        baselines=tuple(
            Written(
                FinalLine(text.method, text.samples, text.budget_percent),
                text.usage,
                share(text.selected),
            )
            for text in answer.baselines
        ),
    )


def _stranger(kind: str, question: str) -> str:
    return (
        f"{kind}: question '{question}' has no answer: answer and label files must belong together"
    )
